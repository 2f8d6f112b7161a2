// Unix sockets that outlive the process that bound them. libuv removes the name it has bound when
// that handle is closed, so the name is a private one that is renamed at once; the wanted path is a
// second link to the same socket, and the renamed one a spare: an app that clears "stale" sockets
// away before it listens removes the path of a living one.
import { linkSync, renameSync, statSync, unlinkSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

/** @import { Handle } from './listeners.js' */

/** @param {string} path */
export const spareOf = (path) => join(dirname(path), `.${basename(path)}.nclust`);

/**
 * No longer than the wanted one, which may be as long as the name of a socket can be.
 * @param {string} path
 */
export function privateNameFor(path) {
  const length = basename(path).length;
  const letters = Math.random().toString(36).slice(2, 10).padEnd(8, '0');
  // One letter has no room for a dot; the other one of these two cannot be the wanted name.
  const name =
    length > 1 ? `.${letters.slice(0, length - 1)}` : (['~', '_'].find((one) => one !== basename(path)) ?? '');
  return join(dirname(path), name);
}

/**
 * @param {string} path  Absolute.
 * @param {(name: string) => Handle} bind  Throws when the name cannot be bound.
 * @param {object} o
 * @param {boolean} o.isTakenOver  Whoever listens there is an orphan of the same app: its socket
 *   loses the path.
 * @returns {Handle}  Throws what link(2) says: EEXIST when something is there.
 */
export function bindPath(path, bind, { isTakenOver }) {
  const own = privateNameFor(path);
  const handle = bind(own);
  try {
    if (isTakenOver) removePath(path);
    linkSync(own, path);
    renameSync(own, spareOf(path));
    return handle;
  } catch (error) {
    handle.close(); // Removes the private name.
    throw error;
  }
}

/**
 * Brings the path of a held socket back, if it is gone.
 * @param {string} path
 * @returns {boolean}  false when the socket has lost all its names, because its folder was removed,
 *   or when they belong to another user.
 */
export function restorePath(path) {
  const code = tryTo(() => linkSync(spareOf(path), path), ['EEXIST', 'ENOENT', 'EACCES', 'EPERM']);
  return code === null || code === 'EEXIST';
}

/**
 * Removes the path, unless it leads to another socket by now.
 * @param {string} path
 */
export function removePath(path) {
  const spare = statSync(spareOf(path), { throwIfNoEntry: false });
  const now = statSync(path, { throwIfNoEntry: false });
  if (spare && now && spare.ino === now.ino) tryTo(() => unlinkSync(path), ['ENOENT']);
  if (spare) tryTo(() => unlinkSync(spareOf(path)), ['ENOENT']);
}

/**
 * @param {() => void} action
 * @param {string[]} expected  Codes that are an answer, too.
 * @returns {string | null}  The code.
 */
function tryTo(action, expected) {
  try {
    action();
    return null;
  } catch (error) {
    const { code = '' } = /** @type {NodeJS.ErrnoException} */ (error);
    if (!expected.includes(code)) throw error;
    return code;
  }
}
