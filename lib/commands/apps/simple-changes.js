import { change, reportChange, summarise } from '../../cli/session/outcome.js';
import { newToken } from '../../client/client.js';
import { NclustError } from '../../shared/errors.js';
import { signalName } from '../../shared/host/signals.js';
import { reachTargets } from './from-file.js';
import { reachListed } from './targets.js';

/** @import { Context } from '../../cli/session/context.js' */
/** @import { Outcome } from '../../cli/session/outcome.js' */
/** @import { SlotStatus } from '../../shared/wire/protocol.js' */

/** @typedef {(context: Context, words: string[], options: Record<string, any>) => Promise<Outcome>} Command */

/** @type {Command} */
export function stop(context, words, options) {
  return endApps(context, 'stop', words, options, options.watch ? { watch: true } : {});
}

/** @type {Command} */
export function deleteApps(context, words, options) {
  return endApps(context, 'delete', words, options, {});
}

/**
 * @param {Context} context
 * @param {'stop' | 'delete'} method
 * @param {string[]} words  The targets, or a config file.
 * @param {Record<string, any>} options
 * @param {{ watch?: boolean }} more
 */
async function endApps(context, method, words, options, more) {
  const { targets, all } = await reachTargets(context, words, options);
  if (targets.length === 0) return { slots: [], all };
  return change(context, method, { targets, ...more }, words);
}

/**
 * `words`: the app and the number: "4", "+2", "-1", "max", "50%".
 * @type {Command}
 */
export async function scale(context, [word, instances]) {
  const { targets } = await reachListed(context, [word]);
  return change(context, 'scale', { target: targets[0], instances }, [word]);
}

/** @type {Command} */
export async function rollBack(context, words) {
  const { targets } = await reachListed(context, words);
  return change(context, 'rollback', { targets }, words);
}

/** @type {Command} */
export async function reset(context, words) {
  const { client, targets } = await reachListed(context, words);
  const { slots } = await client.request('reset', { targets, token: newToken() });
  return reportChange(context, slots, 'Reset the counters of');
}

/**
 * @param {Context} context
 * @param {string[]} given  The signal, then the targets.
 * @returns {Promise<Outcome>}  The processes that got the signal.
 */
export async function sendSignal(context, [word, ...words]) {
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
      { hint: 'nclust list' },
    );
  }
  return reportChange(context, signalled, `Sent ${signal} to`);
}
