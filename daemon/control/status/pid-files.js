import {
  closeSync,
  constants,
  fstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, extname, join, resolve } from 'node:path';
import { seatsOfSlot } from '../state/registry.js';

/** @import { AppSpec } from '../../../lib/shared/spec/spec.js' */
/** @import { Journal } from '../logs/manager-log.js' */
/** @import { World } from '../state/registry.js' */

/** A pid with some white space around it. */
const PID_FILE_MAX_BYTES = 64;

/**
 * Keeps in a file for each slot the pid of the instance that serves in it; without one there is no
 * file.
 * @typedef {object} PidFiles
 * @property {() => void} look  At the slots that were touched in this turn. The first time at all
 *   of them.
 */

/**
 * Where the pid of a slot is written.
 * @param {Pick<AppSpec, 'name' | 'cwd' | 'mode' | 'instancesGiven' | 'pidFile'>} spec
 * @param {number} id
 * @param {string} pids  The folder for default files.
 */
export function pidFileOf({ name, cwd, mode, instancesGiven, pidFile }, id, pids) {
  if (pidFile === '') return join(pids, `${name.replace(/[^\p{L}\p{N}._@-]/gu, '-')}-${id}.pid`);
  const path = resolve(cwd, pidFile);
  // One that has to hold several pids would hold the last one: as with log files.
  if (mode === 'fork' && !instancesGiven) return path;
  const extension = extname(path);
  return `${path.slice(0, path.length - extension.length)}-${id}${extension}`;
}

/**
 * @param {World} world
 * @param {object} o
 * @param {string} o.pids
 * @param {Journal} o.journal
 * @returns {PidFiles}
 */
export function createPidFiles(world, { pids, journal }) {
  /** What was written, by slot. @type {Map<number, { path: string, pid: number }>} */
  const written = new Map();
  /** Paths whose fault was told. @type {Set<string>} */
  const told = new Set();
  let isFirst = true;

  /** @param {number} id */
  function tend(id) {
    const before = written.get(id);
    const place = placeOf(id);
    if (before?.path === place?.path && before?.pid === place?.pid) return;
    if (before && before.path !== place?.path && readPid(before.path) === before.pid) remove(before.path);
    written.delete(id);
    if (place && write(place)) written.set(id, place);
  }

  /** @param {number} id */
  function placeOf(id) {
    const seats = seatsOfSlot(world, id).filter((seat) => pidOf(world, seat.instanceId) > 0);
    const seat =
      seats.findLast(({ life }) => life.state === 'up') ??
      seats.find(({ life }) => life.state !== 'stopping') ??
      seats[0];
    return seat?.spec ? { path: pidFileOf(seat.spec, id, pids), pid: pidOf(world, seat.instanceId) } : null;
  }

  /** @param {{ path: string, pid: number }} place */
  function write({ path, pid }) {
    try {
      mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
      if (!mayReplace(path)) throw new Error('it holds something that is no pid');
      // In the home nobody else looks; elsewhere other programs do.
      writeFileSync(path, `${pid}\n`, { mode: dirname(path) === pids ? 0o600 : 0o644 });
      told.delete(path);
      return true;
    } catch (error) {
      // Tried again whenever something happens in the slot.
      if (!told.has(path)) journal('pid-file-failed', { path, message: /** @type {Error} */ (error).message });
      told.add(path);
      return false;
    }
  }

  /** @param {string} path */
  function remove(path) {
    try {
      rmSync(path, { force: true });
    } catch (error) {
      journal('pid-file-failed', { path, message: /** @type {Error} */ (error).message });
    }
  }

  /** What an earlier manager has left: it was not there to see the end of its last instances. */
  function sweep() {
    const used = new Set([...written.values()].map(({ path }) => path));
    for (const name of namesIn(pids))
      if (name.endsWith('.pid') && !used.has(join(pids, name))) remove(join(pids, name));
    for (const app of world.desired.apps) {
      for (const { id } of app.slots) {
        const path = pidFileOf(app.spec, id, pids);
        if (app.spec.pidFile !== '' && !used.has(path) && isStale(path)) remove(path);
      }
    }
  }

  return {
    look() {
      const ids = isFirst ? [...new Set([...world.seats.values()].map((seat) => seat.id))] : world.touched;
      for (const id of ids) tend(id);
      if (isFirst) sweep();
      isFirst = false;
    },
  };
}

/**
 * @param {World} world
 * @param {string | null} instanceId
 */
function pidOf({ instances }, instanceId) {
  const instance = instances.get(instanceId ?? '');
  return instance && !instance.exit ? instance.pid : 0;
}

/**
 * One typo in an option must not cost a program.
 * @param {string} path
 */
function mayReplace(path) {
  const found = statSync(path, { throwIfNoEntry: false });
  return !found || (found.isFile() && (found.size === 0 || readPid(path) !== null));
}

/** @param {string} path */
function isStale(path) {
  const pid = readPid(path);
  if (pid === null) return false;
  try {
    process.kill(pid, 0);
    return false;
  } catch (error) {
    return /** @type {NodeJS.ErrnoException} */ (error).code === 'ESRCH';
  }
}

/**
 * @param {string} path
 * @returns {number | null}
 */
function readPid(path) {
  try {
    const pid = Number(readShort(path).trim());
    return Number.isSafeInteger(pid) && pid > 0 ? pid : null;
  } catch {
    return null; // Not there, or not ours.
  }
}

/**
 * Whatever the user has named by mistake, nothing is waited for and not more is read than a pid
 * has.
 * @param {string} path
 * @returns {string}  Empty: it holds no pid.
 */
function readShort(path) {
  // A named pipe that nobody writes to would be waited for.
  const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const found = fstatSync(fd);
    return found.isFile() && found.size <= PID_FILE_MAX_BYTES ? readFileSync(fd, 'latin1') : '';
  } finally {
    closeSync(fd);
  }
}

/** @param {string} folder */
function namesIn(folder) {
  try {
    return readdirSync(folder);
  } catch {
    return []; // No pid was ever written.
  }
}
