// A home has exactly one keeper. The lock is a listening Unix socket, run/keeper.<N>.sock. If a
// process can connect to the lock, the keeper is alive. This check needs no time limit and no pid,
// which the system may have reused. The numbers only grow:
//
//   1. listen on a private socket, so that the lock accepts connections as soon as it has its name
//   2. connect to the socket with the highest number: success -> another process is the keeper
//   3. failure -> link(2) the private socket to highest + 1
//      the name exists -> back to 2
//   4. look again: a higher number exists, because this process was slow and another process has
//      removed the lower names -> remove the own name, back to 2
//
// Another program may remove the lock. Before step 3, a new keeper therefore looks for the process
// of a keeper, which then puts its lock back by the same steps (home.js).
import { linkSync, mkdirSync, readdirSync, statSync, unlinkSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { dirname, join } from 'node:path';
import { isRunning } from '../../lib/shared/daemon/home-processes.js';
import { locksAmong } from '../../lib/shared/daemon/keeper-locks.js';
import { wakeKeeper } from '../../lib/shared/daemon/keeper-process.js';
import { listenPrivately } from '../../lib/shared/daemon/listen-privately.js';

/** @import { Server, Socket } from 'node:net' */

/** No process listens. ECONNRESET: the listener exited while this connection was in the queue. */
const NOT_LISTENING = new Set(['ECONNREFUSED', 'ECONNRESET', 'ENOENT']);
const PRIVATE = /^c\.(\d+)\./;
const PIPE = /^p-(\d+)-/;

/**
 * @typedef {object} HomeClaim
 * @property {true} owned
 * @property {number} epoch
 * @property {(listener: (socket: Socket) => void) => void} onVisitor
 * @property {() => boolean} isHeld  false when the lock was removed, so that no client can connect.
 * @property {() => Promise<boolean>} restore  Binds the lock again, after it was removed. false:
 *   another keeper has the home.
 * @property {() => void} leave  Leaves a mark, so that later keepers use higher numbers.
 */

/** @typedef {{ server: Server, epoch: number, path: string, inode: number }} Lock */

/**
 * @param {string} run
 * @returns {Promise<HomeClaim | { owned: false }>}  Not owned: a living keeper has the home.
 */
export async function claimHome(run) {
  mkdirSync(run, { recursive: true, mode: 0o700 });
  const first = await take(run);
  if (!first) return { owned: false };
  let lock = first;
  /** @type {(socket: Socket) => void} */
  let onVisitor = () => {};
  const listen = () => void lock.server.on('connection', (socket) => onVisitor(socket));
  listen();
  return {
    owned: true,
    epoch: first.epoch,
    onVisitor(listener) {
      onVisitor = listener;
    },
    isHeld: () => statSync(lock.path, { throwIfNoEntry: false })?.ino === lock.inode,
    async restore() {
      makeRun(run);
      const next = await take(run);
      if (!next) return false;
      lock.server.close();
      lock = next;
      listen();
      return true;
    },
    leave: () => leave(run, lock),
  };
}

/** @param {string} run */
export function makeRun(run) {
  // Not recursive: a home that was removed must not come back.
  if (!statSync(run, { throwIfNoEntry: false })) mkdirSync(run, { mode: 0o700 });
}

/**
 * @param {string} run
 * @returns {Promise<Lock | null>}  null: a living keeper has the home.
 */
async function take(run) {
  const server = createServer();
  // Adds the time, because in a container the pid repeats at each boot, and the socket of a process
  // that was killed at this point may still exist.
  const own = join(run, `c.${process.pid}.${Date.now().toString(36).slice(-4)}`);
  await listenPrivately(server, own);
  const { ino: inode } = statSync(own);
  for (;;) {
    // Read once, before the next steps. Another keeper may get the home during these steps and
    // make pipes. If this process counted them, it would choose a number above the living lock.
    const names = readdirSync(run);
    const highest = locksAmong(names).at(-1);
    const isTaken = highest?.isSocket && (await accepts(join(run, highest.name)));
    if (isTaken || wakeKeeper(dirname(run)) !== null) {
      server.close();
      return null;
    }
    // If every lock was removed, only the pipes show which numbers were used.
    const used = names.flatMap((name) => PIPE.exec(name)?.[1] ?? []).map(Number);
    const epoch = Math.max(highest?.number ?? 0, ...used) + 1;
    const path = join(run, `keeper.${epoch}.sock`);
    if (!tryLink(own, path)) continue;
    if (locksAmong(readdirSync(run)).at(-1)?.number !== epoch) {
      unlinkIfThere(path);
      continue;
    }
    clearAway(run, epoch);
    return { server, epoch, path, inode };
  }
}

/**
 * @param {string} path
 * @returns {Promise<boolean>}  Whether a process listens. Rejects with an error that does not show
 *   this.
 */
function accepts(path) {
  return new Promise((resolve, reject) => {
    const socket = connect(path);
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', (/** @type {NodeJS.ErrnoException} */ error) => {
      if (NOT_LISTENING.has(error.code ?? '')) resolve(false);
      else if (error.code === 'EAGAIN')
        resolve(true); // The backlog is full, so a process listens.
      else reject(error); // For example, this process has no more descriptors.
    });
  });
}

/**
 * @param {string} from
 * @param {string} to
 */
function tryLink(from, to) {
  try {
    linkSync(from, to);
    return true;
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code === 'EEXIST') return false;
    throw error;
  }
}

/**
 * Removes the names of dead keepers. The private name of a living keeper stays, because
 * systemd-tmpfiles knows a living socket by the name that was bound. So it removes neither this
 * name nor the folders above.
 * @param {string} run
 * @param {number} epoch
 */
function clearAway(run, epoch) {
  const names = readdirSync(run);
  for (const { name, number } of locksAmong(names)) if (number < epoch) unlinkIfThere(join(run, name));
  for (const name of names) {
    const pid = PRIVATE.exec(name)?.[1];
    if (pid !== undefined && !isRunning(Number(pid))) unlinkIfThere(join(run, name));
  }
}

/** @param {string} path */
function unlinkIfThere(path) {
  try {
    unlinkSync(path);
  } catch (error) {
    // ENOENT: another keeper has removed the same dead socket.
    if (/** @type {NodeJS.ErrnoException} */ (error).code !== 'ENOENT') throw error;
  }
}

/**
 * @param {string} run
 * @param {Lock} lock
 */
function leave(run, { epoch, path, server }) {
  writeFileSync(join(run, `keeper.${epoch}.left`), '', { mode: 0o600 });
  unlinkIfThere(path);
  clearAway(run, epoch);
  server.close();
}
