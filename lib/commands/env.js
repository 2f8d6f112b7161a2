import { nothingThere } from './not-running.js';

/**
 * The variables an instance was given.
 * @param {import('../context.js').Context} context
 * @param {string[]} words  One target; of several instances, the first.
 * @returns {Promise<{env: Record<string, string>}>}  Throws ERR_NCLUST_APP_NOT_FOUND.
 */
export async function env(context, [target]) {
  const client = await context.running();
  if (!client) throw nothingThere(context, [target]);
  const { slots } = await client.request('list', { targets: [target], detail: true });
  return { env: slots[0]?.effectiveEnv ?? {} };
}
