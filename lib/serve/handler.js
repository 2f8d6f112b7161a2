import { createHash, timingSafeEqual } from 'node:crypto';
import { createServer } from 'node:http';
import { basename, extname } from 'node:path';
import compression from 'compression';
import { answerInTurn } from '../shared/answer-in-turn.js';
import { parseDuration } from '../shared/units.js';
import { encodePath, locate, readRequestPath } from './path.js';
import { listFolder, renderListing, sendFile, sendPage, varyBy } from './respond.js';

/** @import { IncomingMessage as Request, Server, ServerResponse as Response } from 'node:http' */
/** @import { ServeSettings } from './options.js' */

const NOT_FOUND_PAGE = '404.html';

/** The server closes a connection if the client reads nothing of an answer for this long, in ms. */
const STALLED_MS = 60_000;

/**
 * @param {ServeSettings & { path: string }} settings  `path` is absolute.
 * @param {(sentence: string) => void} printMessage
 * @param {number} [stalledMs]
 * @returns {Server}
 */
export function createStaticServer(settings, printMessage, stalledMs = STALLED_MS) {
  const server = createServer(createHandler(settings, printMessage));
  server.timeout = stalledMs;
  return server;
}

/**
 * @param {ServeSettings & { path: string }} settings
 * @param {(sentence: string) => void} printMessage
 * @returns {(request: Request, response: Response) => void}
 */
function createHandler(settings, printMessage) {
  const mayEnter = settings.credentials ? createGatekeeper(settings.credentials) : () => true;
  const cacheControl = createCacheControl({ cache: settings.cache, isPrivate: settings.credentials !== null });
  // The answer to a range request must not be compressed, because a range counts bytes of the file.
  const compress = compression({
    filter: (request, response) =>
      response.statusCode !== 206 && !response.hasHeader('Content-Range') && compression.filter(request, response),
  });

  /** @type {(request: Request, response: Response) => Promise<void> | void} */
  function take(request, response) {
    const { cors } = settings;
    response.setHeader('X-Content-Type-Options', 'nosniff');
    if (cors !== '') response.setHeader('Access-Control-Allow-Origin', cors);
    if (cors !== '' && cors !== '*') varyBy(response, 'Origin');
    if (!mayEnter(request.headers.authorization)) return askForPassword(response);
    if (request.method !== 'GET' && request.method !== 'HEAD') return refuseMethod(response);
    compress(/** @type {any} */ (request), /** @type {any} */ (response), () => {});
    return answer(request, response, settings, cacheControl);
  }

  return answerInTurn(take, (error, request, response) => {
    printMessage(`${request.method} ${request.url}: ${error.message}`);
    sendPage(response, 500);
  });
}

/**
 * @param {Request} request
 * @param {Response} response
 * @param {ServeSettings} settings
 * @param {(file: string) => string} cacheControl
 */
async function answer(request, response, settings, cacheControl) {
  const asked = readRequestPath(request.url ?? '');
  if ('refusal' in asked) return sendPage(response, asked.refusal);
  const { segments, isFolder, query } = asked;
  const found = await locate(settings.path, segments);
  if (found.type === 'file' && !isFolder) return sendFile(request, response, found, cacheControl);
  if (found.type === 'folder') {
    const home = await locate(settings.path, [...segments, ...settings.homepage.split('/')]);
    const isListed = settings.hasListing && home.type !== 'file';
    if ((home.type === 'file' || isListed) && !isFolder) return redirect(response, segments, query);
    if (home.type === 'file') return sendFile(request, response, home, cacheControl);
    const entries = isListed ? await listFolder(found.root, segments) : null;
    if (entries) return sendPage(response, 200, renderListing(segments, entries));
  }
  if (settings.isSpa && !isRoute(segments)) varyBy(response, 'Accept');
  if (settings.isSpa && (isRoute(segments) || wantsPage(request))) {
    const home = await locate(settings.path, settings.homepage.split('/'));
    if (home.type === 'file') return sendFile(request, response, home, cacheControl);
  }
  const page = await locate(settings.path, [NOT_FOUND_PAGE]);
  if (page.type === 'file') return sendFile(request, response, page, cacheControl, 404);
  return sendPage(response, 404);
}

/**
 * Whether the path looks like a route of the page, and not like a file: as in PM2, its last part
 * has no extension.
 * @param {string[]} segments
 */
function isRoute(segments) {
  return extname(segments.at(-1) ?? '') === '';
}

