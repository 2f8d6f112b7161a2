import { renderTable, tableWidth } from './table.js';

/** @import { BriefStatus, ShownStatus } from '../shared/wire/protocol.js' */
/** @import { Paint, Style } from './paint.js' */
/** @import { Cell } from './table.js' */

/**
 * @typedef {BriefStatus & { shown?: Record<string, Cell> }} Row  `shown`: other cells, by column
 *   title.
 */
/** @typedef {{ title: string, cell: (slot: BriefStatus, nowMs: number) => Cell }} Column */

/**
 * @typedef {object} View
 * @property {number | null} columns  Null: the output is not a terminal.
 * @property {Paint} paint
 * @property {number} nowMs
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
const STATUS = {
  title: 'status',
  cell: ({ status }) => ({ text: needsAttention(status) ? `${status} !` : status, style: statusStyle(status) }),
};
/** @type {Column} */
const CPU = { title: 'cpu', cell: ({ cpu }) => `${Number(cpu.toFixed(1))}%` };

/** @type {Column[]} */
const FULL = [
  ID,
  NAME,
  { title: 'namespace', cell: ({ namespace }) => namespace },
  { title: 'version', cell: ({ version }) => version },
  MODE,
  { title: 'pid', cell: ({ pid }) => (pid ? String(pid) : 'N/A') },
  { title: 'uptime', cell: (slot, nowMs) => slotUptime(slot, nowMs) },
  RESTARTS,
  STATUS,
  CPU,
  { title: 'mem', cell: ({ memoryBytes }) => formatBytes(memoryBytes) },
  { title: 'user', cell: ({ user }) => user },
  {
    title: 'watching',
    cell: ({ watching }) => ({ text: watching ? 'enabled' : 'disabled', style: watching ? 'green' : 'grey' }),
  },
];

/** @type {Column[]} */
const CONDENSED = [
  ID,
  NAME,
  MODE,
  RESTARTS,
  STATUS,
  CPU,
  { title: 'memory', cell: ({ memoryBytes }) => formatBytes(memoryBytes) },
];

/** @type {Column[]} */
const MINI = [ID, NAME, STATUS, CPU, { title: 'mem', cell: ({ memoryBytes }) => formatBytes(memoryBytes) }];

/**
 * Renders all columns if they fit or if the output is not a terminal. Otherwise renders one of the
 * two shorter tables that PM2 also has.
 * @param {Row[]} slots
 * @param {View} view
 */
export function renderSlots(slots, { columns, paint, nowMs }) {
  for (const table of [FULL, CONDENSED, MINI]) {
    const head = table.map(({ title }) => title);
    const rows = slots.map((slot) => table.map(({ title, cell }) => slot.shown?.[title] ?? cell(slot, nowMs)));
    if (columns === null || table === MINI || tableWidth([head, ...rows]) <= columns)
      return renderTable({ head, rows, paint, columns });
  }
  return '';
}

/**
 * @param {Pick<BriefStatus, 'name' | 'id'>} a
 * @param {Pick<BriefStatus, 'name' | 'id'>} b
 */
export function compareNames(a, b) {
  if (a.name === b.name) return a.id - b.id;
  return a.name < b.name ? -1 : 1;
}

/**
 * @param {Pick<BriefStatus, 'pid' | 'startedAtMs'>} slot
 * @param {number} nowMs
 */
export function slotUptime({ pid, startedAtMs }, nowMs) {
  return pid && startedAtMs !== null ? formatUptime(nowMs - startedAtMs) : '0';
}

/**
 * @param {ShownStatus} status
 * @returns {Style}
 */
export function statusStyle(status) {
  if (status === 'online') return 'green';
  return status === 'stopped' || status === 'errored' ? 'red' : 'yellow';
}

/**
 * Whether the slot is down although the user did not stop it.
 * @param {ShownStatus} status
 */
export function needsAttention(status) {
  return status === 'errored' || status === 'waiting restart';
}

/**
 * PM2's short form: "12s", "5m", "3h", "2D".
 * @param {number} ms
 */
export function formatUptime(ms) {
  if (ms < MINUTE_MS) return `${Math.max(0, Math.floor(ms / 1_000))}s`;
  if (ms < HOUR_MS) return `${Math.floor(ms / MINUTE_MS)}m`;
  if (ms < DAY_MS) return `${Math.floor(ms / HOUR_MS)}h`;
  return `${Math.floor(ms / DAY_MS)}D`;
}

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/**
 * PM2's form: "0b", "12.3kb", "45.1mb", "1.2gb".
 * @param {number} bytes
 */
export function formatBytes(bytes) {
  if (bytes < KB) return `${Math.round(bytes)}b`;
  if (bytes < MB) return `${(bytes / KB).toFixed(1)}kb`;
  if (bytes < GB) return `${(bytes / MB).toFixed(1)}mb`;
  return `${(bytes / GB).toFixed(1)}gb`;
}

const KB = 1024;
const MB = 1024 ** 2;
const GB = 1024 ** 3;
