import { newToken, outcome } from '../cli/outcome.js';
import { reachListed } from './apps/targets.js';

/**
 * Sends a line to the standard input of an app.
 * @param {import('../cli/context.js').Context} context
 * @param {string[]} words  The target, then the line.
 * @param {Record<string, any>} options
 * @returns {Promise<import('../cli/outcome.js').Outcome>}  Throws ERR_NCLUST_APP_NOT_FOUND, ERR_NCLUST_NO_PROCESS, ERR_NCLUST_NOT_REACHABLE, ERR_NCLUST_NOT_READING and
 *   ERR_NCLUST_BAD_SELECTOR when several processes are meant.
 */
export async function send(context, [word, ...line], options) {
  const { client, targets } = await reachListed(context, [word]);
  const { slots } = await client.request('sendInput', { target: targets[0], input: `${line.join(' ')}\n`, token: newToken() });
  return outcome(context, client, slots, { done: 'Sent the line to', json: options.json });
}
