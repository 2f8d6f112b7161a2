// Follows, as root, a path that the user of an app can change. reach() opens each folder once and
// looks up the next name from that descriptor. If the user exchanges a folder, this has no effect.
//
// seteuid(2) is not usable here, because it changes every thread of the process. Another thread may
// be reading a file of another app.
import { closeSync, constants, fstatSync, lstatSync, openSync, readlinkSync } from 'node:fs';
import { constants as os } from 'node:os';
import { getSystemErrorMap } from 'node:util';
import { listMembers } from '../daemon/accounts.js';
import { nullIfMissing } from '../daemon/files.js';

/** @import { Stats } from 'node:fs' */

/** @typedef {{ uid: number, gid: number }} User  Null instead: the rights of the manager. */

/**
 * @typedef {object} Reached
 * @property {string} name
 * @property {Stats | null} stat  Does not follow a link. Null: the file does not exist.
 * @property {string} place  A path that leads to the file even after a rename.
 * @property {Stats} folder
 * @property {(name: string) => string} at  Path of a name in the folder, even after a rename above.
 * @property {boolean} isTrusted  The user can change neither the folder nor one above it.
 */

/**
 * Only Linux can look up a name from a descriptor. On other systems, reach() throws ENOTSUP for a
 * folder that is not trusted.
 */
const HAS_PLACES = process.platform === 'linux';

/** O_PATH: the descriptor stands for a path, and opening it has no effect on the file. */
const PLACE = 0o10000000 | constants.O_NOFOLLOW;

/** Limit for the names on the way, including the names in targets of links. */
const STEPS_MAX = 256;

export const [READ, WRITE, SEARCH] = [4, 2, 1];
export const STICKY = 0o1000;

/**
 * Follows a path as the kernel does for the user, folder by folder.
 * @template T
 * @param {User} user
 * @param {string} path
 * @param {(found: Reached) => T} work  Must be synchronous, because reach() closes
 *   the descriptors when this function returns.
 * @param {{ isFollowing?: boolean }} [o]
 */
export function reach(user, path, work, { isFollowing = true } = {}) {
  const remaining = splitParts(path);
  let folder = openPlace('/');
  /** @type {OpenPath | null} */
  let next = null;
  let isWayTrusted = true;
  try {
    for (let steps = 0; steps < STEPS_MAX; steps += 1) {
      /** @type {boolean} */
      const isTrusted = isWayTrusted && isClosedTo(user, folder.stat);
      if (!isTrusted && !HAS_PLACES) throw systemError('ENOTSUP', path);
      if (!isTrusted && !hasPermission(user, folder.stat, SEARCH)) throw systemError('EACCES', path);
      const { place } = folder;
      const at = (/** @type {string} */ one) => `${place}/${one}`;
      const name = remaining.shift() ?? '.';
      const isLast = remaining.length === 0;
      next = nullIfMissing(() => openPlace(at(name)));
      isWayTrusted = isTrusted || (isWayTrusted && isKeptBySticky(folder.stat, next?.stat));
      if (next?.stat.isSymbolicLink() && (isFollowing || !isLast)) {
        // Looks up the name a second time, because Node.js reads a link only by its name. If the
        // user exchanges the link in between, the new link also belongs to the user.
        const target = readlinkSync(at(name));
        remaining.unshift(...splitParts(target));
        if (target.startsWith('/')) folder = exchange(folder, openPlace('/'));
        next = close(next);
      } else if (isLast) {
        const { stat = null, place: own = at(name) } = next ?? {};
        return work({ name, stat, place: own, folder: folder.stat, at, isTrusted });
      } else if (!next) {
        throw systemError('ENOENT', path);
      } else if (!next.stat.isDirectory()) {
        throw systemError('ENOTDIR', path);
      } else {
        folder = exchange(folder, next);
        next = null;
      }
    }
    throw systemError('ELOOP', path);
  } finally {
    close(next);
    close(folder);
  }
}

/**
 * Like reach(), but does not follow a link at the end.
 * @template T
 * @param {User} user
 * @param {string} path
 * @param {(found: Reached) => T} work
 */
export function reachLink(user, path, work) {
  return reach(user, path, work, { isFollowing: false });
}

/** @param {string} path */
const splitParts = (path) => path.split('/').filter((part) => part !== '' && part !== '.');

/** @typedef {{ fd: number | null, stat: Stats, place: string }} OpenPath */

/**
 * @param {string} path
 * @returns {OpenPath}
 */
function openPlace(path) {
  if (!HAS_PLACES) return { fd: null, stat: lstatSync(path), place: path };
  const fd = openSync(path, PLACE);
  return { fd, stat: fstatSync(fd), place: `/proc/self/fd/${fd}` };
}

/** @param {OpenPath | null} place */
function close(place) {
  if (place && place.fd !== null) closeSync(place.fd);
  return null;
}

/**
 * @param {OpenPath} before
 * @param {OpenPath} after
 */
function exchange(before, after) {
  close(before);
  return after;
}

/**
 * Whether only root, and not the user, can change the folder. If a group can change the folder, the
 * user must not be in this group. For example, the group of /var/log is syslog on many systems.
 * @param {User} user
 * @param {Stats} folder
 */
function isClosedTo(user, folder) {
  return folder.uid === 0 && !hasPermission(user, folder, WRITE, { inDoubt: true });
}

/**
 * Whether only root can rename or remove `found`, because `found` belongs to root and is in a
 * sticky folder of root. For example, every user can create files in /tmp, but cannot remove the
 * files of root.
 * @param {Stats} folder
 * @param {Stats} [found]
 */
function isKeptBySticky(folder, found) {
  return folder.uid === 0 && Boolean(folder.mode & STICKY) && found?.uid === 0;
}

/**
 * All groups of the user count, because the user can enter them with newgrp(1).
 * @param {User} user
 * @param {Stats} stat
 * @param {number} wanted
 * @param {{ inDoubt?: boolean }} [o]  The result for a group whose members are not known.
 */
export function hasPermission({ uid, gid }, stat, wanted, { inDoubt = false } = {}) {
  const grants = (/** @type {number} */ shift) => ((stat.mode >> shift) & wanted) === wanted;
  if (stat.uid === uid) return grants(6);
  if (stat.gid === gid) return grants(3);
  if (grants(0) || !grants(3)) return grants(0);
  const members = listMembers(stat.gid) ?? [NaN];
  return members.includes(uid) || (inDoubt && members.includes(NaN));
}

/**
 * @param {'EACCES' | 'EEXIST' | 'EINVAL' | 'ELOOP' | 'ENOENT' | 'ENOTDIR' | 'ENOTSUP'} code
 * @param {string} path
 */
export function systemError(code, path) {
  const [, text] = getSystemErrorMap().get(-os.errno[code]) ?? [code, code];
  return Object.assign(new Error(`${code}: ${text}, "${path}"`), { code, path });
}
