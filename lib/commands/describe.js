import { absoluteScripts } from './listed.js';
import { nothingThere } from './not-running.js';

/**
 * @param {import('../context.js').Context} context
 * @param {string[]} targets
 * @returns {Promise<{slots: import('../shared/protocol.js').SlotStatus[]}>}  With details. Throws ERR_NCLUST_APP_NOT_FOUND.
 */
export async function describe(context, targets) {
  const client = await context.running();
  if (!client) throw nothingThere(context, targets);
  const { slots } = await client.request('list', { targets: await absoluteScripts(context, client, targets), detail: true });
  return { slots };
}
