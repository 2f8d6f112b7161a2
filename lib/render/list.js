import { formatBytes, formatUptime } from '../shared/units.js';
import { sortSlots } from './sort.js';
import { renderTable } from './table.js';
import { oneLine, textWidth } from './text.js';

/** @typedef {import('../shared/protocol.js').SlotStatus} SlotStatus */
/** @typedef {import('./table.js').Cell} Cell */
/** @typedef {{title: string, cell: (slot: SlotStatus, nowMs: number) => Cell}} Column */

/**
 * @typedef {object} View  What a renderer has to know about where its text goes.
 * @property {number|null} columns  Width of the terminal; null when it is none.
 * @property {import('./paint.js').Paint} paint
 * @property {number} nowMs
 * @property {Record<string, unknown>} options  Of the command.
 */

/** @type {Column} */
const ID = { title: 'id', cell: ({ id }) => ({ text: String(id), style: 'cyan' }) };
/** @type {Column} */
const NAME = { title: 'name', cell: ({ name }) => ({ text: name, style: 'bold' }) };
/** @type {Column} */
const MODE = { title: 'mode', cell: ({ mode }) => ({ text: mode, style: mode === 'cluster' ? 'blue' : null }) };
/** @type {Column} */
const RESTARTS = { title: '↺', cell: ({ restarts }) => String(restarts) };
/** @type {Column} */
const STATUS = { title: 'status', cell: ({ status }) => ({ text: status, style: statusStyle(status) }) };
/** @type {Column} */
const CPU = { title: 'cpu', cell: ({ cpu }) => `${Number(cpu.toFixed(1))}%` };

/** @type {Column[]} */
const FULL = [
  ID, NAME,
  { title: 'namespace', cell: ({ namespace }) => namespace },
  { title: 'version', cell: ({ version }) => version },
  MODE,
  { title: 'pid', cell: ({ pid }) => (pid ? String(pid) : 'N/A') },
  { title: 'uptime', cell: (slot, nowMs) => uptimeOf(slot, nowMs) },
  RESTARTS, STATUS, CPU,
  { title: 'mem', cell: ({ memoryBytes }) => formatBytes(memoryBytes) },
  { title: 'user', cell: ({ user }) => user },
  { title: 'watching', cell: ({ watching }) => ({ text: watching ? 'enabled' : 'disabled', style: watching ? 'green' : 'grey' }) },
];

/** @type {Column[]} */
const CONDENSED = [ID, NAME, MODE, RESTARTS, STATUS, CPU, { title: 'memory', cell: ({ memoryBytes }) => formatBytes(memoryBytes) }];

/** @type {Column[]} */
const MINI = [ID, NAME, STATUS, CPU, { title: 'mem', cell: ({ memoryBytes }) => formatBytes(memoryBytes) }];

/**
 * The table: every column when it fits or when nobody looks (a pipe), else PM2's shorter ones.
 * @param {{slots: SlotStatus[]}} data
 * @param {View} view
 * @returns {string}
 */
export function renderList({ slots }, { columns, paint, nowMs, options }) {
  const sorted = sortSlots(slots, String(options.sort ?? 'name'), nowMs);
  if (options.miniList) return sorted.map((slot) => renderBlock(slot, nowMs)).join('');
  const tables = [FULL, CONDENSED, MINI];
  for (const table of tables) {
    const text = renderTable({ head: table.map(({ title }) => title), rows: sorted.map((slot) => table.map(({ cell }) => cell(slot, nowMs))), paint });
    if (columns === null || table === MINI || widthOf(text) <= columns) return text;
  }
  return '';
}

/**
 * @param {SlotStatus} slot
 * @param {number} nowMs
 * @returns {string}
 */
export function uptimeOf({ pid, startedAtMs }, nowMs) {
  return pid && startedAtMs !== null ? formatUptime(nowMs - startedAtMs) : '0';
}

/**
 * @param {import('../shared/protocol.js').ShownStatus} status
 * @returns {import('./paint.js').Style}
 */
export function statusStyle(status) {
  if (status === 'online') return 'green';
  return status === 'stopped' || status === 'errored' ? 'red' : 'yellow';
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

/** @param {string} table */
function widthOf(table) {
  return textWidth(table.slice(0, table.indexOf('\n')).replace(/\u001b\[\d+m/g, ''));
}
