import { realpath, stat } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import { tryTo } from '../shared/daemon/files.js';

/**
 * The only hidden name that is served (RFC 8615), and only as the first name of a path. Without it,
 * certificates could not be renewed.
 */
const WELL_KNOWN = '.well-known';

/**
 * Splits a path at its slashes and then decodes each name once, so that an encoded slash does not
 * separate names. Refuses hidden names except WELL_KNOWN (403). Refuses ".", "..", names that
 * cannot be decoded, and names with a slash, a backslash or a control character (400).
 * @param {string} target  From the request line: "/a/b?c" or "http://host/a/b".
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
 * @returns {string}  Begins with exactly one slash, because a redirect to "//a" would lead to the
 *   host "a".
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
 * @returns {string | null}  Null: the segment contains a wrong % form, or is not UTF-8.
 */
function decode(segment) {
  return tryTo(() => decodeURIComponent(segment), null);
}

/** @param {string | null} segment */
function isUnsafe(segment) {
  return segment === null || segment === '.' || segment === '..' || /[/\\\u0000-\u001f\u007f]/.test(segment);
}

/** Error codes for a path that does not exist or that this user may not read. */
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
 * Follows a link only if its target is inside the folder. To check this, compares real paths.
 * Resolves the folder for each request, because the folder may be a link that a deploy switches.
 * @param {string} folder
 * @param {string[]} segments
 * @returns {Promise<Found>}
 */
export async function locate(folder, segments) {
  try {
    const root = await realpath(folder);
    const path = await realpath(join(root, ...segments));
    const inside = relative(root, path);
    if (inside === '..' || inside.startsWith(`..${sep}`)) return { type: 'nothing' };
    // A link with a visible name must not expose a hidden file.
    if (inside.split(sep).some((name, at) => isHidden(name) && name !== segments[at])) return { type: 'nothing' };
    const stats = await stat(path);
    const { size: bytes, mtimeMs: modifiedAtMs } = stats;
    if (stats.isDirectory()) return { type: 'folder', root, folder: path, bytes, modifiedAtMs };
    // Pipes, sockets and devices are not served, because they have no end.
    return stats.isFile() ? { type: 'file', root, file: path, bytes, modifiedAtMs } : { type: 'nothing' };
  } catch (error) {
    if (isAbsent(error)) return { type: 'nothing' };
    throw error;
  }
}
