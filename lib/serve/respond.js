import { constants } from 'node:fs';
import { open, readdir, realpath } from 'node:fs/promises';
import { STATUS_CODES } from 'node:http';
import { join, relative, sep } from 'node:path';
import send from 'send';
import { encodePath, isAbsent, isHidden, locate } from './path.js';

/** @import { ReadStream } from 'node:fs' */
/** @import { FileHandle } from 'node:fs/promises' */
/** @import { IncomingMessage as Request, ServerResponse } from 'node:http' */
/** @import { ServerResponse as Response } from 'node:http' */

/**
 * @param {Request} request
 * @param {Response} response
 * @param {{ root: string, file: string, bytes: number, modifiedAtMs: number }} found  Real paths.
 * @param {(file: string) => string} cacheControl
 * @param {number} [status]  Default: send() chooses, for example 200, 206 or 304.
 * @returns {Promise<void>}
 */
export async function sendFile(request, response, { root, file, bytes: size, modifiedAtMs }, cacheControl, status) {
  const opened = await openInPlace(file);
  if (opened === null) return sendPage(response, 404);
  response.once('close', () => void opened.close());
  if (response.destroyed) return void opened.close();
  if (status !== undefined) response.statusCode = status;
  request.headers.range = isSame(request.headers['if-range'], modifiedAtMs)
    ? satisfiable(request.headers.range, size)
    : undefined;
  // Removes If-Range, which isSame() has checked, because send() would also accept a weak entity
  // tag or a later date.
  delete request.headers['if-range'];
  // Sets Vary here, because compression() does not set Vary for status 304 and 206. Without Vary, a
  // cache could confuse the compressed form and the plain form.
  varyBy(response, 'Accept-Encoding');
  const isWhole = status !== undefined;
  response.setHeader('Cache-Control', isWhole ? 'no-cache' : cacheControl(file));
  // Allows hidden names here, because locate() has already refused hidden files and paths outside
  // of the root.
  const stream = send(request, encodePath(relative(root, file).split(sep)), {
    root,
    cacheControl: false,
    acceptRanges: !isWhole,
    index: false,
    dotfiles: 'allow',
    ...(isDate(modifiedAtMs) ? {} : { etag: false, lastModified: false }),
    // send() passes this on to createReadStream().
    ...{ fd: opened },
  });
  stream.on('error', (/** @type {NodeJS.ErrnoException & { status?: number }} */ error) =>
    fail(response, isAbsent(error) ? 404 : (error.status ?? 500)),
  );
  stream.on('directory', () => fail(response, 404));
  const begin = stream.stream.bind(stream);
  // When the client is gone, the file is closed, and createReadStream() would throw.
  stream.stream = (/** @type {string} */ path, /** @type {object} */ options) => {
    if (!response.destroyed) begin(path, options);
  };
  stream.on('stream', (/** @type {ReadStream} */ bytes) => endWhenShort(bytes, response));
  stream.pipe(response);
}

/** Not blocking, because open(2) of a pipe waits for a writer. */
const READING = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW;

/**
 * Opens a file that locate() has found. Another user may have put a link on its path since then.
 * @param {string} file
 * @returns {Promise<FileHandle | null>}  Null: the file is gone, or the path leads elsewhere now.
 */
async function openInPlace(file) {
  try {
    const opened = await open(file, READING);
    if (process.platform !== 'linux' || (await realpath(`/proc/self/fd/${opened.fd}`)) === file) return opened;
    await opened.close();
    return null;
  } catch (error) {
    if (isAbsent(error)) return null;
    throw error;
  }
}

/**
 * On a tmpfs, the time of a file may be outside the range of a Date.
 * @param {number} ms
 */
function isDate(ms) {
  return !Number.isNaN(new Date(ms).getTime());
}

/**
 * Whether If-Range proves that the file is unchanged since the client got a part of the file (RFC
 * 9110, 13.1.5). True without If-Range. The entity tags of send() are weak, so an entity tag never
 * proves this. A date proves this if its second is over, because a later change then gets another
 * date.
 * @param {string | string[] | undefined} ifRange
 * @param {number} modifiedAtMs
 */
function isSame(ifRange, modifiedAtMs) {
  if (ifRange === undefined) return true;
  const second = Math.floor(modifiedAtMs / 1_000) * 1_000;
  return Date.parse(String(ifRange)) === second && !String(ifRange).includes('"') && Date.now() - second > 1_000;
}

/**
 * Returns a range that send() accepts. If a client requests the last N bytes of a shorter file, the
 * range is the whole file (RFC 9110, 14.1.2), because send() refuses such a request.
 * @param {string | undefined} range
 * @param {number} size
 */
