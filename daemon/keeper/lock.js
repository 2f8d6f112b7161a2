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
import { existsSync, linkSync, mkdirSync, readdirSync, unlinkSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';

/** @import { Server } from 'node:net' */

/** No process listens. ECONNRESET: the listener exited while this connection was in the queue. */
const NOT_LISTENING = new Set(['ECONNREFUSED', 'ECONNRESET', 'ENOENT']);
const NAME = /^keeper\.(\d+)\.(sock|left)$/;

/**
 * @typedef {object} HomeClaim
 * @property {true} owned
 * @property {number} epoch
 * @property {Server} server
 * @property {() => boolean} isHeld  false when the lock was removed, so that no client can connect.
 * @property {() => void} leave  Leaves a mark, so that later keepers use higher numbers.
 */

/**
 * @param {string} run
 * @returns {Promise<HomeClaim | { owned: false }>}  Not owned: a living keeper has the home.
 */
export async function claimHome(run) {
  mkdirSync(run, { recursive: true, mode: 0o700 });
  const server = createServer();
  // Adds the time, because in a container the pid repeats at each boot, and the socket of a process
  // that was killed at this point may still exist.
  const own = join(run, `c.${process.pid}.${Date.now().toString(36).slice(-4)}`);
  await listenPrivately(server, own);
  for (;;) {
    const highest = entries(run).at(-1);
    if (highest?.isSocket && (await accepts(join(run, highest.name)))) {
      server.close();
      return { owned: false };
    }
    const epoch = (highest?.number ?? 0) + 1;
    const path = join(run, `keeper.${epoch}.sock`);
    if (!tryLink(own, path)) continue;
    if (entries(run).at(-1)?.number !== epoch) {
      unlinkIfThere(path);
      continue;
    }
    clearAway(run, epoch);
    unlinkSync(own);
    return { owned: true, epoch, server, isHeld: () => existsSync(path), leave: () => leave(run, epoch, server) };
  }
}

/**
 * @param {string} run
 * @returns {{ name: string, number: number, isSocket: boolean }[]}
 */
function entries(run) {
  return readdirSync(run)
    .map((name) => ({ name, match: NAME.exec(name) }))
    .flatMap(({ name, match }) => (match ? [{ name, number: Number(match[1]), isSocket: match[2] === 'sock' }] : []))
    .sort((a, b) => a.number - b.number || Number(b.isSocket) - Number(a.isSocket));
}

/**
 * @param {Server} server
 * @param {string} path
 */
function listenPrivately(server, path) {
  const mask = process.umask(0o177);
  const listening = /** @type {Promise<void>} */ (
    new Promise((resolve, reject) => {
      server.once('error', reject);
      server.listen(path, () => resolve());
    })
  );
  return listening.finally(() => process.umask(mask));
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
 * @param {string} run
 * @param {number} epoch
 */
function clearAway(run, epoch) {
  for (const { name, number } of entries(run)) if (number < epoch) unlinkIfThere(join(run, name));
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
 * @param {number} epoch
 * @param {Server} server
 */
function leave(run, epoch, server) {
  writeFileSync(join(run, `keeper.${epoch}.left`), '', { mode: 0o600 });
  unlinkIfThere(join(run, `keeper.${epoch}.sock`));
  server.close();
}
