import { newToken } from '../cli/outcome.js';
import { NclustError } from '../shared/errors.js';
import { homePaths } from '../shared/paths.js';
import { openClient } from './client.js';
import { connectOnly, connectOrLaunch } from './connect.js';
import { waitUntilLeft } from './keeper-socket.js';
import { keptApps } from './not-running.js';
import { waitForEnd } from './wait-for-exit.js';

/** @typedef {import('./client.js').Client} Client */

/** Both processes are on their way out when control has answered. */
const END_DEADLINE_MS = 10_000;

/** A manager that dies so often before it has ended the apps is killed by that. */
const MAX_TRIES = 3;

/**
 * Ends every app, then the manager, over a connection that would not start it again.
 * @param {string} home
 * @param {AbortSignal} signal  Ends the waiting; it rejects with its reason.
 * @returns {Promise<{wasRunning: boolean}>}  When keeper and control are gone.
 */
export async function endManager(home, signal) {
  for (let tried = 0; tried < MAX_TRIES; tried += 1) {
    // Apps may have outlived a manager that died: only a manager finds and ends them.
    const client = (await unlessLost(open(home, signal))) ?? (keptApps(home) > 0 ? await launchAndOpen(home, signal) : null);
    if (!client) return { wasRunning: tried > 0 };
    if (await isEnded(client, signal)) {
      await untilGone(home, client, signal);
      return { wasRunning: true };
    }
  }
  throw new NclustError('ERR_NCLUST_CONNECTION_LOST', `The manager went away ${MAX_TRIES} times before it had ended every app.`, { hint: 'Its log is nclust.log in the home.' });
}

/**
 * @param {Client} client  It is closed.
 * @param {AbortSignal} signal
 * @returns {Promise<boolean>}  False: the manager died before it was done.
 */
async function isEnded(client, signal) {
  try {
    return (await unlessLost(client.request('kill', { token: newToken() }, { signal }))) !== null;
  } finally {
    await client.close();
  }
}

/** @param {string} home @param {Client} client @param {AbortSignal} signal */
async function untilGone(home, { hello }, signal) {
  await waitUntilLeft(homePaths(home).run, signal);
  const pids = [hello?.keeperPid ?? 0, hello?.controlPid ?? 0].filter((pid) => pid > 0);
  if (await waitForEnd(pids, END_DEADLINE_MS)) return;
  throw new NclustError('ERR_NCLUST_DAEMON_UNREACHABLE', `Every app has ended, and the manager (pids ${pids.join(' and ')}) has not within ${END_DEADLINE_MS / 1_000}s.`);
}

/** @param {string} home @param {AbortSignal} signal */
function open(home, signal) {
  const reach = (/** @type {AbortSignal|undefined} */ one) => connectOnly(home, one);
  return openClient(reach, reach, { signal });
}

/** @param {string} home @param {AbortSignal} signal */
async function launchAndOpen(home, signal) {
  const socket = await connectOrLaunch(home, signal);
  socket.destroy();
  return unlessLost(open(home, signal));
}

/**
 * @template T
 * @param {Promise<T>} answer
 * @returns {Promise<T|null>}  Null: there is nobody to return to.
 */
async function unlessLost(answer) {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof NclustError && error.code === 'ERR_NCLUST_CONNECTION_LOST') return null;
    throw error;
  }
}
