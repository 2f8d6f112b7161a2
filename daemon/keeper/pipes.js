// The named pipes that programs write to. The keeper holds both ends open, so nobody gets EPIPE
// when control dies, and what was written stays in the kernel (64 KiB) until the next control reads
// it. Each instance has two of its own: lines of different instances cannot mix, and a death record
// gets the right last lines.
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
 * @property {Owner | null} owner  null: that of the keeper.
 */

/**
 * Keeps named pipes ready: mkfifo(1) costs a process, which a start should not wait for.
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
    // A failed fill is not lost: the next one who finds the pool empty runs it again and gets the
    // error.
    if (free.length < POOL_LOW) fill().catch(() => {});
    return paths;
  };

  return {
    fill,
    /**
     * @param {Owner | null} owner  Of the program that writes to them. It may open them by the names
     *   /dev/stdout and /dev/stderr.
     * @returns {Promise<Pipes>}  Open. `giveBack` closes them.
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
    /** @returns {Promise<string>}  Of a pipe that is the caller's alone. */
    async takeOne() {
      const [path] = await take(1);
      return path;
    },
    /**
     * Another user may open a pipe again at any time, so no other app gets it.
     * @param {Pipes} pipes  Read to the end by control.
     */
    giveBack({ outPipe, errPipe, outFd, errFd, owner }) {
      closeSync(outFd);
      closeSync(errFd);
      for (const path of [outPipe, errPipe]) {
        if (owner === null && isFree(path)) free.push(path);
        else removePipe(path);
      }
    },
    /** @param {(string | null)[]} paths  Of an adopted process that is gone. */
    remove(paths) {
      for (const path of paths) if (path !== null) removePipe(path);
    },
    /**
     * Removes what earlier keepers left. An unread pipe that is in use must stay: control opens it
     * by its name.
     * @param {Set<string | null>} inUse
     */
    clearAway(inUse) {
      for (const name of readdirSync(run)) {
        const path = join(run, name);
        if (name.startsWith('p-') && !name.startsWith(`p-${epoch}-`) && !inUse.has(path)) removePipe(path);
      }
    },
    /** The keeper leaves: nothing of its pipes stays behind. */
    removeAll() {
      for (const name of readdirSync(run)) if (name.startsWith('p-')) removePipe(join(run, name));
    },
  };
}

/**
 * Opened for both directions a FIFO never blocks in open(2), and its reader never sees the end of
 * the file. It must be in blocking mode: shells and Python do not expect EAGAIN from their standard
 * output.
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
 * @param {string} path  Of a pipe whose unread bytes nobody will miss.
 * @returns {boolean}  Whether no process has it open for writing any more, so that the next one has
 *   it for itself.
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
    // EAGAIN: a writer. ENOENT: somebody has removed it.
    return false;
  }
}

/** @param {string} path */
function removePipe(path) {
  rmSync(path, { force: true });
}

/**
 * @param {string[]} paths
 * @param {string} home  Whose process it is, for people who look.
 * @returns {Promise<string[]>}
 */
function makeFifos(paths, home) {
  return new Promise((resolve, reject) => {
    // Node has no mkfifo(3); the command is in POSIX.
    const child = spawn('mkfifo', ['-m', '600', ...paths], {
      env: { PATH: process.env.PATH, NCLUST_HOME: home },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    let said = '';
    child.stderr.setEncoding('utf8').on('data', (text) => {
      said += text;
    });
    child.once('error', reject);
    child.once('close', (code) =>
      code === 0 ? resolve(paths) : reject(new Error(`mkfifo: ${said.trim() || `exit code ${code}`}`)),
    );
  });
}

// The standard input of a program: a pipe whose other end the keeper holds. When it dies, the
// program sees the end of the file, as when a shell goes.

/**
 * @typedef {object} Input
 * @property {number} fd  For the program. `given` closes it here.
 * @property {() => Socket} given  The program has its copy. What is written into the socket waits
 *   for it to be read; the caller destroys it.
 * @property {() => void} close  There is no program after all.
 */

/**
 * Node gives its children a socket for a pipe, and a bash whose standard input is a socket believes
 * that it was started by ssh and reads ~/.bashrc.
 * @param {string} path  Of a named pipe that nobody has open. Its name is removed.
 * @param {Owner | null} owner  Of the program.
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
    // With both ends open nothing below has to wait. The program's is in blocking mode, and it must
    // not be able to write: it would wait for itself.
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
        // A program that has closed its end, or has ended: the next line for it is refused.
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
