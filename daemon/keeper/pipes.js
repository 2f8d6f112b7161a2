// The keeper holds both ends of the output pipes. So a program gets no EPIPE when control dies, and
// the kernel keeps 64 KiB for the next one. Instances share no pipe, so their lines do not mix.
import { spawn } from 'node:child_process';
import { closeSync, constants, fchownSync, openSync, readdirSync, readSync, rmSync } from 'node:fs';
import { Socket } from 'node:net';
import { dirname, join } from 'node:path';

/** @import { Owner } from './host/owner.js' */

const POOL_LOW = 16;
const POOL_BATCH = 64;

/**
 * @typedef {object} Pipes
 * @property {string} outPipe
 * @property {string} errPipe
 * @property {number} outFd  Open for reading and writing; the child gets a copy.
 * @property {number} errFd
 * @property {Owner | null} owner  null: the keeper.
 */

/**
 * A start should not wait for the process of mkfifo(1).
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
    filling ??= makeFifos(nextNames(), dirname(run))
      .then((paths) => void free.push(...paths))
      .finally(() => {
        filling = null;
      });
    return filling;
  };
  const nextNames = () => Array.from({ length: POOL_BATCH }, () => join(run, `p-${epoch}-${(made += 1)}`));
  const take = async (/** @type {number} */ count) => {
    while (free.length < count) await fill();
    const paths = free.splice(0, count);
    // When the pool is empty, the next start fills it again and gets the error.
    if (free.length < POOL_LOW) fill().catch(() => {});
    return paths;
  };

  return {
    fill,
    /**
     * @param {Owner | null} owner  The user of the program, who may open /dev/stdout.
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
     * Not kept if another user owned the pipe, because that user may still open it.
     * @param {Pipes} pipes  Control has read them to the end.
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
      for (const path of paths) if (path !== null) removePipe(path);
    },
    /**
     * Removes the pipes of earlier keepers.
     * @param {Set<string | null>} inUse  These stay, because control opens them by name.
     */
    clearAway(inUse) {
      for (const name of readdirSync(run)) {
        const path = join(run, name);
        if (name.startsWith('p-') && !name.startsWith(`p-${epoch}-`) && !inUse.has(path)) removePipe(path);
      }
    },
    removeAll() {
      for (const name of readdirSync(run)) if (name.startsWith('p-')) removePipe(join(run, name));
    },
  };
}

/**
 * With both ends, open(2) does not wait, and a reader never sees the end of the file. In blocking
 * mode, because shells and Python do not expect EAGAIN from their standard output.
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
 * Unread bytes are lost.
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
  rmSync(path, { force: true });
}

/**
 * @param {string[]} paths
 * @param {string} home
 * @returns {Promise<string[]>}
 */
function makeFifos(paths, home) {
  return new Promise((resolve, reject) => {
    // Node.js has no mkfifo(3).
    const child = spawn('mkfifo', ['-m', '600', ...paths], {
      env: { PATH: process.env.PATH, NCLUST_HOME: home },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    let errorText = '';
    child.stderr.setEncoding('utf8').on('data', (text) => {
      errorText += text;
    });
    child.once('error', reject);
    child.once('close', (code) =>
      code === 0 ? resolve(paths) : reject(new Error(`mkfifo: ${errorText.trim() || `exit code ${code}`}`)),
    );
  });
}

/**
 * @typedef {object} Input
 * @property {number} fd
 * @property {() => Socket} given  Call it when the program has `fd`. Returns the other end.
 * @property {() => void} close
 */

/**
 * A named pipe, because bash with a socket as standard input assumes ssh, and reads ~/.bashrc.
 * @param {string} path  No process has it open. Its name is removed.
 * @param {Owner | null} owner
 * @returns {Input}
 */
export function openInput(path, owner) {
  /** @type {number[]} */
  const open = [];
  const keep = (/** @type {number} */ fd) => {
    open.push(fd);
    return fd;
  };
  const close = () => open.splice(0).forEach((fd) => closeSync(fd));
  try {
    // `both` keeps the next opens from waiting. With a writable end the program would see no EOF.
    const both = keep(openBoth(path, owner));
    const fd = keep(openSync(path, constants.O_RDONLY));
    const end = keep(openSync(path, constants.O_WRONLY | constants.O_NONBLOCK));
    closeSync(both);
    open.shift();
    return {
      fd,
      close,
      given() {
        closeSync(fd);
        open.length = 0;
        // The program has closed its end or has exited.
        return new Socket({ fd: end, readable: false, writable: true }).on('error', () => {});
      },
    };
  } catch (error) {
    close();
    throw error;
  } finally {
    rmSync(path, { force: true });
  }
}
