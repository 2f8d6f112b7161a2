import { groupRows } from './list-groups.js';
import { byName, formatBytes, renderSlots, uptimeOf } from './slots.cjs';
import { sortSlots } from './sort.js';
import { oneLine } from './text.cjs';

/** @typedef {import('../shared/protocol.js').SlotStatus} SlotStatus */

/** @typedef {import('./slots.cjs').View & {options: Record<string, unknown>, isTerminal?: boolean}} View  With the options of the command. */

/**
 * What the list command prints.
 * @param {{slots: SlotStatus[], nowMs?: number}} data  `nowMs`: when it was looked at, where that is later than the command.
 * @param {View} view
 * @returns {string}
 */
export function renderList({ slots, nowMs }, view) {
  const text = renderOnce(slots, nowMs === undefined ? view : { ...view, nowMs });
  // In place of the list before: from the upper left, each line to its end, and nothing of what was below.
  return view.options.watch && view.isTerminal ? `\u001b[H${text.replaceAll('\n', '\u001b[K\n')}\u001b[J` : text;
}

/** @param {SlotStatus[]} slots @param {View} view */
function renderOnce(slots, view) {
  const { group, sort, miniList } = view.options;
  const sorted = sort === undefined ? slots.toSorted(byName) : sortSlots(slots, String(sort), view.nowMs);
  return miniList ? sorted.map((slot) => renderBlock(slot, view.nowMs)).join('') : renderSlots(group ? groupRows(sorted, view.nowMs) : sorted, view);
}

/**
 * @param {SlotStatus} slot
 * @param {number} nowMs
 */
function renderBlock(slot, nowMs) {
  const rows = [
    ['namespace', slot.namespace], ['version', slot.version], ['pid', String(slot.pid || 'N/A')], ['pm2 id', String(slot.id)],
    ['status', slot.status], ['mode', slot.mode], ['restarted', String(slot.restarts)], ['uptime', uptimeOf(slot, nowMs)],
    ['memory usage', formatBytes(slot.memoryBytes)], ['error log', slot.errorFile], ['watching', slot.watching ? 'yes' : 'no'], ['PID file', slot.pidFile ?? ''],
  ];
  return `+--- ${oneLine(slot.name)}\n${rows.map(([key, value]) => `${key} : ${oneLine(value)}\n`).join('')}`;
}
