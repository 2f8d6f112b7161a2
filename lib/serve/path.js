import { realpath, stat } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';

/**
 * Dot files are nobody's business, but for the one folder whose name is a standard (RFC 8615):
 * certificates are renewed through it.
 */
const WELL_KNOWN = '.well-known';

/**
 * What a request asks for, as the names of folders and at last of a file. Decoded once, after it
 * was cut at the slashes, so that no decoded sign can act as one; whatever then still could climb,
 * end a path early or be read in two ways is refused instead of being put right.
 * @param {string} target  As it stands in the request line: "/a/b?c" or "http://host/a/b".
 * @returns {{ segments: string[], isFolder: boolean, query: string } | { refusal: 400 | 403 }}
 */
export function readRequestPath(target) {
  const found = /^(?:https?:\/\/[^/?#\\]*)?(\/[^?#]*|(?=\?|$))(?:\?([^#]*))?/is.exec(target);
  if (!found || target === '') return { refusal: 400 };
  const [, path = '/', query = ''] = found;
  const raw = path.split('/');
  const segments = raw.filter(Boolean).map(decode);
  if (segments.some((segment) => segment === null || isUnsafe(segment))) return { refusal: 400 };
  const names = /** @type {string[]} */ (segments);
  if (names.some((name, at) => isHidden(name) && !(at === 0 && name === WELL_KNOWN))) return { refusal: 403 };
  return { segments: names, isFolder: raw.at(-1) === '', query };
}

/**
 * @param {string[]} segments
 * @returns {string}  Begins with one slash, whatever the request began with: two would name another
 *   host in a redirect.
 */
export function encodePath(segments) {
  return `/${segments.map(encodeURIComponent).join('/')}`;
}

/** @param {string} name */
export function isHidden(name) {
  return name.startsWith('.');
}

/**
 * @param {string} segment
 * @returns {string | null}  Null for what is no UTF-8, overlong forms too.
 */
function decode(segment) {
  try {
    return decodeURIComponent(segment);
  } catch {
    return null; // A wrong % form: the caller refuses the request.
  }
}

/** @param {string | null} segment */
function isUnsafe(segment) {
  return segment === null || segment === '.' || segment === '..' || /[/\\\u0000-\u001f\u007f]/.test(segment);
}

/** Codes of the file system for a name that does not exist, or that we may not see. */
const ABSENT = ['ENOENT', 'ENOTDIR', 'ENAMETOOLONG', 'ELOOP', 'EACCES', 'EPERM', 'EINVAL'];

/** @param {unknown} error */
export function isAbsent(error) {
  return ABSENT.includes(/** @type {NodeJS.ErrnoException} */ (error).code ?? '');
}

/**
 * @typedef {{ bytes: number, modifiedAtMs: number }} Facts
 * @typedef {{ type: 'file', root: string, file: string } & Facts
 *   | { type: 'folder', root: string, folder: string } & Facts
 *   | { type: 'nothing' }} Found  `file` and `folder` are real paths, and inside the real `root`.
 */

/**
 * Finds what a path leads to. Links are followed, and what they lead to has to be inside the
 * folder: both ends are compared as the file system knows them, whatever the letters of the
 * request. The folder itself is looked up each time, because it may be a link that a deploy
 * switches.
 * @param {string} folder
 * @param {string[]} segments
 * @returns {Promise<Found>}  Rejects with what is wrong with the machine.
 */
export async function locate(folder, segments) {
  try {
    const root = await realpath(folder);
    const path = await realpath(join(root, ...segments));
    const inside = relative(root, path);
    if (inside === '..' || inside.startsWith(`..${sep}`)) return { type: 'nothing' };
    // A link to a hidden file inside the folder is a way around the rule about them.
    if (inside.split(sep).some((name, at) => isHidden(name) && name !== segments[at])) return { type: 'nothing' };
    const facts = await stat(path);
    const { size: bytes, mtimeMs: modifiedAtMs } = facts;
    if (facts.isDirectory()) return { type: 'folder', root, folder: path, bytes, modifiedAtMs };
    // A pipe, a socket or a device has no end.
    return facts.isFile() ? { type: 'file', root, file: path, bytes, modifiedAtMs } : { type: 'nothing' };
  } catch (error) {
    if (isAbsent(error)) return { type: 'nothing' };
    throw error;
  }
}
