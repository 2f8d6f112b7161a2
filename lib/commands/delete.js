import { reachListed } from './listed.js';
import { newToken, outcome } from './outcome.js';

/**
 * Stops apps and takes them out of the list.
 * @param {import('../context.js').Context} context
 * @param {string[]} words  The targets.
 * @param {Record<string, any>} options
 * @returns {Promise<import('./outcome.js').Outcome>}
 */
export async function deleteApps(context, words, options) {
  const { client, targets } = await reachListed(context, words);
  const { slots } = await client.request('delete', { targets, wait: options.wait, token: newToken() });
  return outcome(context, client, slots, { done: options.wait ? 'Deleted' : 'Deleting', json: options.json });
}
