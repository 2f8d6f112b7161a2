import { carryOut } from '../../cli/await-change.js';
import { newToken, outcome } from '../../cli/outcome.js';
import { reachTargets } from './from-file.js';

/**
 * Stops apps and keeps them in the list.
 * @param {import('../../cli/context.js').Context} context
 * @param {string[]} words  The targets, or a config file.
 * @param {Record<string, any>} options
 * @returns {Promise<import('../../cli/outcome.js').Outcome>}
 */
export async function stop(context, words, options) {
  const { client, targets } = await reachTargets(context, words, options);
  const { slots } = await carryOut(context, client, 'stop', { targets, wait: options.wait, ...(options.watch ? { watch: true } : {}), token: newToken() }, `Stopping ${words.join(', ')}`);
  return outcome(context, client, slots, { done: options.wait ? 'Stopped' : 'Stopping', json: options.json });
}
