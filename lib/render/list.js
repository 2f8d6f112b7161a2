import { byName, formatBytes, renderSlots, uptimeOf } from './slots.cjs';
import { sortSlots } from './sort.js';
import { oneLine } from './text.cjs';

/** @typedef {import('../shared/protocol.js').SlotStatus} SlotStatus */

/** @typedef {import('./slots.cjs').View & {options: Record<string, unknown>, isTerminal?: boolean}} View  With the options of the command. */

/**
 * What the list command prints.
 * @param {{slots: SlotStatus[]}} data
 * @param {View} view
 * @returns {string}
 */
export function renderList({ slots }, view) {
  const { sort, miniList } = view.options;
  const sorted = sort === undefined ? slots.toSorted(byName) : sortSlots(slots, String(sort), view.nowMs);
  return miniList ? sorted.map((slot) => renderBlock(slot, view.nowMs)).join('') : renderSlots(sorted, view);
}

/**
 * @param {SlotStatus} slot
 * @param {number} nowMs
 */
function renderBlock(slot, nowMs) {
  const rows = [
    ['namespace', slot.namespace], ['version', slot.version], ['pid', String(slot.pid || 'N/A')], ['pm2 id', String(slot.id)],
    ['status', slot.status], ['mode', slot.mode], ['restarted', String(slot.restarts)], ['uptime', uptimeOf(slot, nowMs)],
    ['memory usage', formatBytes(slot.memoryBytes)], ['error log', slot.errorFile], ['watching', slot.watching ? 'yes' : 'no'],
  ];
  return `+--- ${oneLine(slot.name)}\n${rows.map(([key, value]) => `${key} : ${oneLine(value)}\n`).join('')}`;
}
