import { readlinkSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { callAsOwner } from './host/owner.js';
import { KeeperError } from './protocol.js';

/** @import { Owner } from './host/owner.js' */

/**
 * The keeper itself enters the folder, because a new process enters its `cwd` before it gives up
 * the rights of root.
 * @template T
 * @param {string} folder
 * @param {Owner | null} owner  Must be able to enter the folder. Null: the keeper.
 * @param {() => T} start  Must be synchronous.
 * @returns {T}
 */
export function callInFolder(folder, owner, start) {
  try {
    callAsOwner(owner, () => enter(folder, owner));
    return start();
  } finally {
    process.chdir('/');
  }
}

/**
 * @param {string} folder
 * @param {Owner | null} owner
 */
function enter(folder, owner) {
  try {
    process.chdir(folder);
  } catch (error) {
    const { code = 'ESPAWN' } = /** @type {NodeJS.ErrnoException} */ (error);
    const what = `the working directory ${folder}`;
    if (code === 'ENOENT') throw new KeeperError(code, `${what} does not exist`);
    if (code === 'ENOTDIR') throw new KeeperError(code, `${what} is not a directory`);
    if (code !== 'EACCES') throw new KeeperError(code, `${what} cannot be entered`);
    const who = owner === null ? 'the user of the manager' : `user ${owner.uid}`;
    throw new KeeperError(
      code,
      `${who} may not enter the working directory ${folder}, because of ${findClosed(folder)}: ` +
        'give this user access to that folder, or choose another working directory (--cwd)',
    );
  }
}

/** More links than Linux follows in one path. */
const LINKS_MAX = 40;

/**
 * Leaves the keeper in any folder on the way.
 * @param {string} path  Absolute.
 * @param {number} [links]
 * @returns {string}  The first folder on the way that may not be entered.
 */
function findClosed(path, links = LINKS_MAX) {
  const names = path.split('/').filter(Boolean);
  const folders = names.map((_, at) => `/${names.slice(0, at + 1).join('/')}`);
  const closed = folders.find((folder) => !canEnter(folder)) ?? path;
  const target = readLink(closed);
  return target === null || links === 0 ? closed : findClosed(resolve(dirname(closed), target), links - 1);
}

/** @param {string} folder */
function canEnter(folder) {
  try {
    process.chdir(folder);
    return true;
  } catch {
    return false;
  }
}

/** @param {string} path */
function readLink(path) {
  try {
    return readlinkSync(path);
  } catch {
    return null; // Not a link.
  }
}
