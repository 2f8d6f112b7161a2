import { SORT_FIELDS } from '../render/sort.js';
import { NclustError } from '../shared/errors.js';

/** @typedef {import('../shared/protocol.js').SlotStatus} SlotStatus */

/**
 * @param {import('../context.js').Context} context
 * @param {string[]} _words
 * @param {Record<string, any>} options
 * @returns {Promise<{slots: SlotStatus[]}>}  Empty when no manager runs; says then how to start one. Throws ERR_NCLUST_USAGE for a bad --sort.
 */
export async function list(context, _words, options) {
  if (options.sort !== undefined) checkOrder(options.sort);
  const client = await context.running();
  if (!client) {
    const { sayNotRunning } = await import('./not-running.js');
    sayNotRunning(context);
    return { slots: [] };
  }
  const { slots, notices } = await client.request('list');
  for (const notice of notices) context.talk(notice);
  return { slots };
}

/**
 * For jlist and prettylist. Says nothing: programs read it.
 * @param {import('../context.js').Context} context
 * @returns {Promise<{slots: SlotStatus[]}>}
 */
export async function listDetailed(context) {
  const client = await context.running();
  if (!client) return { slots: [] };
  const { slots } = await client.request('list', { detail: true });
  return { slots };
}

/** @param {string} order */
function checkOrder(order) {
  const [field, direction = 'asc', ...more] = order.split(':');
  if (Object.hasOwn(SORT_FIELDS, field) && ['asc', 'desc'].includes(direction) && more.length === 0) return;
  throw new NclustError('ERR_NCLUST_USAGE', `--sort is "${order}"; accepted: ${Object.keys(SORT_FIELDS).join(', ')}, each with :asc (the default) or :desc.`);
}
