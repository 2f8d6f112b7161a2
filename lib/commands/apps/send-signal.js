import { newToken, outcome, summarise } from '../../cli/outcome.js';
import { NclustError } from '../../shared/errors.js';
import { signalName } from '../../shared/host/signals.js';
import { reachListed } from './targets.js';

/**
 * Sends a signal to the processes of apps.
 * @param {import('../../cli/context.js').Context} context
 * @param {string[]} given  The signal, then the targets.
 * @param {Record<string, any>} options
 * @returns {Promise<import('../../cli/outcome.js').Outcome>}  The processes that got it. Throws ERR_NCLUST_BAD_SIGNAL and ERR_NCLUST_NO_PROCESS.
 */
export async function sendSignal(context, [word, ...words], options) {
  const signal = signalName(word);
  if (!signal) {
    throw new NclustError('ERR_NCLUST_BAD_SIGNAL', `"${word}" is no signal of this system.`, { hint: 'Give a name such as SIGUSR2 or its number; "kill -l" lists them.' });
  }
  const { client, targets } = await reachListed(context, words);
  const { slots } = await client.request('signal', { targets, signal, token: newToken() });
  const signalled = slots.filter((/** @type {import('../../shared/wire/protocol.js').SlotStatus} */ { pid }) => pid !== 0);
  if (signalled.length === 0) {
    throw new NclustError('ERR_NCLUST_NO_PROCESS', `No process of ${summarise(slots)} runs, so none got ${signal}.`, { hint: 'See: nclust list' });
  }
  return outcome(context, client, signalled, { done: `Sent ${signal} to`, json: options.json });
}
