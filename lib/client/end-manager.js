import { existsSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { isRunning } from '../shared/daemon/home-processes.js';
import { findManagerProcesses } from '../shared/daemon/keeper-process.js';
import { withDeadline } from '../shared/deadline.js';
import { NclustError } from '../shared/errors.js';
import { homePaths } from '../shared/paths.js';
import { newToken, openClient } from './client.js';
import { connectOnly, connectOrLaunch, createDeadline } from './connect.js';
import { waitUntilLeft } from './keeper-socket.js';
import { countSavedApps } from './not-running.js';

/** @import { Client } from './client.js' */

/** Time limit for each wait for the exit of the manager after its answer to `kill`, in ms. */
const END_DEADLINE_MS = 10_000;

/**
 * A manager that dies this often before it has ended the apps probably dies because of the request.
 */
const MAX_TRIES = 3;

/**
 * Ends every app, then the manager, over a connection that does not start it again.
 * @param {string} home
 * @param {object} [o]
 * @param {AbortSignal} [o.signal]
 * @param {typeof openClient} [o.open]
 * @returns {Promise<{ wasRunning: boolean }>}  Resolves when keeper and control are gone.
 */
export async function endManager(home, { signal, open = openClient } = {}) {
  if (await endWithoutFolder(home)) return { wasRunning: true };
  const reach = (/** @type {AbortSignal | undefined} */ one) => connectOnly(home, one);
  const openRunning = () => unlessLost(open(reach, reach, { signal }));
  return endingSilent(home, async (hasEnded) => {
    /** @type {number[]} */
    let pids = [];
    for (let tried = 0; tried < MAX_TRIES; tried += 1) {
      let client = await openRunning();
      // Starts a manager if apps are saved: the apps may have outlived a manager that died, and
      // only a manager finds and ends them.
      if (!client && (hasEnded || countSavedApps(home) > 0)) {
        // Opens another connection, because this one would start the manager again after its end.
        (await connectOrLaunch(home, signal)).destroy();
        client = await openRunning();
      }
      if (!client) {
        await waitForEnd(pids, END_DEADLINE_MS);
        return { wasRunning: tried > 0 };
      }
      pids = managerPids(client);
      if (await tryKill(client, signal)) {
        await waitUntilGone(home, pids, signal);
        return { wasRunning: true };
      }
    }
    throw new NclustError(
      'ERR_NCLUST_CONNECTION_LOST',
      `The manager exited ${MAX_TRIES} times before it had stopped every app.`,
      { hint: 'Its log is nclust.log in the home.' },
    );
  });
}

/**
 * Ends a manager whose home was removed, so that no command can connect to it.
 * @param {string} home
 * @returns {Promise<boolean>}  Resolves when its apps and the manager have exited.
 */
async function endWithoutFolder(home) {
  const running = existsSync(home) ? [] : findManagerProcesses(home);
  // At SIGTERM, the keeper ends the apps first. Each app may take its `kill_timeout`.
  for (const { pid, role } of running) if (role === 'keeper' && isRunning(pid)) process.kill(pid, 'SIGTERM');
  await waitForEnd(
    running.map(({ pid }) => pid),
    Infinity,
  );
  return running.length > 0;
}

/**
 * If the manager does not answer, ends it with SIGKILL and makes another attempt: the next keeper
 * and control find the apps.
 * @template T
 * @param {string} home
 * @param {(hasEnded: boolean) => Promise<T>} attempt
 * @returns {Promise<T>}
 */
async function endingSilent(home, attempt) {
  try {
    return await attempt(false);
  } catch (error) {
    if (!(error instanceof NclustError) || error.code !== 'ERR_NCLUST_DAEMON_UNREACHABLE') throw error;
    const pids = findManagerProcesses(home).map(({ pid }) => pid);
    if (pids.length === 0) throw error;
    for (const pid of pids) if (isRunning(pid)) process.kill(pid, 'SIGKILL');
    await waitForEnd(pids, END_DEADLINE_MS);
    return attempt(true);
  }
}

/**
 * @param {Client} client  tryKill() closes the client.
 * @param {AbortSignal | undefined} signal
 * @returns {Promise<boolean>}  False: the manager died before it had stopped every app.
 */
async function tryKill(client, signal) {
  try {
    return (await unlessLost(requestKill(client, signal))) !== null;
  } finally {
    await client.close();
  }
}

/** Control must answer `hello` within this time while it ends the apps, in ms. */
const SILENT_MS = 5_000;
const ASK_EVERY_MS = 1_000;

/**
 * Control answers `kill` after every app has exited, which may take as long as any `kill_timeout`.
 * @param {Client} client
 * @param {AbortSignal} [signal]
 * @returns {Promise<unknown>}  Rejects with ERR_NCLUST_DAEMON_UNREACHABLE if control hangs.
 */
async function requestKill(client, signal) {
  const over = new AbortController();
  const answer = client.request('kill', { token: newToken() }, { signal }).finally(() => over.abort());
  const watch = async () => {
    while (!over.signal.aborted) {
      await withDeadline(SILENT_MS, client.request('hello'), throwSilent);
      await pause(ASK_EVERY_MS, undefined, { signal: over.signal }).catch(() => {}); // Aborted.
    }
    return answer;
  };
  return Promise.race([answer, watch()]);
}

function throwSilent() {
  throw new NclustError(
    'ERR_NCLUST_DAEMON_UNREACHABLE',
    `The manager did not answer for ${SILENT_MS / 1_000}s while it stopped the apps.`,
  );
}

/**
 * Control answers just before it exits. This function waits for the exit, so that the next command
 * does not find the old manager.
 * @param {string} home
 * @param {number[]} pids
 * @param {AbortSignal | undefined} caller
 */
async function waitUntilGone(home, pids, caller) {
  const { signal, release } = createDeadline(END_DEADLINE_MS, caller);
  // Waits at the socket of the current keeper, because it may have replaced the keeper in `hello`.
  const hasLeft = await waitUntilLeft(homePaths(home).run, signal)
    .then(
      () => true,
      () => false,
    )
    .finally(release);
  caller?.throwIfAborted();
  if (hasLeft && (await waitForEnd(pids, END_DEADLINE_MS))) return;
  throw new NclustError(
    'ERR_NCLUST_DAEMON_UNREACHABLE',
    `Every app has exited, but the manager (pids ${pids.join(' and ')}) did not exit within ` +
      `${END_DEADLINE_MS / 1_000}s.`,
  );
}

/** @param {Client} client */
function managerPids({ hello }) {
  return [hello?.keeperPid ?? 0, hello?.controlPid ?? 0].filter((pid) => pid > 0);
}

/**
 * @template T
 * @param {Promise<T>} answer
 * @returns {Promise<T | null>}  Resolves with null if `answer` rejects with
 *   ERR_NCLUST_CONNECTION_LOST.
 */
async function unlessLost(answer) {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof NclustError && error.code === 'ERR_NCLUST_CONNECTION_LOST') return null;
    throw error;
  }
}

const LOOK_EVERY_MS = 10;

/**
 * Polls, because the system does not report the exits of processes that are not our children.
 * @param {number[]} pids
 * @param {number} deadlineMs
 * @returns {Promise<boolean>}  False if a process still runs at the deadline.
 */
export async function waitForEnd(pids, deadlineMs) {
  const endMono = performance.now() + deadlineMs;
  while (pids.some(isRunning)) {
    if (performance.now() > endMono) return false;
    await pause(LOOK_EVERY_MS);
  }
  return true;
}
