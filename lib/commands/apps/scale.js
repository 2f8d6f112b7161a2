import { carryOut } from '../../cli/await-change.js';
import { newToken, outcome } from '../../cli/outcome.js';
import { reachListed } from './targets.js';

/**
 * Changes the number of instances of one app.
 * @param {import('../../cli/context.js').Context} context
 * @param {string[]} words  The app and the number: "4", "+2", "-1", "max", "50%".
 * @param {Record<string, any>} options
 * @returns {Promise<import('../../cli/outcome.js').Outcome>}
 */
export async function scale(context, [word, instances], options) {
  const { client, targets: [target] } = await reachListed(context, [word]);
  const { slots } = await carryOut(context, client, 'scale', { target, instances, wait: options.wait, token: newToken() }, `Scaling ${word}`);
  return outcome(context, client, slots, { done: options.wait ? 'Scaled' : 'Scaling', json: options.json });
}
