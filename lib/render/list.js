// Knows: data to text, for the terminal and for the dashboard.
// Must not: read a file, or ask the manager.
// Start at: renderList(), then slots.js and table.js; paint.js has the colours.
import { formatBytes } from '../figures/format.js';
import {
  compareNames,
  compareValues,
  groupByApp,
  onlineSince,
  statusWord,
  uptimeText,
  WORST_FIRST,
  worstStatus,
} from '../figures/rows.js';
import { CLEAR_BELOW, CLEAR_TO_END_OF_LINE, HOME } from './cursor.js';
import { renderSlots, statusStyle } from './slots.js';
import { BRANCH, LAST_BRANCH } from './table.js';
import { toOneLine } from './text.js';

/** @import { StatusWord } from '../figures/rows.js' */
/** @import { BriefStatus, SlotStatus } from '../shared/wire/protocol.js' */
/** @import { SlotRow } from './slots.js' */

/**
 * @typedef {import('./slots.js').View & { options: Record<string, unknown>, isTerminal?: boolean }}
 *   View
 */

/**
 * @param {{ slots: SlotStatus[], left?: object[], nowMs?: number }} data  `left`: the message that no
 *   manager runs names these processes, so an empty table would be wrong.
 * @param {View} view
 */
export function renderList({ slots, left, nowMs }, view) {
  if (left) return '';
  const text = renderOnce(slots, nowMs === undefined ? view : { ...view, nowMs });
  return view.options.watch && view.isTerminal
    ? `${HOME}${text.replaceAll('\n', `${CLEAR_TO_END_OF_LINE}\n`)}${CLEAR_BELOW}`
    : text;
}

/**
 * @param {SlotStatus[]} slots
 * @param {View} view
 */
function renderOnce(slots, view) {
  const { group, sort, miniList } = view.options;
  const sorted = sort === undefined ? slots.toSorted(compareNames) : sortSlots(slots, String(sort), view.nowMs);
  if (miniList) return sorted.map((slot) => renderBlock(slot, view.nowMs)).join('');
  const table = renderSlots(group ? groupRows(sorted, view.nowMs) : sorted, view);
  return `${table}${attentionLine(listAttention(sorted), view)}`;
}

/** @param {BriefStatus[]} slots */
function listAttention(slots) {
  return slots.flatMap(({ name, troubles = [] }) => (troubles.length > 0 ? { app: name } : []));
}

/**
 * @param {{ app: string }[]} troubles
 * @param {Pick<View, 'paint'>} view
 */
export function attentionLine(troubles, { paint }) {
  const names = new Set(troubles.map(({ app }) => app));
  if (names.size === 0) return '';
  const what = names.size === 1 ? `${toOneLine([...names][0])} needs` : `${names.size} apps need`;
  return `${paint('yellow', `${what} attention: nclust why`)}\n`;
}

/**
 * @param {SlotStatus} slot
 * @param {number} nowMs
 */
function renderBlock(slot, nowMs) {
  const rows = [
    ['namespace', slot.namespace],
    ['version', slot.version],
    ['pid', String(slot.pid || 'N/A')],
    ['pm2 id', String(slot.id)],
    ['status', statusWord(slot.status, slot.troubles)],
    ['mode', slot.mode],
    ['restarted', String(slot.restarts)],
    ['uptime', uptimeText([slot], nowMs) || '0'],
    ['memory usage', formatBytes(slot.memoryBytes)],
    ['error log', slot.errorFile],
    ['watching', slot.watching ? 'yes' : 'no'],
    ['PID file', slot.pidFile ?? ''],
  ];
  return `+--- ${toOneLine(slot.name)}\n${rows.map(([key, value]) => `${key} : ${toOneLine(value)}\n`).join('')}`;
}

/** @type {Record<string, (slot: SlotStatus, nowMs: number) => string | number>} */
export const SORT_FIELDS = {
  name: (slot) => slot.name,
  namespace: (slot) => slot.namespace,
  pid: (slot) => slot.pid,
  id: (slot) => slot.id,
  cpu: (slot) => slot.cpu,
  memory: (slot) => slot.memoryBytes,
  uptime: (slot, nowMs) => nowMs - (onlineSince([slot]) ?? nowMs),
  status: (slot) => statusWord(slot.status, slot.troubles),
};

/**
 * @param {SlotStatus[]} slots
 * @param {string} order  "field", "field:asc" or "field:desc". Equal slots are ordered by id.
 * @param {number} nowMs
 */
function sortSlots(slots, order, nowMs) {
  const [field, direction] = order.split(':');
  const sign = direction === 'desc' ? -1 : 1;
  return slots
    .map((slot) => ({ slot, key: SORT_FIELDS[field](slot, nowMs) }))
    .sort((a, b) => sign * compareValues(a.key, b.key) || a.slot.id - b.slot.id)
    .map(({ slot }) => slot);
}

/**
 * An app with one worker has one row. An app with several workers has one more row, above them.
 * @param {BriefStatus[]} slots  An app takes the position of its first worker.
 * @param {number} nowMs
 * @returns {SlotRow[]}
 */
function groupRows(slots, nowMs) {
  return [...groupByApp(slots).values()].flatMap((workers) =>
    workers.length === 1
      ? workers
      : [appRow(workers, nowMs), ...workers.map((worker, at) => workerRow(worker, at === workers.length - 1))],
  );
}

/**
 * @param {BriefStatus[]} workers
 * @param {number} nowMs
 * @returns {SlotRow}
 */
function appRow(workers, nowMs) {
  const sum = (/** @type {'cpu' | 'restarts' | 'memoryBytes'} */ key) =>
    workers.reduce((total, worker) => total + worker[key], 0);
  const memory = formatBytes(sum('memoryBytes'));
  return {
    ...workers[0],
    cpu: sum('cpu'),
    restarts: sum('restarts'),
    shown: {
      id: '',
      name: { text: `${workers[0].name} (${workers.length})`, style: 'bold' },
      pid: '',
      uptime: uptimeText(workers, nowMs) || '0',
      status: statusCell(workers),
      mem: memory,
      memory,
    },
  };
}

/** @param {BriefStatus[]} workers */
function statusCell(workers) {
  const words = workers.map(({ status, troubles }) => ({ status: statusWord(status, troubles) }));
  const count = (/** @type {StatusWord} */ word) => words.filter(({ status }) => status === word).length;
  const parts = WORST_FIRST.filter((status) => count(status) > 0)
    .reverse()
    .map((status) => (count(status) === workers.length ? status : `${count(status)} ${status}`));
  const mark = listAttention(workers).length > 0 ? ' !' : '';
  return { text: `${parts.join(', ')}${mark}`, style: statusStyle(worstStatus(words)) };
}

/**
 * @param {BriefStatus} worker
 * @param {boolean} isLast
 * @returns {SlotRow}
 */
function workerRow(worker, isLast) {
  return { ...worker, shown: { name: `${isLast ? LAST_BRANCH : BRANCH}${worker.name}`, namespace: '', version: '' } };
}