/**
 * Whether a browser opens a page: only such a request accepts text/html. For a missing script or
 * image, the server must answer with status 404, and not with the home page.
 * @param {Request} request
 */
function wantsPage({ headers }) {
  return (headers.accept ?? '')
    .split(',')
    .some((one) => /^\s*(text\/html|application\/xhtml\+xml)\s*(;(?!.*\bq=0(\.0*)?\s*$)|$)/i.test(one));
}

/** @param {Response} response */
function askForPassword(response) {
  response.setHeader('WWW-Authenticate', 'Basic realm="nclust", charset="UTF-8"');
  sendPage(response, 401);
}

/**
 * Closes the connection, so that the server does not read the body.
 * @param {Response} response
 */
function refuseMethod(response) {
  response.setHeader('Allow', 'GET, HEAD');
  response.setHeader('Connection', 'close');
  sendPage(response, 405);
}

/**
 * @param {Response} response
 * @param {string[]} segments
 * @param {string} query
 */
function redirect(response, segments, query) {
  response.setHeader('Location', `${encodePath(segments)}/${query === '' ? '' : `?${query}`}`);
  response.setHeader('Cache-Control', 'no-cache');
  sendPage(response, 301);
}

/**
 * @param {{ username: string, password: string }} credentials
 * @returns {(header: string | undefined) => boolean}  Takes the same time for every guess.
 */
export function createGatekeeper({ username, password }) {
  const wanted = [digest(username), digest(password)];
  return (header = '') => {
    const encoded = /^Basic +([A-Za-z0-9+/=_-]+) *$/i.exec(header)?.[1] ?? '';
    const text = Buffer.from(encoded, 'base64').toString('utf8');
    const colon = text.indexOf(':');
    const given = [text.slice(0, Math.max(colon, 0)), text.slice(colon + 1)];
    // Always compares the name and the password, so that the time does not reveal a correct name.
    const isEqual = given.map((word, at) => timingSafeEqual(digest(word), wanted[at]));
    return isEqual.every(Boolean) && colon >= 0;
  };
}

/**
 * Returns a hash of the text, because timingSafeEqual() needs inputs of the same length.
 * @param {string} text
 */
function digest(text) {
  return createHash('sha256').update(text).digest();
}

const YEAR_S = 31_536_000;

const PAGES = new Set(['.html', '.htm', '.xhtml']);

/** Bundlers put a hash into the names of files with these extensions. */
const ASSETS = new Set(
  (
    '.js .mjs .css .map .wasm .woff .woff2 .ttf .otf .eot .svg .png .jpg .jpeg .gif .webp .avif .ico ' +
    '.mp3 .mp4 .webm .json .txt'
  ).split(' '),
);

/**
 * @param {object} o
 * @param {string} o.cache  "none": caches keep no file. A duration: how long caches use a file that
 *   is neither a page nor hashed. "": caches ask the server at each use of such a file.
 * @param {boolean} o.isPrivate  Shared caches must not keep files, because a password is required.
 * @returns {(file: string) => string}  Returns the Cache-Control header of a file.
 */
export function createCacheControl({ cache, isPrivate }) {
  const who = isPrivate ? 'private' : 'public';
  const maxAgeS = Math.floor((parseDuration(cache) ?? 0) / 1_000);
  return (file) => {
    if (cache === 'none') return 'no-store';
    if (PAGES.has(extname(file).toLowerCase())) return isPrivate ? 'private, no-cache' : 'no-cache';
    if (isHashed(file)) return `${who}, max-age=${YEAR_S}, immutable`;
    return maxAgeS === 0 ? `${who}, no-cache` : `${who}, max-age=${maxAgeS}`;
  };
}

/**
 * Whether a bundler has put a hash into the name: app.3f2a9c1b.js, index-BfX2aZ9k.js. A word or a
 * date must not count as a hash, because browsers keep a hashed file for a year.
 * @param {string} file
 */
export function isHashed(file) {
  const name = basename(file);
  if (!ASSETS.has(extname(name).toLowerCase())) return false;
  return name
    .split('.')
    .slice(0, -1)
    .some((part) => HASHES.some((hash) => hash.test(part)));
}

const HASHES = [
  /(?:^|[-_])(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{8,64}$/, // webpack, parcel
  /-(?=[A-Z0-9]*\d)(?=[A-Z0-9]*[A-Z])[A-Z2-7]{8}$/, // esbuild
  /-(?=[\w-]*\d)(?=[\w-]*[a-z])(?=[\w-]*[A-Z])[\w-]{8}$/, // rollup, vite
];
