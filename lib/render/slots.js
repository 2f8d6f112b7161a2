import { formatBytes } from '../figures/format.js';
import { statusWord, uptimeText } from '../figures/rows.js';
import { renderTable, tableWidth } from './table.js';

/** @import { StatusWord } from '../figures/rows.js' */
/** @import { BriefStatus } from '../shared/wire/protocol.js' */
/** @import { Paint, Style } from './paint.js' */
/** @import { Cell } from './table.js' */

/**
 * @typedef {BriefStatus & { shown?: Record<string, Cell> }} SlotRow  `shown`: other cells, by column
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
  cell({ status, troubles = [] }) {
    const word = statusWord(status, troubles);
    return { text: troubles.length > 0 ? `${word} !` : word, style: statusStyle(word) };
  },
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
  { title: 'uptime', cell: (slot, nowMs) => uptimeText([slot], nowMs) || '0' },
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
 * @param {SlotRow[]} slots
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
 * @param {StatusWord} status
 * @returns {Style}
 */
export function statusStyle(status) {
  if (status === 'online') return 'green';
  return status === 'stopped' || status === 'errored' || status === 'crashing' ? 'red' : 'yellow';
}
