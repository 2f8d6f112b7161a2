import { existsSync, statSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { tryTo } from '../shared/daemon/files.js';
import { findHomeFault } from '../shared/daemon/home-folders.js';
import { NclustError } from '../shared/errors.js';
import { homePaths } from '../shared/paths.js';
import { shellQuote } from '../shared/shell-quote.js';
import { tryConnect } from './try-connect.js';

/** @import { Socket } from 'node:net' */
/** @import { HomePaths } from '../shared/paths.js' */

/**
 * Time limit from the first attempt until the manager answers, in ms. On two slow cores, fifty
 * commands took 9 s when they started the manager at the same time.
 */
const LAUNCH_DEADLINE_MS = 20_000;

/** Time limit for connectOnly(), which waits while the keeper restarts control, in ms. */
const RETURN_DEADLINE_MS = 5_000;

/** Pause before the next attempt if no event will report a change, in ms. */
const PAUSE_MS = 20;

/**
 * Connects to control; starts the keeper if the home has none. Concurrent callers get the same
 * keeper, because only one keeper can hold the lock of the home.
 *
 *     nclust.sock answers? ---------------------------> done
 *       | no
 *     a keeper behind the highest socket? --yes--> wait for "control-ready", try again
 *       | no
 *     start a keeper: "ok" -> try again, "held" (another keeper was quicker) -> try again,
 *                     "error" -> throw
 * @param {string} home  Absolute. Created if missing.
 * @param {AbortSignal} [callerSignal]
 * @returns {Promise<Socket>}  The caller closes the socket.
 */
export async function connectOrLaunch(home, callerSignal) {
  const { checkHome } = await import('./check-home.js');
  checkHome(home);
  const socket = await reachControl(home, LAUNCH_DEADLINE_MS, callerSignal, async (paths, signal) => {
    const { spawnKeeper } = await import('./spawn-keeper.js');
    await spawnKeeper(paths, signal);
    return true;
  });
  return /** @type {Socket} */ (socket);
}

/**
 * Connects to control if there is one; starts and creates nothing. If a keeper is about to restart
 * control, waits for that.
 * @param {string} home
 * @param {AbortSignal} [callerSignal]
 * @returns {Promise<Socket | null>}  Null if no manager runs. The caller closes the socket.
 */
export async function connectOnly(home, callerSignal) {
  if (!checkHomeOwner(home)) return null;
  return reachControl(home, RETURN_DEADLINE_MS, callerSignal, async () => {
    if (!existsSync(home)) await refuseRemoved(home);
    return false;
  });
}

/**
 * @param {string} home
 * @param {number} deadlineMs
 * @param {AbortSignal | undefined} callerSignal
 * @param {(paths: HomePaths, signal: AbortSignal) => Promise<boolean>} onNoKeeper  False: gives up.
 */
async function reachControl(home, deadlineMs, callerSignal, onNoKeeper) {
  const paths = homePaths(home);
  const { signal, release } = createDeadline(deadlineMs, callerSignal);
  /** @type {Reason} */
  const reason = { text: null };
  try {
    for (;;) {
      const socket = await tryConnect(paths.sock, signal);
      if (socket && socket !== 'busy') return socket;
      const keeper = socket ?? (await findKeeper(paths.run, signal));
      if (keeper) await waitForKeeper(keeper, signal, reason);
      else if (!(await onNoKeeper(paths, signal))) return null;
    }
  } catch (error) {
    if (!signal.aborted || callerSignal?.aborted) throw error;
    throw await unreachable(paths, reason, deadlineMs);
  } finally {
    release();
  }
}

/**
 * Throws ERR_NCLUST_HOME_EXPOSED if another user can replace the home. That user could listen at
 * its socket, and would get what the command sends, such as the variables of the shell. Root may
 * connect to the manager of another user.
 * @param {string} home
 * @returns {boolean}  False: there is no home, and another user could put one there.
 */
function checkHomeOwner(home) {
  const own = process.geteuid?.() ?? 0;
  // statSync() throws if this user may not enter the folder of the home.
  const owner = tryTo(() => statSync(home, { throwIfNoEntry: false })?.uid ?? null, own);
  const fault = findHomeFault(home, { uid: own === 0 ? (owner ?? own) : own });
  if (fault && owner !== null) throw new NclustError('ERR_NCLUST_HOME_EXPOSED', fault.message, fault);
  return fault === null;
}

/**
 * Imports keeper-socket.js on demand, because a command needs it only if control does not answer.
 * @param {string} run
 * @param {AbortSignal} signal
 */
async function findKeeper(run, signal) {
  const { findKeeper } = await import('./keeper-socket.js');
  return findKeeper(run, signal);
}

/** @typedef {{ text: string | null }} Reason  Why control does not answer. Null: not known. */

const SILENT = 'its keeper does not answer';

/**
 * @param {Socket | 'busy'} keeper
 * @param {AbortSignal} signal
 * @param {Reason} reason
 */
async function waitForKeeper(keeper, signal, reason) {
  reason.text ??= SILENT;
  if (keeper === 'busy') return pause(PAUSE_MS);
  const { waitForControl } = await import('./keeper-socket.js');
  const startedMono = performance.now();
  await waitForControl(keeper, signal, {
    answer() {
      if (reason.text === SILENT) reason.text = null;
    },
    failure(text) {
      reason.text = text;
    },
  });
  // If the keeper reports at once that control is ready, although the socket of control did not
  // answer, then control is exiting, or its socket was removed. A pause avoids a busy loop.
  if (performance.now() - startedMono < PAUSE_MS) await pause(PAUSE_MS);
}

/**
 * @param {HomePaths} paths
 * @param {Reason} reason
 * @param {number} waitedMs
 */
async function unreachable(paths, { text }, waitedMs) {
  const { readTail } = await import('./spawn-keeper.js');
  const pids = await nameManager(paths.home);
  const why = text ?? 'it reported no reason';
  return new NclustError(
    'ERR_NCLUST_DAEMON_UNREACHABLE',
    `The manager of "${paths.home}" did not answer within ${waitedMs / 1_000}s: ` +
      `${why}${pids === '' ? '' : ` (${pids})`}.`,
    {
      hint:
        text === SILENT
          ? `The apps keep running. End the manager with "kill -9" and its pids, then run: nclust resurrect`
          : `The whole log is in ${paths.daemonLog}`,
      data: { lastLines: readTail(paths.daemonLog) },
    },
  );
}

/**
 * Throws ERR_NCLUST_DAEMON_UNREACHABLE if the keeper of a home that was removed still runs.
 * @param {string} home
 */
async function refuseRemoved(home) {
  const pids = await nameManager(home);
  if (pids === '') return;
  throw new NclustError(
    'ERR_NCLUST_DAEMON_UNREACHABLE',
    `The folder "${home}" was removed, so its manager (${pids}) ends its apps within seconds.`,
    {
      hint:
        'To end them now: nclust kill. To keep them, make the folder again at once: ' +
        `mkdir -m 700 ${shellQuote(home)}`,
    },
  );
}

/**
 * @param {string} home
 * @returns {Promise<string>}  "keeper 12, control 34". Empty: no process was found.
 */
async function nameManager(home) {
  const { findManagerProcesses } = await import('../shared/daemon/keeper-process.js');
  return findManagerProcesses(home)
    .map(({ pid, role }) => `${role} ${pid}`)
    .join(', ');
}

/**
 * Does not use `AbortSignal.any`, because Node.js 20 may garbage-collect its timeout too early.
 * @param {number} ms  From now on. The timer does not keep the process alive.
 * @param {AbortSignal} [signal]  Its abort ends the time limit early, with the same reason.
 * @returns {{ signal: AbortSignal, release: () => void }}  The caller calls release().
 */
export function createDeadline(ms, signal) {
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
