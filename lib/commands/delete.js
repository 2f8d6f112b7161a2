import { carryOut } from '../carry-out.js';
import { reachTargets } from './of-file.js';
import { newToken, outcome } from './outcome.js';

/**
 * Stops apps and takes them out of the list.
 * @param {import('../context.js').Context} context
 * @param {string[]} words  The targets, or a config file.
 * @param {Record<string, any>} options
 * @returns {Promise<import('./outcome.js').Outcome>}
 */
export async function deleteApps(context, words, options) {
  const { client, targets } = await reachTargets(context, words, options);
  const { slots } = await carryOut(context, client, 'delete', { targets, wait: options.wait, token: newToken() }, `Deleting ${words.join(', ')}`);
  return outcome(context, client, slots, { done: options.wait ? 'Deleted' : 'Deleting', json: options.json });
}
