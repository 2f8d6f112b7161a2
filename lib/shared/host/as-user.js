// A manager of root handles files of an app of another user. The manager must not do anything that
// this user may not do, except in folders that only root can change. All paths are absolute.
import {
  constants,
  fchownSync,
  lstatSync,
  mkdirSync,
  openSync,
  opendirSync,
  renameSync,
  statfsSync,
  statSync,
  unlinkSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { runAsUserSync } from './run-as-user.js';
import { hasPermission, reach, reachLink, READ, SEARCH, STICKY, systemError, WRITE } from './user-path.js';

/** @import { Stats } from 'node:fs' */
/** @import { Reached, User } from './user-path.js' */

const MAKE_MS = 1_000;

/** File system types in statfs(2): /proc, /sys, and control groups (v2 and v1). */
const KERNEL_TYPES = [0x9fa0, 0x62656572, 0x63677270, 0x27e0eb];

/**
 * @param {{ uid: number | null, gid: number | null }} spec
 * @param {number} [own]
 * @returns {User | null}
 */
export function readUser({ uid, gid }, own = process.geteuid?.() ?? 0) {
  return own !== 0 || uid === null || uid === 0 ? null : { uid, gid: gid ?? uid };
}

/**
 * @param {User | null} user
 * @param {string} path
 * @param {{ isFollowing?: boolean }} [o]  Default true: a link at the end is followed.
 * @returns {User | null}  The user whose rights apply. Null: the rights of the manager apply,
 *   because `user` is null or the folder is trusted (see isTrusted).
 */
export function chooseActor(user, path, o) {
  return user && reach(user, path, ({ isTrusted }) => (isTrusted ? null : user), o);
}

/**
 * Whether the user cannot make the path lead elsewhere. True without a user.
 * @param {User | null} user
 * @param {string} path
 */
export function isWayTrusted(user, path) {
  try {
    return chooseActor(user, path) === null;
  } catch {
    return false; // For example, the user may not enter a folder on the way.
  }
}

/**
 * A new file belongs to the user. In a folder that the user can change, this opens only regular
 * files outside of /proc and /sys. In /proc and /sys, the mode of a file
 * is not enough to decide what the user may do, because the kernel also checks which user opens it.
 * @param {User | null} user
 * @param {string} path
 * @param {number} flags  Add O_NONBLOCK, because open(2) waits for the other end of a named pipe.
 * @param {number} [mode]
 * @returns {number}
 */
export function openAsUser(user, path, flags, mode = 0o600) {
  if (!user) return openSync(path, flags, mode);
  return reach(user, path, (found) => {
    const { name, stat, place, at, isTrusted } = found;
    if (stat === null && flags & constants.O_CREAT) {
      allowChange(user, found, path);
      const fd = openSync(at(name), flags | constants.O_EXCL | constants.O_NOFOLLOW, mode);
      fchownSync(fd, user.uid, user.gid);
      return fd;
    }
    if (stat === null) throw systemError('ENOENT', path);
    if (flags & constants.O_EXCL) throw systemError('EEXIST', path);
    if (!isTrusted && !isStored(stat, place)) throw systemError('EINVAL', path);
    const wanted = [READ, WRITE, READ | WRITE][flags & (constants.O_WRONLY | constants.O_RDWR)];
    if (!isTrusted && !hasPermission(user, stat, wanted)) throw systemError('EACCES', path);
    return openSync(place, flags & ~(constants.O_CREAT | constants.O_NOFOLLOW));
  });
}

/**
 * @template T
 * @param {User | null} user
 * @param {string} path
 * @param {(path: string) => T} connect  Synchronous: the path is valid only during the call.
 * @returns {T}
 */
export function connectAsUser(user, path, connect) {
  if (!user) return connect(path);
  return reach(user, path, ({ stat, place, isTrusted }) => {
    if (stat === null) throw systemError('ENOENT', path);
    if (!isTrusted && !hasPermission(user, stat, WRITE)) throw systemError('EACCES', path);
    return connect(place);
  });
}

/**
 * @param {User | null} user
 * @param {string} path
 * @param {{ isFollowing?: boolean }} [o]
 * @returns {Stats | null}
 */
export function statAsUser(user, path, { isFollowing = true } = {}) {
  if (!user) return (isFollowing ? statSync : lstatSync)(path, { throwIfNoEntry: false }) ?? null;
  return orNull(() => reach(user, path, ({ stat }) => stat, { isFollowing }));
}

/**
 * @param {User | null} user
 * @param {string} path  A regular file. It may be missing.
 * @returns {void}
 */
export function removeAsUser(user, path) {
  removeEachAsUser(user, dirname(path), [basename(path)]);
}

/**
 * Faster than removeAsUser() for each name, because it goes along the path once.
 * @param {User | null} user
 * @param {string} folder
 * @param {string[]} names  Regular files. They may be missing.
 * @returns {void}
 */
export function removeEachAsUser(user, folder, names) {
  const remove = (/** @type {string} */ path, /** @type {(stat: Stats) => void} */ check) => {
    const stat = lstatSync(path, { throwIfNoEntry: false });
    if (!stat) return;
    check(stat);
    assertPlain(path, stat);
    unlinkSync(path);
  };
  if (names.length === 0) return;
  orNull(() => {
    if (!user) return names.forEach((name) => remove(join(folder, name), () => {}));
    reachLink(user, join(folder, names[0]), (found) => {
      for (const name of names)
        remove(found.at(name), (stat) => allowChange(user, { ...found, stat }, join(folder, name)));
    });
  });
}

/**
 * @param {User | null} user
 * @param {string} from  A regular file.
 * @param {string} to  A path in the same folder. Replaces a regular file.
 * @returns {void}
 */
export function renameAsUser(user, from, to) {
  if (!user) {
    assertPlain(from, lstatSync(from));
    assertPlain(to);
    return renameSync(from, to);
  }
  reachLink(user, from, (found) => {
    const replaced = lstatSync(found.at(basename(to)), { throwIfNoEntry: false }) ?? null;
    allowChange(user, found, from);
    allowChange(user, { ...found, stat: replaced }, to);
    assertPlain(from, found.stat);
    assertPlain(to, replaced);
    renameSync(found.at(found.name), found.at(basename(to)));
  });
}

/**
 * The user decides how many names a folder has. So this returns only the first ones, in the order
 * of the file system.
 * @param {User | null} user
 * @param {string} folder
 * @param {number} maxNames
 * @returns {{ names: string[], isCut: boolean }}
 */
export function listAsUser(user, folder, maxNames) {
  if (!user) return listNames(folder, maxNames);
  return reach(user, folder, ({ stat, place, isTrusted }) => {
    if (stat === null) throw systemError('ENOENT', folder);
    if (!isTrusted && !hasPermission(user, stat, READ)) throw systemError('EACCES', folder);
    return listNames(place, maxNames);
  });
}

const NAMES_AT_ONCE = 1_024;

/**
 * @param {string} folder
 * @param {number} maxNames
 */
function listNames(folder, maxNames) {
  const open = opendirSync(folder, { bufferSize: NAMES_AT_ONCE });
  try {
    /** @type {string[]} */
    const names = [];
    for (let entry = open.readSync(); entry; entry = open.readSync()) {
      if (names.length === maxNames) return { names, isCut: true };
      names.push(entry.name);
    }
    return { names, isCut: false };
  } finally {
    open.closeSync();
  }
}

/**
 * Faster than statAsUser() for each name, because it goes along the path once.
 * @param {User | null} user
 * @param {string} folder
 * @param {string[]} names
 * @returns {(Stats | null)[]}  Does not follow links.
 */
export function statEachAsUser(user, folder, names) {
  const look = (/** @type {(name: string) => string} */ at) =>
    names.map((name) => lstatSync(at(name), { throwIfNoEntry: false }) ?? null);
  if (names.length === 0) return [];
  if (!user) return look((name) => join(folder, name));
  const first = join(folder, names[0]);
  return orNull(() => reachLink(user, first, ({ at }) => look(at))) ?? names.map(() => null);
}

/**
 * Also makes missing parents. The new folder belongs to the user, except in a trusted folder: there
 * it belongs to root, because several apps may use it.
 * @param {User | null} user
 * @param {string} path
 * @returns {void}
 */
export function makeFolderAsUser(user, path) {
  if (!user) {
    mkdirSync(path, { recursive: true, mode: 0o700 });
    return;
  }
  if (statAsUser(user, path) !== null) return;
  makeFolderAsUser(user, dirname(path));
  reach(user, path, ({ name, stat, at, isTrusted }) => {
    if (stat !== null) return;
    if (isTrusted) return mkdirSync(at(name), 0o700);
    // Runs a program as the user. A chown(2) by root could change another folder, because mkdir(2)
    // does not return a descriptor.
    const { PATH } = process.env;
    const limits = { env: { PATH }, timeoutMs: MAKE_MS, maxBytes: 0 };
    if (runAsUserSync(user, 'mkdir', ['-m', '700', '--', path], limits).code !== 0) throw systemError('EACCES', path);
  });
}

/**
 * Throws EINVAL unless the path is a regular file or missing. A link, device, pipe, socket or
 * folder of a user must not be renamed, removed or replaced.
 * @param {string} path
 * @param {Stats | null} [stat]  Does not follow a link.
 */
export function assertPlain(path, stat = lstatSync(path, { throwIfNoEntry: false }) ?? null) {
  if (stat !== null && !stat.isFile()) throw systemError('EINVAL', path);
}

/**
 * @param {unknown} error
 * @returns {string}  For messages: the code of a system error, or what assertPlain() has found.
 */
export function explainCode(error) {
  const { code } = /** @type {NodeJS.ErrnoException} */ (error);
  return code === 'EINVAL' ? 'it is not a regular file' : (code ?? String(error));
}

/**
 * @param {Stats} stat
 * @param {string} place
 */
function isStored(stat, place) {
  return stat.isFile() && !KERNEL_TYPES.includes(statfsSync(place).type);
}

/**
 * @param {User} user
 * @param {Reached} found
 * @param {string} path
 */
function allowChange(user, { stat, folder, isTrusted }, path) {
  if (isTrusted) return;
  const isOthers = folder.mode & STICKY && stat !== null && stat.uid !== user.uid && folder.uid !== user.uid;
  if (isOthers || !hasPermission(user, folder, WRITE | SEARCH)) throw systemError('EACCES', path);
}

/**
 * @template T
 * @param {() => T} work
 * @returns {T | null}
 */
function orNull(work) {
  try {
    return work();
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes(/** @type {NodeJS.ErrnoException} */ (error).code ?? '')) return null;
    throw error;
  }
}
