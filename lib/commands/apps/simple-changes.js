import { change, reportChange, summarise } from '../../cli/session/outcome.js';
import { newToken } from '../../client/client.js';
import { NclustError } from '../../shared/errors.js';
import { signalName } from '../../shared/host/signals.js';
import { reachTargets } from './from-file.js';
import { reachListed } from './targets.js';

/** @import { Context } from '../../cli/session/context.js' */
/** @import { Outcome } from '../../cli/session/outcome.js' */
/** @import { SlotStatus } from '../../shared/wire/protocol.js' */

/**
 * @param {Context} context
 * @param {string[]} words  The targets, or a config file.
 * @param {Record<string, any>} options
 * @returns {Promise<Outcome>}
 */
export async function stop(context, words, options) {
  const { client, targets, all } = await reachTargets(context, words, options);
  if (!client) return { slots: [], all };
  const watch = options.watch ? { watch: true } : {};
  return change(context, client, 'stop', { targets, ...watch }, ['Stopping', 'Stopped'], words, options);
}

/**
 * @param {Context} context
 * @param {string[]} words  The targets, or a config file.
 * @param {Record<string, any>} options
 * @returns {Promise<Outcome>}
 */
export async function deleteApps(context, words, options) {
  const { client, targets, all } = await reachTargets(context, words, options);
  if (!client) return { slots: [], all };
  return change(context, client, 'delete', { targets }, ['Deleting', 'Deleted'], words, options);
}

/**
 * @param {Context} context
 * @param {string[]} words  The app and the number: "4", "+2", "-1", "max", "50%".
 * @param {Record<string, any>} options
 * @returns {Promise<Outcome>}
 */
export async function scale(context, [word, instances], options) {
  const { client, targets } = await reachListed(context, [word]);
  return change(context, client, 'scale', { target: targets[0], instances }, ['Scaling', 'Scaled'], [word], options);
}

/**
 * @param {Context} context
 * @param {string[]} words
 * @param {Record<string, any>} options
 * @returns {Promise<Outcome>}
 */
export async function reset(context, words, options) {
  const { client, targets } = await reachListed(context, words);
  const { slots } = await client.request('reset', { targets, token: newToken() });
  return reportChange(context, client, slots, { done: 'Reset the counters of', json: options.json });
}

/**
 * @param {Context} context
 * @param {string[]} given  The signal, then the targets.
 * @param {Record<string, any>} options
 * @returns {Promise<Outcome>}  The processes that got the signal.
 */
export async function sendSignal(context, [word, ...words], options) {
  const signal = signalName(word);
  if (!signal) {
    throw new NclustError('ERR_NCLUST_BAD_SIGNAL', `"${word}" is not a signal of this system.`, {
      hint: 'Give a name such as SIGUSR2 or its number; "kill -l" lists them.',
    });
  }
  const { client, targets } = await reachListed(context, words);
  const { slots } = await client.request('signal', { targets, signal, token: newToken() });
  const signalled = slots.filter((/** @type {SlotStatus} */ { pid }) => pid !== 0);
  if (signalled.length === 0) {
    throw new NclustError(
      'ERR_NCLUST_NO_PROCESS',
      `No process of ${summarise(slots)} runs, so ${signal} was not sent.`,
      {
        hint: 'nclust list',
      },
    );
  }
  return reportChange(context, client, signalled, { done: `Sent ${signal} to`, json: options.json });
}
