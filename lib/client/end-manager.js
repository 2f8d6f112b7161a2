import { newToken } from '../cli/outcome.js';
import { NclustError } from '../shared/errors.js';
import { homePaths } from '../shared/paths.js';
import { waitUntilLeft } from './keeper-socket.js';
import { keptApps } from './not-running.js';
import { waitForEnd } from './wait-for-exit.js';

/** From the answer, when every app is gone, until both processes of the manager have to be gone. */
const END_DEADLINE_MS = 10_000;

/**
 * Stops every app, then the manager.
 * @param {import('../cli/context.js').Context} context
 * @param {string[]} _targets
 * @param {Record<string, any>} options
 * @returns {Promise<{wasRunning: boolean}>}
 */
export async function kill(context, _targets, { json }) {
  // Apps may have outlived a manager that died: only a manager finds and ends them.
  const client = (await context.running()) ?? (keptApps(context.home) > 0 ? await startAndLeave(context) : null);
  if (client) await ask(client, context.home);
  if (!json) context.talk(client ? 'All apps and the manager have ended.' : `No nclust runs in ${context.home}; nothing to end.`);
  return { wasRunning: client !== null };
}

/**
 * Starts the manager, and lets go of a connection that would start it again when it ends.
 * @param {import('../cli/context.js').Context} context
 */
async function startAndLeave(context) {
  const starter = await context.manager();
  await starter.close();
  return context.running();
}

/**
 * The answer is sent just before the end, so the end itself is waited for: whoever starts something next must not meet the old manager.
 * A connection that breaks without anybody to return to means the same as the answer.
 * @param {import('./client.js').Client} client
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
  const hasLeft = await waitUntilLeft(homePaths(home).run, signal).then(() => true, () => false);
  const isOver = hasLeft && (await waitForEnd([keeperPid, controlPid].filter((pid) => pid > 0), END_DEADLINE_MS));
  if (!isOver) throw new NclustError('ERR_NCLUST_DAEMON_UNREACHABLE', `Every app has ended, and the manager (pids ${keeperPid} and ${controlPid}) has not within ${END_DEADLINE_MS / 1_000}s.`);
}
