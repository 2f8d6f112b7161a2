import { carryOut } from '../carry-out.js';
import { reachListed } from './listed.js';
import { newToken, outcome } from './outcome.js';

/**
 * Stops apps and keeps them in the list.
 * @param {import('../context.js').Context} context
 * @param {string[]} words  The targets.
 * @param {Record<string, any>} options
 * @returns {Promise<import('./outcome.js').Outcome>}
 */
export async function stop(context, words, options) {
  const { client, targets } = await reachListed(context, words);
  const { slots } = await carryOut(context, client, 'stop', { targets, wait: options.wait, token: newToken() }, `Stopping ${words.join(', ')}`);
  return outcome(context, client, slots, { done: options.wait ? 'Stopped' : 'Stopping', json: options.json });
}
