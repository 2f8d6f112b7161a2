import { newToken, outcome } from '../../cli/outcome.js';
import { reachListed } from './targets.js';

/**
 * Sets the restart counters to zero.
 * @param {import('../../cli/context.js').Context} context
 * @param {string[]} words  The targets.
 * @param {Record<string, any>} options
 * @returns {Promise<import('../../cli/outcome.js').Outcome>}
 */
export async function reset(context, words, options) {
  const { client, targets } = await reachListed(context, words);
  const { slots } = await client.request('reset', { targets, token: newToken() });
  return outcome(context, client, slots, { done: 'Reset the counters of', json: options.json });
}
