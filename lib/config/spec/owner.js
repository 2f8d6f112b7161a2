import { execFileSync } from 'node:child_process';
import { userInfo } from 'node:os';
import { tryTo } from '../../shared/daemon/files.js';
import { NclustError } from '../../shared/errors.js';

/** @import { StdioOptions } from 'node:child_process' */

/**
 * @typedef {object} Owner
 * @property {number | null} uid  Null: the user of the manager.
 * @property {number | null} gid  Null: the group of the manager.
 * @property {string} user  The name for lists.
 * @property {string | null} home  The home directory of `user`. Null: `user` runs the manager, or
 *   has no account.
 */

/**
 * @param {object} o
 * @param {string} [o.uid]  Name or number.
 * @param {string} [o.gid]  Name or number. Default: the primary group of that user.
 * @param {number} [o.self]  The effective user id.
 * @returns {Owner}
 */
export function resolveOwner({ uid, gid, self = process.geteuid?.() ?? 0 }) {
  if (uid === undefined && gid === undefined) return { uid: null, gid: null, user: getName(self), home: null };
  if (self !== 0) {
    throw new NclustError(
      'ERR_NCLUST_NOT_PERMITTED',
      `${uid === undefined ? '--gid' : '--uid'} needs root, but this is user id ${self}.`,
      { hint: 'Run nclust as root, or leave the option out.' },
    );
  }
  const group = gid === undefined ? null : idOfGroup(gid);
  if (uid === undefined) return { uid: null, gid: group, user: getName(self), home: null };
  const entry = passwdEntry(uid);
  if (!entry && !/^\d+$/.test(uid))
    throw new NclustError(
      'ERR_NCLUST_BAD_SPEC',
      `--uid is "${uid}", but there is no such user; accepted: a user name or a number.`,
    );
  if (!entry) return { uid: Number(uid), gid: group ?? Number(uid), user: uid, home: null };
  return { uid: entry.uid, gid: group ?? entry.gid, user: entry.name, home: entry.home };
}

/**
 * The variables that an app gets because of its user.
 * @param {Pick<Owner, 'home' | 'user'>} owner
 * @returns {Record<string, string>}
 */
export function ownerVariables({ home, user }) {
  return home === null ? {} : { HOME: home, USER: user, LOGNAME: user };
}

/**
 * Shows the number if there is no account, as for a user id in a container.
 * @param {number} self
 */
function getName(self) {
  return tryTo(() => userInfo().username, String(self));
}

/** @param {string} gid */
function idOfGroup(gid) {
  if (/^\d+$/.test(gid)) return Number(gid);
  const line = getent('group', gid);
  if (!line)
    throw new NclustError(
      'ERR_NCLUST_BAD_SPEC',
      `--gid is "${gid}", but there is no such group; accepted: a group name or a number.`,
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
 * Does not read /etc/passwd, because users may be in a directory service. macOS has no getent:
 * there the user has to give a number.
 * @param {'passwd' | 'group'} table
 * @param {string} key
 */
function getent(table, key) {
  /** @type {{ encoding: 'utf8', stdio: StdioOptions }} */
  const options = { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] };
  return tryTo(() => execFileSync('getent', [table, key], options).trim(), null);
}
