// Unix sockets that outlive the process that bound them. libuv removes the name it has bound when that handle is closed, so the name is a
// private one that is renamed at once; the wanted path is a second link to the same socket, and the renamed one a spare: an app that clears
// "stale" sockets away before it listens removes the path of a living one.
import { linkSync, renameSync, statSync, unlinkSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

/** @param {string} path */
const spareOf = (path) => join(dirname(path), `.${basename(path)}.nclust`);

/**
 * No longer than the wanted one, which may be as long as the name of a socket can be.
 * @param {string} path
 */
const privateNameFor = (path) => join(dirname(path), `.${Math.random().toString(36).slice(2, 2 + Math.min(8, Math.max(1, basename(path).length - 1)))}`);

/**
 * @param {string} path  Absolute.
 * @param {(name: string) => import('./listeners.js').Handle} bind  Throws when the name cannot be bound.
 * @param {object} o
 * @param {boolean} o.isTakenOver  Whoever listens there is an orphan of the same app: its socket loses the path.
 * @returns {import('./listeners.js').Handle}  Throws what link(2) says: EEXIST when something is there.
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

/** Brings the path of a held socket back, if it is gone. @param {string} path */
export function restorePath(path) {
  tryTo(() => linkSync(spareOf(path), path), ['EEXIST', 'ENOENT']);
}

/** Removes the path, unless it leads to another socket by now. @param {string} path */
export function removePath(path) {
  const spare = statSync(spareOf(path), { throwIfNoEntry: false });
  const now = statSync(path, { throwIfNoEntry: false });
  if (spare && now && spare.ino === now.ino) tryTo(() => unlinkSync(path), ['ENOENT']);
  if (spare) tryTo(() => unlinkSync(spareOf(path)), ['ENOENT']);
}

/**
 * @param {() => void} action
 * @param {string[]} expected  Codes that are an answer, too.
 */
function tryTo(action, expected) {
  try {
    action();
  } catch (error) {
    if (!expected.includes(/** @type {NodeJS.ErrnoException} */ (error).code ?? '')) throw error;
  }
}
