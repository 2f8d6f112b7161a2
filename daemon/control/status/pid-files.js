import { closeSync, constants, fstatSync, readSync, writeFileSync, writeSync } from 'node:fs';
import { basename, dirname, extname, join, resolve } from 'node:path';
import { followLinks } from '../../../lib/shared/host/follow-links.js';
import {
  chooseActor,
  makeFolderAsUser,
  openAsUser,
  removeAsUser,
  statAsUser,
  readUser,
} from '../../../lib/shared/host/as-user.js';
import { namesIn } from '../../../lib/shared/daemon/files.js';
import { isThere } from '../../../lib/shared/daemon/home-processes.js';
import { fileStem } from '../../../lib/shared/paths.js';
import { listSeatsOfSlot } from '../state/registry.js';

/** @import { User } from '../../../lib/shared/host/user-path.js' */
/** @import { AppSpec } from '../../../lib/app-spec/types.js' */
/** @import { ManagerLog } from '../context.js' */
/** @import { Registry } from '../state/registry.js' */

/** Enough for a pid with some white space around it. */
const PID_FILE_MAX_BYTES = 64;

const READING = constants.O_RDONLY | constants.O_NONBLOCK;
const MAKING = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/** @typedef {{ path: string, user: User | null }} PidFile  Written as `user`. Null: as control. */

/**
 * For each slot, a file with the pid of the serving instance or, if no instance serves, of another
 * instance. A slot without an instance has no file.
 * @typedef {object} PidFiles
 * @property {() => void} putBack  Writes the files in the home again that were removed.
 * @property {() => void} sync  Updates slots that were touched in this turn; at first, all slots.
 */

/**
 * As in PM2, the name contains the id, even if the app has one instance. Follows a link, so that
 * the link stays when its target is removed.
 * @param {Pick<AppSpec, 'name' | 'cwd' | 'pidFile' | 'uid' | 'gid'>} spec
 * @param {number} id
 * @param {string} pids
 */
export function pidFilePath(spec, id, pids) {
  const { name, cwd, pidFile } = spec;
  if (pidFile === '') return join(pids, `${fileStem(name)}-${id}.pid`);
  const path = resolve(cwd, pidFile);
  const extension = extname(path);
  return followLinks(readUser(spec), `${path.slice(0, path.length - extension.length)}-${id}${extension}`);
}

/**
 * @param {Registry} registry
 * @param {{ pids: string, managerLog: ManagerLog }} o
 * @returns {PidFiles}
 */
