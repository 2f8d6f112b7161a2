import { carryOut } from '../carry-out.js';
import { reachTargets } from './of-file.js';
import { newToken, outcome } from './outcome.js';

/**
 * Stops apps and keeps them in the list.
 * @param {import('../context.js').Context} context
 * @param {string[]} words  The targets, or a config file.
 * @param {Record<string, any>} options
 * @returns {Promise<import('./outcome.js').Outcome>}
 */
export async function stop(context, words, options) {
  const { client, targets } = await reachTargets(context, words, options);
  const { slots } = await carryOut(context, client, 'stop', { targets, wait: options.wait, ...(options.watch ? { watch: true } : {}), token: newToken() }, `Stopping ${words.join(', ')}`);
  return outcome(context, client, slots, { done: options.wait ? 'Stopped' : 'Stopping', json: options.json });
}
