/** @typedef {import('../shared/protocol.js').SlotStatus} SlotStatus */

/**
 * What a list can be sorted by.
 * @type {Record<string, (slot: SlotStatus, nowMs: number) => string|number>}
 */
export const SORT_FIELDS = {
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
 * @param {string} order  "field", "field:asc" or "field:desc", checked before. Equal ones are ordered by id.
 * @param {number} nowMs
 * @returns {SlotStatus[]}  A new list.
 */
export function sortSlots(slots, order, nowMs) {
  const [field, direction] = order.split(':');
  const sign = direction === 'desc' ? -1 : 1;
  return slots
    .map((slot) => ({ slot, key: SORT_FIELDS[field](slot, nowMs) }))
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