export function createPidFiles(registry, { pids, managerLog }) {
  /** By slot. @type {Map<number, PidFile & { pid: number }>} */
  const written = new Map();
  /** @type {Set<string>} */
  const reported = new Set();
  let isFirst = true;

  /** @param {number} id */
  function tend(id) {
    const before = written.get(id);
    const place = describePlace(id);
    if (before?.path === place?.path && before?.pid === place?.pid) return;
    if (before && before.path !== place?.path && readPid(before) === before.pid) remove(before);
    written.delete(id);
    if (place && write(place)) written.set(id, place);
  }

  /**
   * @param {AppSpec} spec
   * @param {number} id
   * @returns {PidFile}
   */
  function getFile(spec, id) {
    // The default path is in the home, which belongs to the manager's own user.
    return { path: pidFilePath(spec, id, pids), user: spec.pidFile === '' ? null : readUser(spec) };
  }

  /** @param {number} id */
  function describePlace(id) {
    const seats = listSeatsOfSlot(registry, id).filter((seat) => getPid(registry, seat.instanceId) > 0);
    const seat =
      seats.findLast(({ life }) => life.state === 'up') ??
      seats.find(({ life }) => life.state !== 'stopping') ??
      seats[0];
    if (!seat?.spec) return null;
    return { ...getFile(seat.spec, id), pid: getPid(registry, seat.instanceId) };
  }

  /** @param {PidFile & { pid: number }} place */
  function write({ path, user, pid }) {
    try {
      makeFolderAsUser(user, dirname(path));
      const actor = chooseActor(user, path, { isFollowing: false }) ?? chooseActor(user, path);
      const fault = findFault({ path, user: actor });
      if (fault !== null) throw new Error(fault);
      // Outside of the home, every user may read the file, because other programs use it.
      const mode = dirname(path) === pids ? 0o600 : 0o644;
      if (actor) replace(path, actor, `${pid}\n`, mode);
      else writeFileSync(path, `${pid}\n`, { mode });
      reported.delete(path);
      return true;
    } catch (error) {
      if (!reported.has(path)) managerLog('pid-file-failed', { path, message: describeFault(error, user) });
      reported.add(path);
      return false;
    }
  }

  /** @param {PidFile} file */
  function remove({ path, user }) {
    try {
      removeAsUser(user, path);
    } catch (error) {
      managerLog('pid-file-failed', { path, message: describeFault(error, user) });
    }
  }

  /** Removes pid files that an earlier manager left when it was killed. */
  function sweep() {
    const used = new Set([...written.values()].map(({ path }) => path));
    for (const name of namesIn(pids))
      if (name.endsWith('.pid') && !used.has(join(pids, name))) remove({ path: join(pids, name), user: null });
    for (const app of registry.desired.apps) {
      for (const { id } of app.slots) {
        const file = getFile(app.spec, id);
        const pid = app.spec.pidFile === '' || used.has(file.path) ? null : readPid(file);
        if (pid !== null && !isThere(pid)) remove(file);
      }
    }
  }

  return {
    putBack() {
      const names = new Set(namesIn(pids));
      for (const place of written.values())
        if (dirname(place.path) === pids && !names.has(basename(place.path))) write(place);
    },
    sync() {
      const ids = isFirst ? [...new Set([...registry.seats.values()].map((seat) => seat.id))] : registry.touched;
      for (const id of ids) tend(id);
      if (isFirst) sweep();
      isFirst = false;
    },
  };
}

/**
 * @param {Registry} registry
 * @param {string | null} instanceId
 */
function getPid({ instances }, instanceId) {
  const instance = instances.get(instanceId ?? '');
  return instance && !instance.exit ? instance.pid : 0;
}

/**
 * A typo in the option must not overwrite another file.
 * @param {PidFile} file
 * @returns {string | null}  Why control must not replace the file.
 */
function findFault({ path, user }) {
  const found = statAsUser(user, path, { isFollowing: false });
  if (found?.isSymbolicLink())
    return user ? 'it is a link, which the user of the app could point anywhere' : 'it is a link, but not to a file';
  const isOurs = !found || (found.isFile() && (found.size === 0 || readPid({ path, user }) !== null));
  return isOurs ? null : 'its content is not a pid';
}

/**
 * Makes a new file, because a link may be there now, or a file of root from an earlier version.
 * @param {string} path
 * @param {User} user
 * @param {string} text
 * @param {number} mode
 */
function replace(path, user, text, mode) {
  removeAsUser(user, path);
  const fd = openAsUser(user, path, MAKING, mode);
  try {
    writeSync(fd, text);
  } finally {
    closeSync(fd);
  }
}

/**
 * @param {unknown} error
 * @param {User | null} user
 */
function describeFault(error, user) {
  const { code, message } = /** @type {NodeJS.ErrnoException} */ (error);
  return user && code ? `as user ${user.uid}: ${message}` : message;
}

/**
 * @param {PidFile} file
 * @returns {number | null}  Null: the file is missing, unreadable, or not a pid file.
 */
function readPid({ path, user }) {
  let fd = null;
  try {
    // READING has O_NONBLOCK, because otherwise a named pipe without a writer would block control.
    fd = openAsUser(user, path, READING);
    const bytes = Buffer.alloc(PID_FILE_MAX_BYTES + 1);
    const length = fstatSync(fd).isFile() ? readSync(fd, bytes) : 0;
    const pid = length > PID_FILE_MAX_BYTES ? 0 : Number(bytes.toString('latin1', 0, length).trim());
    return Number.isSafeInteger(pid) && pid > 0 ? pid : null;
  } catch {
    return null;
  } finally {
    if (fd !== null) closeSync(fd);
  }
}
