import { snapshot } from '../config/app-spec.js';
import { declaredDiff } from '../config/environment-diff.js';
import { absoluteScripts } from './listed.js';
import { nothingThere } from './not-running.js';

/** @typedef {import('../shared/protocol.js').SlotStatus} SlotStatus */

/**
 * @param {import('../context.js').Context} context
 * @param {string[]} targets
 * @returns {Promise<{slots: SlotStatus[], differences: Record<number, import('../config/environment-diff.js').Difference[]>}>}  With details; by id, how the environment
 *   differs from the one of this shell. Throws ERR_NCLUST_APP_NOT_FOUND.
 */
export async function describe(context, targets) {
  const client = await context.running();
  if (!client) throw nothingThere(context, targets);
  /** @type {{slots: SlotStatus[]}} */
  const { slots } = await client.request('list', { targets: await absoluteScripts(context, client, targets), detail: true });
  const shell = snapshot(context.env);
  return { slots, differences: Object.fromEntries(slots.map((slot) => [slot.id, declaredDiff(slot, shell, context.home)])) };
}
