import { NclustError } from '../shared/errors.js';

/** @typedef {import('../shared/wire/protocol.js').SlotStatus} SlotStatus */

/**
 * The processes of an app, or all. Finds nothing for a name that is not there, as PM2: scripts loop over the answer.
 * @param {import('../cli/context.js').Context} context
 * @param {string[]} words  The name, or nothing.
 * @returns {Promise<{slots: SlotStatus[]}>}
 */
export async function slotsNamed(context, [name]) {
  const client = await context.running();
  if (!client) return { slots: [] };
  const { slots } = await client.request('list');
  return { slots: name === undefined ? slots : slots.filter((/** @type {SlotStatus} */ slot) => slot.name === name) };
}

/**
 * The same for a name that has to be there.
 * @param {import('../cli/context.js').Context} context
 * @param {string[]} words  The name.
 * @returns {Promise<{slots: SlotStatus[]}>}  Throws ERR_NCLUST_APP_NOT_FOUND.
 */
export async function idsNamed(context, words) {
  const found = await slotsNamed(context, words);
  if (found.slots.length > 0) return found;
  throw new NclustError('ERR_NCLUST_APP_NOT_FOUND', `There is no app "${words[0]}" in the list.`, { hint: 'See: nclust list' });
}
