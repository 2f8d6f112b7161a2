import { statSync } from 'node:fs';
import { faultOfHome } from '../shared/daemon/home-folders.js';
import { NclustError } from '../shared/errors.js';
import { homePaths } from '../shared/paths.js';
import { knock } from './try-connect.js';

/** @import { Socket } from 'node:net' */
/** @import { HomePaths } from '../shared/paths.js' */

/**
 * From the first attempt until the manager has to be reachable. Fifty first commands on two slow
 * cores have taken 9 s.
 */
const LAUNCH_DEADLINE_MS = 20_000;

/** How long a read-only command waits for a control that a living keeper is starting again. */
const RETURN_DEADLINE_MS = 5_000;

/** Between two looks when the facts contradict each other for a moment and no event will tell. */
const PAUSE_MS = 20;

/**
 * A connection to control; starts the keeper when the home has none. Concurrent callers agree on
 * one keeper, because its lock decides.
 *
 *     nclust.sock answers? ---------------------------> done
 *       | no
 *     a keeper behind the highest door? --yes--> wait for "control-ready", look again
 *       | no
 *     spawn one: "ok" -> look again, "held" (another was quicker) -> look again, "error" -> throw
 *
 * @param {string} home  Absolute. Created when missing.
 * @param {AbortSignal} [given]  Ends the attempt; the promise rejects with its reason.
 * @returns {Promise<Socket>}  The caller closes it. Throws ERR_NCLUST_DAEMON_UNREACHABLE and what
 *   checkHome throws.
 */
export async function connectOrLaunch(home, given) {
  const { checkHome } = await import('./check-home.js');
  checkHome(home);
  const paths = homePaths(home);
  const { signal, release } = createDeadline(LAUNCH_DEADLINE_MS, given);
  /** @type {string | null} */
  let failure = null;
  try {
    for (;;) {
      const socket = await knock(paths.sock, signal);
      if (socket && socket !== 'busy') return socket;
      const door = socket ?? (await keeperOf(paths.run, signal));
      if (door === 'busy') await pause();
      else if (door)
        await waitAtDoor(door, signal, (reason) => {
          failure = reason;
        });
      else await launch(paths, signal);
    }
  } catch (error) {
    if (!signal.aborted || given?.aborted) throw error;
    throw await unreachable(paths, failure, LAUNCH_DEADLINE_MS);
  } finally {
    release();
  }
}

/**
 * A connection to control, if there is one; starts nothing and creates nothing. Where a living
 * keeper is about to bring control back, it is waited for.
 * @param {string} home  Absolute.
 * @param {AbortSignal} [given]  Ends the attempt; the promise rejects with its reason.
 * @returns {Promise<Socket | null>}  Null when no manager runs. The caller closes it. Throws
 *   ERR_NCLUST_DAEMON_UNREACHABLE and ERR_NCLUST_HOME_EXPOSED.
 */
export async function connectOnly(home, given) {
  if (!checkWayTo(home)) return null;
  const paths = homePaths(home);
  const { signal, release } = createDeadline(RETURN_DEADLINE_MS, given);
  /** @type {string | null} */
  let failure = null;
  try {
    for (;;) {
      const socket = await knock(paths.sock, signal);
      if (socket && socket !== 'busy') return socket;
      const door = socket ?? (await keeperOf(paths.run, signal));
      if (!door) return null;
      if (door === 'busy') await pause();
      else
        await waitAtDoor(door, signal, (reason) => {
          failure = reason;
        });
    }
  } catch (error) {
    if (!signal.aborted || given?.aborted) throw error;
    throw await unreachable(paths, failure, RETURN_DEADLINE_MS);
  } finally {
    release();
  }
}

/**
 * A user who can exchange the home could listen at the socket in it, and would get what the command
 * sends, such as the variables of the shell. Root may connect to the manager of another user.
 * @param {string} home
 * @returns {boolean}  False: another user could exchange the home, but there is none. Throws
 *   ERR_NCLUST_HOME_EXPOSED.
 */
function checkWayTo(home) {
  const own = process.geteuid?.() ?? 0;
  const owner = ownerOf(home, own);
  const fault = faultOfHome(home, { uid: own === 0 ? (owner ?? own) : own });
  if (fault && owner !== null) throw new NclustError('ERR_NCLUST_HOME_EXPOSED', fault.message, fault);
  return fault === null;
}

/**
 * @param {string} home
 * @param {number} own
 * @returns {number | null}  Null: there is no home.
 */
function ownerOf(home, own) {
  try {
    return statSync(home, { throwIfNoEntry: false })?.uid ?? null;
  } catch {
    return own; // Below a folder that we may not enter.
  }
}

/**
 * Imported here and not above, because a command does not need it if control answers at once.
 * @param {string} run
 * @param {AbortSignal} signal
 */
async function keeperOf(run, signal) {
  const { findKeeper } = await import('./keeper-socket.js');
  return findKeeper(run, signal);
}

/**
 * @param {Socket} door
 * @param {AbortSignal} signal
 * @param {(reason: string) => void} onFailure
 */
async function waitAtDoor(door, signal, onFailure) {
  const { waitForControl } = await import('./keeper-socket.js');
  const startedMono = performance.now();
  await waitForControl(door, signal, onFailure);
  // Ready at once, and yet its socket did not answer just now: it is dying, or somebody removed the
  // socket. Not a loop to spin in.
  if (performance.now() - startedMono < PAUSE_MS) await pause();
}

/**
 * @param {HomePaths} paths
 * @param {AbortSignal} signal
 */
async function launch(paths, signal) {
  const { spawnKeeper } = await import('./spawn-keeper.js');
  await spawnKeeper(paths, signal);
}

/**
 * @param {HomePaths} paths
 * @param {string | null} failure
 * @param {number} waitedMs
 */
async function unreachable(paths, failure, waitedMs) {
  const { readTail } = await import('./spawn-keeper.js');
  const why = failure ?? 'no reason was given';
  return new NclustError(
    'ERR_NCLUST_DAEMON_UNREACHABLE',
    `The manager of "${paths.home}" did not answer within ${waitedMs / 1_000}s: ${why}.`,
    {
      hint: `The whole log is in ${paths.daemonLog}`,
      data: { lastLines: readTail(paths.daemonLog) },
    },
  );
}

/** @returns {Promise<void>} */
function pause() {
  return new Promise((resolve) => {
    setTimeout(resolve, PAUSE_MS);
  });
}

/**
 * A deadline as a signal. (On Node 20, `AbortSignal.any` of a timeout can be collected as garbage
 * before it fires.)
 * @param {number} ms  From now on. It does not keep the process alive.
 * @param {AbortSignal} [signal]  Aborts it earlier, with its own reason.
 * @returns {{ signal: AbortSignal, release: () => void }}  The caller releases it.
 */
function createDeadline(ms, signal) {
  const over = new AbortController();
  const timer = setTimeout(() => over.abort(), ms).unref();
  const onAbort = () => over.abort(signal?.reason);
  signal?.addEventListener('abort', onAbort, { once: true });
  if (signal?.aborted) onAbort();
  return {
    signal: over.signal,
    release() {
      clearTimeout(timer);
      signal?.removeEventListener('abort', onAbort);
    },
  };
}
