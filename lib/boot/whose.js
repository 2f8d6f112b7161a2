import { execFileSync } from 'node:child_process';
import { userInfo } from 'node:os';
import { join, resolve } from 'node:path';
import { NclustError } from '../shared/errors.js';

/**
 * Whose manager it is, and where.
 * @typedef {object} Whose
 * @property {string} user
 * @property {number} uid
 * @property {number} gid
 * @property {string} userHome
 * @property {string} home  NCLUST_HOME.
 */

/**
 * @param {object} options
 * @param {string} [options.user]
 * @param {string} [options.hp]  The user's home directory.
 * @param {string} [options.home]  NCLUST_HOME.
 * @param {{cwd: string, env: Record<string, string|undefined>}} context
 * @returns {Whose}  Throws ERR_NCLUST_USAGE.
 */
export function resolveWhose({ user: name, hp, home }, { cwd, env }) {
  const self = userInfo();
  const user = name === undefined || name === self.username ? selfAs(self, env) : other(name, hp);
  const userHome = hp === undefined ? user.userHome : resolve(cwd, hp);
  // The variable is about the one who typed the command, and --hp says otherwise.
  const own = user.uid === self.uid && hp === undefined ? env.NCLUST_HOME : undefined;
  return { ...user, userHome, home: resolve(cwd, home ?? (own || join(userHome, '.nclust'))) };
}

/**
 * @param {import('node:os').UserInfo<string>} self
 * @param {Record<string, string|undefined>} env
 */
function selfAs({ username, uid, gid, homedir }, env) {
  return { user: username, uid, gid, userHome: env.HOME || homedir };
}

/**
 * @param {string} user
 * @param {string|undefined} hp
 */
function other(user, hp) {
  const uid = asked('id', ['-u', user]);
  const gid = asked('id', ['-g', user]);
  if (!/^[^-/\s]/.test(user) || uid === null || gid === null) throw new NclustError('ERR_NCLUST_USAGE', `--user is "${user}", and there is no such user.`);
  const userHome = hp ?? asked('getent', ['passwd', user])?.split(':')[5] ?? null;
  if (!userHome) throw new NclustError('ERR_NCLUST_USAGE', `The home directory of "${user}" is not known.`, { hint: 'Give it with --hp.' });
  return { user, uid: Number(uid), gid: Number(gid), userHome };
}

/**
 * @param {string} program
 * @param {string[]} args
 */
function asked(program, args) {
  try {
    return execFileSync(program, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
  } catch {
    return null; // No such user, or no such program: both mean that it is not known.
  }
}
