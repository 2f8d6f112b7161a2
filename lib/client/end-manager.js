import { newToken } from '../cli/outcome.js';
import { NclustError } from '../shared/errors.js';
import { homePaths } from '../shared/paths.js';
import { openClient } from './client.js';
import { connectOnly, connectOrLaunch } from './connect.js';
import { waitUntilLeft } from './keeper-socket.js';
import { keptApps } from './not-running.js';
import { waitForEnd } from './wait-for-exit.js';

/** @import { Context } from '../cli/context.js' */
/** @import { Client } from './client.js' */

/** From the answer, when every app is gone, until both processes of the manager have to be gone. */
const END_DEADLINE_MS = 10_000;

/**
 * Stops every app, then the manager.
 * @param {Context} context
 * @param {string[]} _targets
 * @param {Record<string, any>} options
 * @returns {Promise<{ wasRunning: boolean }>}
 */
export async function kill(context, _targets, { json }) {
  // Apps may have outlived a manager that died: only a manager finds and ends them.
  const client = (await context.running()) ?? (keptApps(context.home) > 0 ? await startAndLeave(context) : null);
  if (client) await ask(client, context.home);
  if (!json)
    context.talk(
      client ? 'All apps and the manager have ended.' : `No nclust runs in ${context.home}; nothing to end.`,
    );
  return { wasRunning: client !== null };
}

/**
 * Starts the manager, and lets go of a connection that would start it again when it ends.
 * @param {Context} context
 */
async function startAndLeave(context) {
  const starter = await context.manager();
  await starter.close();
  return context.running();
}

/**
 * The answer is sent just before the end, so the end itself is waited for: whoever starts something
 * next must not meet the old manager. A connection that breaks without anybody to return to means
 * the same as the answer.
 * @param {Client} client
 * @param {string} home
 */
async function ask(client, home) {
  const { keeperPid = 0, controlPid = 0 } = client.hello ?? {};
  try {
    await client.request('kill', { token: newToken() });
  } catch (error) {
    if (!(error instanceof NclustError) || error.code !== 'ERR_NCLUST_CONNECTION_LOST') throw error;
  }
  await client.close();
  const signal = AbortSignal.timeout(END_DEADLINE_MS);
  // The keeper that control had when it said hello may have been followed by another one.
  const hasLeft = await waitUntilLeft(homePaths(home).run, signal).then(
    () => true,
    () => false,
  );
  const isOver =
    hasLeft &&
    (await waitForEnd(
      [keeperPid, controlPid].filter((pid) => pid > 0),
      END_DEADLINE_MS,
    ));
  if (!isOver)
    throw new NclustError(
      'ERR_NCLUST_DAEMON_UNREACHABLE',
      `Every app has ended, and the manager (pids ${keeperPid} and ${controlPid}) has not within ` +
        `${END_DEADLINE_MS / 1_000}s.`,
    );
}

/** A manager that dies so often before it has ended the apps is killed by that. */
const MAX_TRIES = 3;

/**
 * Ends every app, then the manager, over a connection that would not start it again.
 * @param {string} home
 * @param {AbortSignal} signal  Ends the waiting; it rejects with its reason.
 * @returns {Promise<{ wasRunning: boolean }>}  When keeper and control are gone.
 */
export async function endManager(home, signal) {
  for (let tried = 0; tried < MAX_TRIES; tried += 1) {
    // Apps may have outlived a manager that died: only a manager finds and ends them.
    const client =
      (await unlessLost(open(home, signal))) ?? (keptApps(home) > 0 ? await launchAndOpen(home, signal) : null);
    if (!client) return { wasRunning: tried > 0 };
    if (await isEnded(client, signal)) {
      await untilGone(home, client, signal);
      return { wasRunning: true };
    }
  }
  throw new NclustError(
    'ERR_NCLUST_CONNECTION_LOST',
    `The manager went away ${MAX_TRIES} times before it had ended every app.`,
    { hint: 'Its log is nclust.log in the home.' },
  );
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

/**
 * @param {string} home
 * @param {Client} client
 * @param {AbortSignal} signal
 */
async function untilGone(home, { hello }, signal) {
  await waitUntilLeft(homePaths(home).run, signal);
  const pids = [hello?.keeperPid ?? 0, hello?.controlPid ?? 0].filter((pid) => pid > 0);
  if (await waitForEnd(pids, END_DEADLINE_MS)) return;
  throw new NclustError(
    'ERR_NCLUST_DAEMON_UNREACHABLE',
    `Every app has ended, and the manager (pids ${pids.join(' and ')}) has not within ${END_DEADLINE_MS / 1_000}s.`,
  );
}

/**
 * @param {string} home
 * @param {AbortSignal} signal
 */
function open(home, signal) {
  const reach = (/** @type {AbortSignal | undefined} */ one) => connectOnly(home, one);
  return openClient(reach, reach, { signal });
}

/**
 * @param {string} home
 * @param {AbortSignal} signal
 */
async function launchAndOpen(home, signal) {
  const socket = await connectOrLaunch(home, signal);
  socket.destroy();
  return unlessLost(open(home, signal));
}

/**
 * @template T
 * @param {Promise<T>} answer
 * @returns {Promise<T | null>}  Null: there is nobody to return to.
 */
async function unlessLost(answer) {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof NclustError && error.code === 'ERR_NCLUST_CONNECTION_LOST') return null;
    throw error;
  }
}
