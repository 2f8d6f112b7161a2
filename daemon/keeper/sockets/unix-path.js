// When a handle is closed, libuv removes the name that it bound. So the keeper binds a private
// name, links the path to it, and renames the private name to a spare. An app may remove the path
// as "stale" before it listens. Then the keeper restores the path from the spare.
import { chmodSync, linkSync, lstatSync, renameSync, unlinkSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

/** @import { Handle } from './listeners.js' */

/** @param {string} path */
export const sparePathFor = (path) => join(dirname(path), `.${basename(path)}.nclust`);

/**
 * Returns a name that is not longer than the path, because the path may have the maximum length.
 * @param {string} path
 */
export function choosePrivateName(path) {
  const length = basename(path).length;
  const letters = Math.random().toString(36).slice(2, 10).padEnd(8, '0');
  // A name of one letter has no room for a dot. Then the private name is "~" or "_".
  const name =
    length > 1 ? `.${letters.slice(0, length - 1)}` : (['~', '_'].find((one) => one !== basename(path)) ?? '');
  return join(dirname(path), name);
}

/**
 * @param {string} path
 * @param {(name: string) => Handle} bind
 * @param {object} o
 * @param {boolean} o.isTakenOver  Take the path from a process of the same app, with its mode.
 * @returns {Handle}  Throws errors of bind(2), link(2) and rename(2). EEXIST: the path exists.
 */
export function bindPath(path, bind, { isTakenOver }) {
  const own = choosePrivateName(path);
  const handle = bind(own);
  try {
    if (isTakenOver) takeOver(path, own);
    linkSync(own, path);
    renameSync(own, sparePathFor(path));
    return handle;
  } catch (error) {
    handle.close(); // Removes the private name.
    throw error;
  }
}

/**
 * @param {string} path
 * @param {string} own
 */
function takeOver(path, own) {
  const before = lstatSync(path, { throwIfNoEntry: false });
  if (before?.isSocket()) chmodSync(own, before.mode & 0o777);
  removePath(path);
}

/**
 * @param {string} path
 * @returns {boolean}  Whether the path exists now. false: the spare is gone, or this user may not
 *   link the path to it.
 */
export function restorePath(path) {
  const code = tryTo(() => linkSync(sparePathFor(path), path), ['EEXIST', 'ENOENT', 'EACCES', 'EPERM']);
  return code === null || code === 'EEXIST';
}

/**
 * Removes the spare, and the path if it leads to the same socket as the spare.
 * @param {string} path
 */
export function removePath(path) {
  const spare = lstatSync(sparePathFor(path), { throwIfNoEntry: false });
  const now = lstatSync(path, { throwIfNoEntry: false });
  if (spare && now && spare.ino === now.ino && spare.dev === now.dev) tryTo(() => unlinkSync(path), ['ENOENT']);
  if (spare) tryTo(() => unlinkSync(sparePathFor(path)), ['ENOENT']);
}

/**
 * @param {() => void} action
 * @param {string[]} expected  Codes that are returned and not thrown.
 * @returns {string | null}
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
