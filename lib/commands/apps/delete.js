import { carryOut } from '../../cli/await-change.js';
import { newToken, outcome } from '../../cli/outcome.js';
import { reachTargets } from './from-file.js';

/**
 * Stops apps and takes them out of the list.
 * @param {import('../../cli/context.js').Context} context
 * @param {string[]} words  The targets, or a config file.
 * @param {Record<string, any>} options
 * @returns {Promise<import('../../cli/outcome.js').Outcome>}
 */
export async function deleteApps(context, words, options) {
  const { client, targets } = await reachTargets(context, words, options);
  const { slots } = await carryOut(context, client, 'delete', { targets, wait: options.wait, token: newToken() }, `Deleting ${words.join(', ')}`);
  return outcome(context, client, slots, { done: options.wait ? 'Deleted' : 'Deleting', json: options.json });
}
