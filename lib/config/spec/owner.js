import { execFileSync } from 'node:child_process';
import { userInfo } from 'node:os';
import { NclustError } from '../../shared/errors.js';

/**
 * The user that an app runs as.
 * @typedef {object} Owner
 * @property {number | null} uid  Null: the manager's own user.
 * @property {number | null} gid
 * @property {string} user  The name in the list.
 * @property {string | null} home  The home directory if it is another user.
 */

/**
 * @param {object} o
 * @param {string} [o.uid]  Name or number.
 * @param {string} [o.gid]  Name or number. Default: the primary group of that user.
 * @param {number} [o.self]  The effective user. Only root may use another one.
 * @returns {Owner}  Throws ERR_NCLUST_NOT_PERMITTED and ERR_NCLUST_BAD_SPEC.
 */
export function resolveOwner({ uid, gid, self = process.geteuid?.() ?? 0 }) {
  if (uid === undefined && gid === undefined) return { uid: null, gid: null, user: nameOf(self), home: null };
  if (self !== 0) {
    throw new NclustError(
      'ERR_NCLUST_NOT_PERMITTED',
      `${uid === undefined ? '--gid' : '--uid'} needs root, and this is user id ${self}.`,
      { hint: 'Run nclust as root, or leave the option out.' },
    );
  }
  const group = gid === undefined ? null : idOfGroup(gid);
  if (uid === undefined) return { uid: null, gid: group, user: nameOf(self), home: null };
  const entry = passwdEntry(uid);
  if (!entry && !/^\d+$/.test(uid))
    throw new NclustError(
      'ERR_NCLUST_BAD_SPEC',
      `--uid is "${uid}", and there is no such user; accepted: a user name or a number.`,
    );
  if (!entry) return { uid: Number(uid), gid: group ?? Number(uid), user: uid, home: null };
  return { uid: entry.uid, gid: group ?? entry.gid, user: entry.name, home: entry.home };
}

/** @param {number} self */
function nameOf(self) {
  try {
    return userInfo().username;
  } catch {
    return String(self); // A container platform may choose a number that has no account.
  }
}

/** @param {string} gid */
function idOfGroup(gid) {
  if (/^\d+$/.test(gid)) return Number(gid);
  const line = getent('group', gid);
  if (!line)
    throw new NclustError(
      'ERR_NCLUST_BAD_SPEC',
      `--gid is "${gid}", and there is no such group; accepted: a group name or a number.`,
    );
  return Number(line.split(':')[2]);
}

/** @param {string} user */
function passwdEntry(user) {
  const line = getent('passwd', user);
  if (!line) return null;
  const [name, , uid, gid, , home] = line.split(':');
  return { name, uid: Number(uid), gid: Number(gid), home };
}

/**
 * Asks the system and not /etc/passwd, because users may be in a directory service. macOS has no
 * getent, so there a number is needed.
 * @param {'passwd' | 'group'} table
 * @param {string} key
 */
function getent(table, key) {
  try {
    return execFileSync('getent', [table, key], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
  } catch {
    return null;
  }
}
