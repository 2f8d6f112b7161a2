// Exactly one keeper per home, with nothing but the file system and the kernel.
//
// The lock is a listening Unix socket, run/keeper.<N>.sock. Whoever can connect to it knows that
// its holder lives: no pid that may have been reused, no time-out. Numbers only ever go up:
//
//   1. listen on a private socket, so that the file is alive from the moment others can see it
//   2. look at the highest number: it accepts a connection -> somebody else is the keeper
//   3. it does not -> link(2) the private socket to highest + 1
//      link fails when the name exists -> back to 2
//   4. look again: a higher number appeared (we were slow, and numbers below it are cleared away)
//      -> take ours back, back to 2
//
// Only a dead holder is ever succeeded, death is final, and two contenders cannot create the same
// name.
import { existsSync, linkSync, mkdirSync, readdirSync, unlinkSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';

/** @import { Server } from 'node:net' */

/** Nobody listens there, or somebody did and died with us in its queue (ECONNRESET). */
const NOBODY = new Set(['ECONNREFUSED', 'ECONNRESET', 'ENOENT']);
const NAME = /^keeper\.(\d+)\.(sock|left)$/;

/**
 * @typedef {object} Claim
 * @property {true} owned
 * @property {number} epoch  The number of this keeper in the life of the home.
 * @property {Server} server  Accepts whoever connects to the lock: the door.
 * @property {() => boolean} isHeld  false when the lock was removed: the home is no longer ours,
 *   and nobody can reach us.
 * @property {() => void} leave  Gives the home back. The number stays taken.
 */

/**
 * @param {string} run  The home's `run` folder.
 * @returns {Promise<Claim | { owned: false }>}  `owned: false` when a living keeper has the home.
 *   Rejects when the folder cannot be used.
 */
export async function claimHome(run) {
  mkdirSync(run, { recursive: true, mode: 0o700 });
  const server = createServer();
  // A pid alone is not enough: in a container it is the same at each boot, and a contender may have
  // been killed here.
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
 * @returns {{ name: string, number: number, isSocket: boolean }[]}  Lock files, lowest number
 *   first.
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
 * @returns {Promise<boolean>}  Whether a process accepts connections there. Rejects when that
 *   cannot be told.
 */
function accepts(path) {
  return new Promise((resolve, reject) => {
    const socket = connect(path);
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', (/** @type {NodeJS.ErrnoException} */ error) => {
      if (NOBODY.has(error.code ?? '')) resolve(false);
      else if (error.code === 'EAGAIN')
        resolve(true); // A full backlog: only the living have one.
      else reject(error); // Out of descriptors or memory: that says nothing about the other one.
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
    // Two keepers that follow each other may clear away the same dead socket.
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
