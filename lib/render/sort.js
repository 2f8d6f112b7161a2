import { NclustError } from '../shared/errors.js';

/** @typedef {import('../shared/protocol.js').SlotStatus} SlotStatus */

/** @type {Record<string, (slot: SlotStatus, nowMs: number) => string|number>} */
const FIELDS = {
  name: (slot) => slot.name,
  namespace: (slot) => slot.namespace,
  pid: (slot) => slot.pid,
  id: (slot) => slot.id,
  cpu: (slot) => slot.cpu,
  memory: (slot) => slot.memoryBytes,
  uptime: (slot, nowMs) => (slot.pid && slot.startedAtMs !== null ? nowMs - slot.startedAtMs : 0),
  status: (slot) => slot.status,
};

/**
 * @param {SlotStatus[]} slots
 * @param {string} order  "field", "field:asc" or "field:desc". Equal ones are ordered by id.
 * @param {number} nowMs
 * @returns {SlotStatus[]}  A new list. Throws ERR_NCLUST_USAGE.
 */
export function sortSlots(slots, order, nowMs) {
  const [field, direction = 'asc'] = order.split(':');
  const read = Object.hasOwn(FIELDS, field) ? FIELDS[field] : null;
  if (!read || (direction !== 'asc' && direction !== 'desc')) {
    throw new NclustError('ERR_NCLUST_USAGE', `--sort is "${order}"; accepted: ${Object.keys(FIELDS).join(', ')}, each with :asc (the default) or :desc.`);
  }
  const sign = direction === 'asc' ? 1 : -1;
  return slots
    .map((slot) => ({ slot, key: read(slot, nowMs) }))
    .sort((a, b) => sign * compare(a.key, b.key) || a.slot.id - b.slot.id)
    .map(({ slot }) => slot);
}

/**
 * @param {string|number} a
 * @param {string|number} b
 */
function compare(a, b) {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
