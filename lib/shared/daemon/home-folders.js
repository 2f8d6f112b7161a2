// Checks whether another user could replace the home with another folder. The manager would then
// start the apps in the state file of this user, and write to any file to which a link of this user
// points.
import { lstatSync, readlinkSync } from 'node:fs';
import { userInfo } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { ACCOUNT_FILES, splitLines, listMembers } from './accounts.js';
import { readIfThere, tryTo } from './files.js';

/** @import { Stats } from 'node:fs' */
/** @import { AccountFiles } from './accounts.js' */

/**
 * @typedef {object} Fault
 * @property {string} message
 * @property {string} hint
 * @property {{ folder: string, uid: number, gid: number, mode: string }} data
 */

/**
 * @typedef {object} OwnAccount
 * @property {() => boolean} hasOwn  Whether the user of this process has an account.
 * @property {(uid: number) => boolean} isOutside  Whether a user is not in our user namespace.
 */

/** @typedef {AccountFiles & OwnAccount} Accounts  Read only for a suspicious folder. */

/** @typedef {{ uid: number, accounts: Accounts, platform: string }} Situation */

const GROUP_WRITES = 0o020;
const OTHERS_WRITE = 0o002;
const STICKY = 0o1000;

const LINKS_MAX = 40;

/** On macOS the members of this group may become root anyway. */
const ADMIN_GID = 80;

/**
 * Checks the home, and each folder and link on the path of the home, as sshd does (StrictModes).
 * Each must belong to root or to our user, and no other user may have write permission. Also
 * accepted:
 * - sticky folders
 * - folders and links of owners who are outside of our user namespace
 * - folders of a group without other users, because Debian and Fedora give each user such a group
 * - everything, if our user has no account: a container platform has then chosen the user number
 * @param {string} home  The folder may be missing.
 * @param {Partial<Situation>} [o]
 * @returns {Fault | null}
 */
export function findHomeFault(
  home,
  { uid = process.geteuid?.() ?? 0, accounts = ACCOUNTS, platform = process.platform } = {},
) {
  for (const [path, stat] of listSteps(home)) {
    const why = findFault(stat, { uid, accounts, platform });
    if (why === null) continue;
    return uid !== 0 && !accounts.hasOwn() ? null : describe(home, path, stat, why);
  }
  return null;
}

/** @typedef {{ what: string, change: (folder: string) => string }} Why */

/**
 * @param {Stats} stat
 * @param {Situation} situation
 * @returns {Why | null}
 */
function findFault(stat, { uid, accounts, platform }) {
  const isLink = stat.isSymbolicLink();
  if (stat.uid !== 0 && stat.uid !== uid && !accounts.isOutside(stat.uid))
    return {
      what: `belongs to user ${stat.uid}${getName(accounts.passwd(), stat.uid)}`,
      change: () => `Run nclust as that user${uid === 0 ? ', or with the home of root (sudo -H)' : ''}`,
    };
  if (isLink || (stat.mode & STICKY) !== 0) return null;
  if ((stat.mode & OTHERS_WRITE) !== 0)
    return {
      what: `can be written to by every user (mode ${octal(stat)})`,
      change: (folder) => `Run: chmod o-w "${folder}"`,
    };
  if ((stat.mode & GROUP_WRITES) !== 0 && isShared(stat.gid, { uid, accounts, platform }))
    return {
      what: `can be written to by group ${stat.gid}${getName(accounts.group(), stat.gid)} (mode ${octal(stat)})`,
      change: (folder) => `Run: chmod g-w "${folder}"`,
    };
  return null;
}

/**
 * @param {string} home
 * @param {string} folder
 * @param {Stats} stat
 * @param {Why} why
 * @returns {Fault}
 */
function describe(home, folder, stat, { what, change }) {
  return {
    message:
      `The nclust home "${home}" is not safe: "${folder}" ${what}, ` +
      `so another user could put another folder in its place.`,
    hint: `${change(folder)}, or point NCLUST_HOME at a folder of your own.`,
    data: { folder, uid: stat.uid, gid: stat.gid, mode: octal(stat) },
  };
}

/**
 * @param {string} home
 * @returns {Generator<[path: string, stat: Stats]>}  Steps from the root to the home, and through
 *   links. Ends at a folder that cannot be reached, because the home is then not usable either.
 */
function* listSteps(home) {
  let folder = '/';
  let links = 0;
  const names = ['.', ...resolve(home).split('/').filter(Boolean)];
  while (names.length > 0) {
    const name = /** @type {string} */ (names.shift());
    const path = name === '..' ? dirname(folder) : join(folder, name);
    const stat = tryTo(() => lstatSync(path), null);
    if (!stat) return;
    yield [path, stat];
    if (!stat.isSymbolicLink()) {
      folder = path;
      continue;
    }
    if ((links += 1) > LINKS_MAX) return;
    const target = readlinkSync(path);
    if (target.startsWith('/')) folder = '/';
    names.unshift(...target.split('/').filter((part) => part !== '' && part !== '.'));
  }
}

/**
 * Whether the group may contain users other than root and our user. On macOS, every group except
 * ADMIN_GID may contain other users, because the account files do not contain users. Elsewhere,
 * root does not trust a group that is missing in the account files, because such a group may belong
 * to a directory service or to the volume of a container.
 * @param {number} gid
 * @param {Situation} situation
 */
function isShared(gid, { uid, accounts, platform }) {
  if (gid === 0) return false;
  if (platform === 'darwin') return gid !== ADMIN_GID;
  const members = listMembers(gid, accounts);
  return members === null ? uid === 0 : members.some((member) => member !== 0 && member !== uid);
}

/**
 * @param {string} text
 * @param {number} id
 */
function getName(text, id) {
  const name = splitLines(text).find((line) => line.length > 2 && Number(line[2]) === id)?.[0];
  return name === undefined ? '' : ` (${name})`;
}

/** @param {Stats} stat */
function octal({ mode }) {
  return (mode & 0o7777).toString(8).padStart(4, '0');
}

/** @type {Accounts} */
const ACCOUNTS = {
  ...ACCOUNT_FILES,
  hasOwn: () => tryTo(userInfo, null) !== null,
  // The kernel shows the overflow number for every owner outside the namespace. If a user of the
  // namespace has this number, nclust cannot distinguish this user from the owners outside.
  isOutside: (uid) =>
    uid === Number(readIfThere('/proc/sys/kernel/overflowuid') || -1) &&
    !isMapped(uid, readIfThere('/proc/self/uid_map')),
};

/**
 * @param {number} uid
 * @param {string} map  See user_namespaces(7).
 */
function isMapped(uid, map) {
  return map.split('\n').some((line) => {
    const [first, , count] = line.trim().split(/ +/).map(Number);
    return uid >= first && uid < first + count;
  });
}
