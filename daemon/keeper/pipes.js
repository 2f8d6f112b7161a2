// The keeper holds both ends of the output pipes. So a program gets no EPIPE when control dies, and
// the kernel keeps up to 64 KiB of output for the next control. Each instance has separate pipes,
// so the lines of two instances do not mix.
import { execFile } from 'node:child_process';
import { closeSync, constants, existsSync, fchownSync, fstatSync, openSync, readSync, rmSync, statSync } from 'node:fs';
import { Socket } from 'node:net';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { namesIn } from '../../lib/shared/daemon/files.js';
import { makeUnnamedPipes, releaseUnnamedPipe } from './host/unnamed-pipes.js';
import { makeRun } from './lock.js';

/** @import { Owner } from './host/owner.js' */

const POOL_LOW = 16;
const POOL_BATCH = 64;
/** Without mkfifo(1), this many pipes take about 0.2 s. */
const UNNAMED_BATCH = 8;

/**
 * @typedef {object} Pipes
 * @property {string} outPipe
 * @property {string} errPipe
 * @property {number} outFd  Open for reading and writing; the child gets a copy.
 * @property {number} errFd
 * @property {Owner | null} owner  null: the user of the keeper.
 */

/**
 * Keeps pipes in reserve, so that a start does not wait for mkfifo(1).
 * @param {string} run
 * @param {number} epoch  Part of the names, so that pipes of an earlier keeper are never reused.
 */
export function createPipePool(run, epoch) {
  /** @type {string[]} */
  const free = [];
  let made = 0;
  /** @type {Promise<void> | null} */
  let filling = null;

  const fill = () => {
    filling ??= makeFifos(nextNames(), run)
      .then((paths) => void free.push(...paths))
      .finally(() => {
        filling = null;
      });
    return filling;
  };
  const nextNames = () => Array.from({ length: POOL_BATCH }, () => join(run, `p-${epoch}-${(made += 1)}`));
  const take = async (/** @type {number} */ count) => {
    /** @type {string[]} */
    const paths = [];
    while (paths.length < count) {
      if (free.length === 0) await fill();
      for (const path of free.splice(0, count - paths.length)) {
        if (existsSync(path)) paths.push(path);
        else removePipe(path); // Another program has removed the name.
      }
    }
    // Ignores an error. If the pool is empty, the next start fills the pool and gets the error.
    if (free.length < POOL_LOW) fill().catch(() => {});
    return paths;
  };

  return {
    fill,
    /**
     * @param {Owner | null} owner  Gets the pipes, so that the program can open /dev/stdout.
     * @returns {Promise<Pipes>}
     */
    async acquire(owner) {
      const [outPipe, errPipe] = await take(2);
      const outFd = openBoth(outPipe, owner);
      try {
        return { outPipe, errPipe, outFd, errFd: openBoth(errPipe, owner), owner };
      } catch (error) {
        closeSync(outFd);
        throw error;
      }
    },
    /** @returns {Promise<string>} */
    async takeOne() {
      const [path] = await take(1);
      return path;
    },
    /**
     * Uses the pipes again if they are free. Removes a pipe that another user owned, because this
     * user may still open the pipe.
     * @param {Pipes} pipes  Control has read both pipes to the end.
     */
    giveBack({ outPipe, errPipe, outFd, errFd, owner }) {
      closeSync(outFd);
      closeSync(errFd);
      for (const path of [outPipe, errPipe]) {
        if (owner === null && isFree(path)) free.push(path);
        else removePipe(path);
      }
    },
    /** @param {(string | null)[]} paths */
    remove(paths) {
      // The other paths lead to the descriptor of a process.
      for (const path of paths) if (path !== null && dirname(path) === run) removePipe(path);
    },
    /**
     * Removes the pipes of earlier keepers.
     * @param {Set<string | null>} inUse  Pipes that stay, because control opens pipes by name.
     */
    clearAway(inUse) {
      for (const name of namesIn(run)) {
        const path = join(run, name);
        if (name.startsWith('p-') && !name.startsWith(`p-${epoch}-`) && !inUse.has(path)) removePipe(path);
      }
    },
    async removeAll() {
      await filling?.catch(() => {}); // mkfifo(1) would make pipes after the removal.
      for (const name of namesIn(run)) if (name.startsWith('p-')) removePipe(join(run, name));
    },
  };
}

/**
 * @param {string} path
 * @param {number} fd  The pipe that had this path.
 * @returns {string}  A path by which control can open the pipe, also if its name was removed.
 */
export function pathTo(path, fd) {
  const [ours, named] = [fstatSync(fd), statSync(path, { throwIfNoEntry: false })];
  return ours.ino === named?.ino && ours.dev === named.dev ? path : `/proc/${process.pid}/fd/${fd}`;
}

