import { NclustError } from '../shared/errors.js';
import { reachListed } from './apps/targets.js';

/** @typedef {import('../shared/wire/protocol.js').SlotStatus} SlotStatus */

/**
 * The one process that a command is about.
 * @param {import('../cli/context.js').Context} context
 * @param {string[]} words
 * @returns {Promise<{client: import('../client/client.js').Client, worker: SlotStatus}>}  Throws ERR_NCLUST_APP_NOT_FOUND, ERR_NCLUST_NO_PROCESS, and
 *   ERR_NCLUST_BAD_SELECTOR when several are meant.
 */
export async function oneWorker(context, words) {
  const { client, targets } = await reachListed(context, words);
  const { slots } = /** @type {{slots: SlotStatus[]}} */ (await client.request('list', { targets }));
  const living = slots.filter(({ pid }) => pid > 0);
  if (living.length === 1) return { client, worker: living[0] };
  const [word] = words;
  if (living.length === 0) throw noneRuns(word, slots);
  const ids = living.map(({ id, name }) => `${id} (${name})`).join(', ');
  throw new NclustError('ERR_NCLUST_BAD_SELECTOR', `"${word}" means ${living.length} processes, and this is about one.`, { hint: `Give one of the ids: ${ids}.`, data: { target: word, ids: living.map(({ id }) => id) } });
}

/**
 * @param {string} word
 * @param {SlotStatus[]} slots
 */
function noneRuns(word, slots) {
  const states = new Set(slots.map(({ status }) => (status === 'waiting restart' ? 'waiting for a restart' : status)));
  const [name, ...others] = new Set(slots.map((slot) => slot.name));
  return new NclustError('ERR_NCLUST_NO_PROCESS', `No process of "${word}" runs: ${slots.length === 1 ? 'it is' : 'they are'} ${[...states].join(' and ')}.`, {
    hint: others.length === 0 ? `nclust why ${name}` : 'See: nclust list', data: { target: word, ids: slots.map(({ id }) => id) },
  });
}
