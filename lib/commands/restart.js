import { snapshot } from '../config/app-spec.js';
import { carryOut } from '../carry-out.js';
import { readRestartOptions, specFields } from '../config/options.js';
import { reachListed } from './listed.js';
import { newToken, outcome } from './outcome.js';

/**
 * Ends apps and starts them again; with `updateEnv`, the shell's variables are merged over theirs. What is given as an option is the app's setting from then on.
 * @param {import('../context.js').Context} context
 * @param {string[]} words  The targets.
 * @param {Record<string, any>} options
 * @returns {Promise<import('./outcome.js').Outcome>}
 */
export async function restart(context, words, options) {
  const spec = specFields(readRestartOptions(options));
  const { client, targets } = await reachListed(context, words);
  const changes = { ...(options.updateEnv ? { env: snapshot(context.env) } : {}), ...(Object.keys(spec).length > 0 ? { spec } : {}) };
  const { slots } = await carryOut(context, client, 'restart', { targets, wait: options.wait, ...changes, token: newToken() }, `Restarting ${words.join(', ')}`);
  return outcome(context, client, slots, { done: options.wait ? 'Restarted' : 'Restarting', json: options.json });
}