/**
 * Opens both ends at once, so that open(2) does not wait, and a reader never sees the end of the
 * file. Uses blocking mode, because shells and Python do not expect EAGAIN from standard output.
 * @param {string} path
 * @param {Owner | null} owner
 */
function openBoth(path, owner) {
  const fd = openSync(path, constants.O_RDWR);
  try {
    if (owner) fchownSync(fd, owner.uid, owner.gid);
    return fd;
  } catch (error) {
    closeSync(fd);
    throw error;
  }
}

/**
 * Whether the pipe has no writer and no data. May lose unread bytes.
 * @param {string} path
 */
function isFree(path) {
  try {
    const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      return readSync(fd, Buffer.alloc(1)) === 0;
    } finally {
      closeSync(fd);
    }
  } catch {
    // EAGAIN: there is a writer. ENOENT: the pipe was removed.
    return false;
  }
}

/** @param {string} path */
function removePipe(path) {
  releaseUnnamedPipe(path);
  rmSync(path, { force: true });
}

/**
 * @param {string[]} paths
 * @param {string} run
 * @returns {Promise<string[]>}  The new pipes: without mkfifo(1), only some of the paths.
 */
async function makeFifos(paths, run) {
  const env = { PATH: process.env.PATH, NCLUST_HOME: dirname(run) };
  makeRun(run);
  try {
    await mkfifo(paths, env);
    return paths;
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code !== 'ENOENT') throw error;
  }
  const few = paths.slice(0, UNNAMED_BATCH);
  try {
    await makeUnnamedPipes(few, env);
    return few;
  } catch (error) {
    throw new Error(
      `there is no program mkfifo in PATH, and nclust could not make pipes without it ` +
        `(${/** @type {Error} */ (error).message}); install coreutils or busybox`,
      { cause: error },
    );
  }
}

/**
 * Runs mkfifo(1), because Node.js has no mkfifo(3).
 * @param {string[]} paths
 * @param {NodeJS.ProcessEnv} env
 * @returns {Promise<void>}
 */
async function mkfifo(paths, env) {
  await promisify(execFile)('mkfifo', ['-m', '600', ...paths], { env }).catch((error) => {
    // A text is the code of a system error.
    const { code, stderr } = error;
    throw typeof code === 'string' ? error : new Error(`mkfifo: ${stderr.trim() || `exit code ${code}`}`);
  });
}

/**
 * @typedef {object} OneWay
 * @property {number} fd  For the program.
 * @property {() => Socket} given  Call it when the program has `fd`. Returns the other end.
 * @property {() => void} close
 */

/**
 * Uses a named pipe, because bash assumes ssh and reads ~/.bashrc if standard input is a socket.
 * The program gets a read-only end, because with a writable end it would never see EOF.
 * @param {string} path  A pipe that no process has open. This call removes the name.
 * @param {Owner | null} owner
 */
export function openInput(path, owner) {
  return openOneWay(path, owner, { own: constants.O_WRONLY, given: constants.O_RDONLY });
}

/**
 * A pipe for what a program writes. It cannot carry descriptors.
 * @param {string} path  A pipe that no process has open. This call removes the name.
 * @param {Owner | null} owner
 */
export function openLane(path, owner) {
  return openOneWay(path, owner, { own: constants.O_RDONLY, given: constants.O_WRONLY });
}

/**
 * @param {string} path
 * @param {Owner | null} owner
 * @param {{ own: number, given: number }} flags
 * @returns {OneWay}
 */
function openOneWay(path, owner, flags) {
  /** @type {number[]} */
  const open = [];
  const keep = (/** @type {number} */ fd) => {
    open.push(fd);
    return fd;
  };
  const close = () => open.splice(0).forEach((fd) => closeSync(fd));
  try {
    // Because of `both`, the next two calls do not wait.
    const both = keep(openBoth(path, owner));
    const fd = keep(openSync(path, flags.given));
    const end = keep(openSync(path, flags.own | constants.O_NONBLOCK));
    closeSync(both);
    open.shift();
    return {
      fd,
      close,
      given() {
        closeSync(fd);
        open.length = 0;
        const isReader = flags.own === constants.O_RDONLY;
        // Ignores the error: the program has closed its end or has exited.
        return new Socket({ fd: end, readable: isReader, writable: !isReader, ...MANUAL }).on('error', () => {});
      },
    };
  } catch (error) {
    close();
    throw error;
  } finally {
    removePipe(path);
  }
}

/** The socket does not read before its user calls read(). The types of Node.js lack this option. */
const MANUAL = { manualStart: true };
