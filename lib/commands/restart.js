import { snapshot } from '../config/app-spec.js';
import { carryOut } from '../carry-out.js';
import { reachListed } from './listed.js';
import { newToken, outcome } from './outcome.js';

/**
 * Ends apps and starts them again; with `updateEnv`, the shell's variables are merged over theirs.
 * @param {import('../context.js').Context} context
 * @param {string[]} words  The targets.
 * @param {Record<string, any>} options
 * @returns {Promise<import('./outcome.js').Outcome>}
 */
export async function restart(context, words, options) {
  const { client, targets } = await reachListed(context, words);
  const env = options.updateEnv ? { env: snapshot(context.env) } : {};
  const { slots } = await carryOut(context, client, 'restart', { targets, wait: options.wait, ...env, token: newToken() }, `Restarting ${words.join(', ')}`);
  return outcome(context, client, slots, { done: options.wait ? 'Restarted' : 'Restarting', json: options.json });
}
