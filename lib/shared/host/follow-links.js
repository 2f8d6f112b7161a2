// Decides which file a path of a user means. nclust renames, removes and empties only that file.
// Links, devices, pipes and sockets stay what they are: see assertPlain() in as-user.js.
import { lstatSync, readlinkSync, realpathSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { reachLink } from './user-path.js';

/** @import { Stats } from 'node:fs' */
/** @import { User } from './user-path.js' */

const LINKS_MAX = 40;

const OWN_OUTPUT = /^\/(?:dev\/(?:stdout|stderr|fd\/\d+)|proc\/(?:thread-)?self\/fd\/\d+)$/;

/** Links in /proc lead to files that another process has open. */
const KERNEL = '/proc/';

/**
 * Follows links at the end of the path.
 * @param {User | null} user  Null: the rights of this process.
 * @param {string} path  Absolute.
 * @returns {string}  A regular file, a missing file, or the path of an own output. Else the given
 *   path, for example if a link leads to a device, or into a folder that `user` cannot change.
 */
export function followLinks(user, path) {
  let at = resolve(path);
  // Links are rare, and each list asks for each path. reach() opens all folders on the way.
  if (!isOwnOutput(at) && !mayBeLink(at)) return path;
  let hasLeftTrust = false;
  try {
    for (let links = 0; links <= LINKS_MAX; links += 1) {
      if (isOwnOutput(at)) return at;
      if (at.startsWith(KERNEL)) return path;
      const { stat, target, isTrusted } = statLink(user, at);
      // The user chose this target, so a folder that the user cannot change is not the user's.
      if (hasLeftTrust && isTrusted) return path;
      if (target === null) return links > 0 && (stat === null || stat.isFile()) ? at : path;
      hasLeftTrust ||= !isTrusted;
      at = target;
    }
  } catch {
    // The user may not enter a folder, or it is not a folder. Opening the path reports the reason.
  }
  return path;
}

/** @param {string} path */
function mayBeLink(path) {
  try {
    return lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() ?? false;
  } catch {
    return true; // The kernel may refuse a link on the way to this process, but not to the user.
  }
}

/**
 * Whether the path means the output of the process that opens it. A daemon has no such output.
 * @param {string} path
 */
export function isOwnOutput(path) {
  return OWN_OUTPUT.test(path);
}

/**
 * @param {User | null} user
 * @param {string} path
 * @returns {{ stat: Stats | null, target: string | null, isTrusted: boolean }}  `target`: of a link.
 */
function statLink(user, path) {
  if (!user) {
    const stat = lstatSync(path, { throwIfNoEntry: false }) ?? null;
    return { stat, target: stat?.isSymbolicLink() ? readTarget(path) : null, isTrusted: false };
  }
  return reachLink(user, path, ({ stat, name, at, isTrusted }) => {
    const target = stat?.isSymbolicLink() ? readTarget(at(name)) : null;
    return { stat, target, isTrusted };
  });
}

/** @param {string} link */
function readTarget(link) {
  return resolve(realpathSync(dirname(link)), readlinkSync(link));
}