function satisfiable(range, size) {
  const [, last = null] = /^\s*bytes=-(\d+)\s*$/i.exec(range ?? '') ?? [];
  return last !== null && Number(last) > size ? 'bytes=0-' : range;
}

/**
 * @param {Response} response
 * @param {number} status
 * @param {string} [html]
 */
export function sendPage(response, status, html) {
  if (response.headersSent) return void response.destroy();
  const text = html ?? `${status} ${STATUS_CODES[status]}\n`;
  response.statusCode = status;
  if (!response.hasHeader('Cache-Control')) response.setHeader('Cache-Control', 'no-cache');
  response.setHeader('Content-Security-Policy', "default-src 'none'; style-src 'unsafe-inline'");
  response.setHeader('Content-Type', `text/${html === undefined ? 'plain' : 'html'}; charset=utf-8`);
  response.setHeader('Content-Length', Buffer.byteLength(text));
  response.end(response.req.method === 'HEAD' ? undefined : text);
}

/**
 * @param {Response} response
 * @param {number} status
 */
function fail(response, status) {
  if (!response.headersSent) {
    for (const name of ['Content-Encoding', 'Last-Modified', 'ETag', 'Accept-Ranges', 'Cache-Control'])
      response.removeHeader(name);
    if (status !== 416) response.removeHeader('Content-Range');
  }
  sendPage(response, status);
}

/**
 * Closes the connection if the file becomes shorter during the answer, because the client would
 * otherwise wait for the rest.
 * @param {ReadStream} bytes
 * @param {Response} response
 */
function endWhenShort(bytes, response) {
  const promised = Number(response.getHeader('Content-Length'));
  bytes.once('end', () => {
    if (bytes.bytesRead < promised) response.destroy();
  });
}

/** @typedef {{ name: string, isFolder: boolean, bytes: number, changedAtMs: number }} FolderEntry */

/**
 * Lists the entries that the server would send: folders first, then files, by name.
 * @param {string} root
 * @param {string[]} segments
 * @returns {Promise<FolderEntry[] | null>}  Null: the folder cannot be read.
 */
export async function listFolder(root, segments) {
  const all = await readdir(join(root, ...segments)).catch((error) => {
    if (isAbsent(error)) return null;
    throw error;
  });
  if (all === null) return null;
  const names = all.filter((name) => !isHidden(name) && !name.includes('\\'));
  /** @type {FolderEntry[]} */
  const entries = [];
  // Looks up one name after the other, because a folder may contain 100,000 files.
  for (const name of names) {
    const found = await locate(root, [...segments, name]);
    if (found.type === 'nothing') continue;
    const { bytes, modifiedAtMs: changedAtMs } = found;
    entries.push({ name, isFolder: found.type === 'folder', bytes, changedAtMs });
  }
  return entries.sort((a, b) => Number(b.isFolder) - Number(a.isFolder) || (a.name < b.name ? -1 : 1));
}

const STYLE =
  'body{font:16px system-ui,sans-serif;margin:2em}td{padding:.1em 1.5em .1em 0}td:nth-child(2){text-align:right}';

/**
 * @param {string[]} segments
 * @param {FolderEntry[]} entries
 */
export function renderListing(segments, entries) {
  const title = escapeHtml(`/${segments.map((segment) => `${segment}/`).join('')}`);
  const up = segments.length > 0 ? '<tr><td><a href="../">../</a></td><td></td><td></td></tr>\n' : '';
  const rows = entries.map(({ name, isFolder, bytes, changedAtMs }) => {
    const shown = isFolder ? `${name}/` : name;
    const link = `${encodePath([...segments, name])}${isFolder ? '/' : ''}`;
    const changed = isDate(changedAtMs) ? new Date(changedAtMs).toISOString().slice(0, 16).replace('T', ' ') : '';
    return (
      `<tr><td><a href="${escapeHtml(link)}">${escapeHtml(shown)}</a></td>` +
      `<td>${isFolder ? '' : bytes}</td><td>${changed}</td></tr>\n`
    );
  });
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${title}</title>
<style>${STYLE}</style></head>
<body><h1>${title}</h1>
<table>
${up}${rows.join('')}</table></body></html>
`;
}

/** @param {string} text */
function escapeHtml(text) {
  return text.replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`);
}

/**
 * Adds to Vary: caches must not use the answer for another value of this request header.
 * @param {ServerResponse} response
 * @param {string} header
 */
export function varyBy(response, header) {
  const said = response.getHeader('Vary');
  response.setHeader('Vary', said === undefined ? header : `${said}, ${header}`);
}
