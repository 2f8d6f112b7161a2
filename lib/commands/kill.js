import { NclustError } from '../shared/errors.js';
import { keptApps } from './not-running.js';
import { newToken } from './outcome.js';

/**
 * Stops every app, then the manager.
 * @param {import('../context.js').Context} context
 * @param {string[]} _targets
 * @param {Record<string, any>} options
 * @returns {Promise<{wasRunning: boolean}>}
 */
export async function kill(context, _targets, { json }) {
  // Apps may have outlived a manager that died: only a manager finds and ends them.
  const client = (await context.running()) ?? (keptApps(context.home) > 0 ? await startAndLeave(context) : null);
  if (client) await ask(client);
  if (!json) context.talk(client ? 'All apps and the manager have ended.' : `No nclust runs in ${context.home}; nothing to end.`);
  return { wasRunning: client !== null };
}

/**
 * Starts the manager, and lets go of a connection that would start it again when it ends.
 * @param {import('../context.js').Context} context
 */
async function startAndLeave(context) {
  const starter = await context.manager();
  await starter.close();
  return context.running();
}

/**
 * The answer is sent just before the end; a connection that breaks without anybody to return to means the same.
 * @param {import('../client.js').Client} client
 */
async function ask(client) {
  try {
    await client.request('kill', { token: newToken() });
  } catch (error) {
    if (!(error instanceof NclustError) || error.code !== 'ERR_NCLUST_CONNECTION_LOST') throw error;
  }
}
