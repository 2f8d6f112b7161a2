import { figureText, rowStatus, uptimeText } from '../figures/rows.js';
import { statusStyle } from '../render/slots.js';
import { LAST_BRANCH } from '../render/table.js';
import { toOneLine, textWidth } from '../render/text.js';
import { describeTrouble } from '../render/troubles.js';
import { firstVisible } from './layout.js';
import { put, restyle } from './screen.js';
import { sparkline } from './trends.js';

/** @import { FigureRow } from '../figures/rows.js' */
/** @import { Box } from './layout.js' */
/** @import { Screen } from './screen.js' */
/** @import { State } from './state.js' */
/** @import { Span } from './trends.js' */

/** @typedef {{ row: FigureRow, state: State, marks: string, width: number }} Given */

/**
 * @typedef {object} Column
 * @property {string} title
 * @property {number} width
 * @property {number} rank  Columns with a high rank are left out first. 0: never.
 * @property {boolean} [isLeft]
 * @property {string} [field]
 * @property {(given: Given) => string | { text: string, style: string }} cell
 */

const NAME_MIN = 14;
const NAME_MAX = 32;
const SPARK_MAX = 40;

/** @type {Column[]} */
const COLUMNS = [
  { title: 'id', width: 5, rank: 0, cell: ({ row }) => ({ text: `${row.worker?.id ?? ''}`, style: 'cyan' }) },
  { title: 'name', width: NAME_MIN, rank: 0, isLeft: true, field: 'name', cell: getName },
  { title: 'status', width: 15, rank: 0, isLeft: true, cell: statusCell },
  { title: 'cpu', width: 6, rank: 0, field: 'cpu', cell: ({ row }) => figureText(row.of, 'cpu') },
  {
    title: '',
    width: 10,
    rank: 2,
    isLeft: true,
    cell: ({ row, state, marks, width }) => ({
      text: sparkline(state.sparks.get(row.key) ?? [], { width, max: 100 * Math.max(1, row.app?.online ?? 1), marks }),
      style: 'green',
    }),
  },
  { title: 'mem', width: 8, rank: 0, field: 'memory', cell: ({ row }) => figureText(row.of, 'memoryBytes') },
  { title: 'req/s', width: 7, rank: 3, field: 'requests', cell: ({ row }) => figureText(row.of, 'requestsPerS') },
  { title: 'loop', width: 7, rank: 4, cell: ({ row }) => figureText(row.of, 'delayP99Ms') },
  { title: '↺', width: 4, rank: 1, field: 'restarts', cell: ({ row }) => figureText(row.of, 'restarts') },
  { title: 'up', width: 4, rank: 5, cell: ({ row, state }) => uptimeText(row.workers, state.nowMs) },
  { title: 'pid', width: 8, rank: 6, cell: ({ row }) => `${row.worker?.pid || ''}` },
  { title: 'heap', width: 8, rank: 7, cell: ({ row }) => figureText(row.of, 'heapUsedBytes') },
  { title: 'fds', width: 5, rank: 8, cell: ({ row }) => figureText(row.of, 'fds') },
];

/**
 * @param {Screen} screen
 * @param {Box} box
 * @param {{ state: State, rows: FigureRow[], marks: string }} o
 */
export function drawTable(screen, box, { state, rows, marks }) {
  if (box.height <= 0) return;
  const columns = chooseColumns(box.width);
  const titles = columns.map((column) => {
    const style = column.field === state.sort.field ? 'bold cyan' : 'cyan';
    return { column, text: formatTitle(column, state), style };
  });
  drawLine(screen, box, box.y, titles);
  const height = box.height - 1;
  const selected = rows.findIndex(({ key }) => key === state.selected);
  const top = firstVisible(height, Math.max(0, selected), rows.length);
  for (const [at, row] of rows.slice(top, top + height).entries()) {
    const y = box.y + 1 + at;
    const cells = columns.map((column) => {
      const cell = column.cell({ row, state, marks, width: column.width });
      return { column, ...(typeof cell === 'string' ? { text: cell, style: '' } : cell) };
    });
    drawLine(screen, box, y, cells);
    if (row.key !== state.selected) continue;
    put(screen, { x: box.x, y, text: '>', width: 1 });
    restyle(screen, { x: box.x, y, width: box.width, style: 'inverse' });
  }
  if (rows.length === 0)
    put(screen, { x: box.x + 2, y: box.y + 1, text: emptyTableText(state), style: 'grey', width: box.width - 2 });
}

/** @param {State} state */
function emptyTableText({ sample, filter }) {
  if (!sample) return 'Waiting for the first figures ...';
  return filter
    ? `No row contains "${filter}". Press Esc to show all.`
    : 'No app is in the list. Start one with: nclust start app.js';
}

/**
 * Name and sparkline get the remaining width.
 * @param {number} width
 * @returns {Column[]}
 */
function chooseColumns(width) {
  const kept = new Set(COLUMNS);
  const taken = () => [...kept].reduce((sum, column) => sum + column.width + 1, 1);
  for (const column of [...COLUMNS].sort((a, b) => b.rank - a.rank))
    if (taken() > width && column.rank > 0) kept.delete(column);
  let left = Math.max(0, width - taken());
  return COLUMNS.filter((column) => kept.has(column)).map((column) => {
    const most = column.title === 'name' ? NAME_MAX : column.title === '' ? SPARK_MAX : column.width;
    const more = Math.min(left, most - column.width);
    left -= more;
    return { ...column, width: column.width + more };
  });
}

/**
 * @param {Screen} screen
 * @param {Box} box
 * @param {number} y
 * @param {{ column: Column, text: string, style: string }[]} cells
 */
function drawLine(screen, box, y, cells) {
  let x = box.x + 1;
  for (const { column, text, style } of cells) {
    const room = Math.max(0, Math.min(column.width, box.x + box.width - x));
    const indent = column.isLeft ? 0 : Math.max(0, room - textWidth(text));
    put(screen, { x: x + indent, y, text, style, width: room - indent });
    x += column.width + 1;
  }
}

/**
 * @param {Column} column
 * @param {State} state
 */
function formatTitle({ title, field }, { sort }) {
  if (field !== sort.field) return title;
  return `${title}${(field === 'name') === sort.isReversed ? '▾' : '▴'}`;
}

/** @param {Given} given */
function getName({ row, width }) {
  if (!row.app) return { text: `  ${LAST_BRANCH}${row.worker?.slot}`, style: 'grey' };
  const sign = row.worker ? ' ' : row.isExpanded ? '-' : '+';
  const name = toOneLine(row.app.name);
  return { text: `${sign} ${textWidth(name) > width - 2 ? `${cut(name, width - 3)}~` : name}`, style: 'bold' };
}

/**
 * @param {string} text
 * @param {number} width
 */
function cut(text, width) {
  let kept = '';
  for (const character of text) {
    if (textWidth(kept + character) > width) break;
    kept += character;
  }
  return kept;
}

/** @param {Given} given */
function statusCell({ row }) {
  const status = rowStatus(row);
  const sign = row.troubles.length > 0 ? ' !' : '';
  const online = row.app && row.workers.length > 1 ? ` ${row.app.online}/${row.app.workers}` : '';
  const text = `${status === 'waiting restart' ? 'waiting' : status}${online}${sign}`;
  return {
    text,
    style: status === 'stopped' ? 'grey' : `${sign && 'bold '}${statusStyle(status)}`,
  };
}

/**
 * @param {Screen} screen
 * @param {Box} box
 * @param {{ row: FigureRow | null, nowMs: number, span: Span }} o
 */
export function drawTitle(screen, box, { row, nowMs, span }) {
  drawRule(screen, box, row ? `${span === 'hours' ? 'last 6 hours · ' : ''}${formatWords(row, nowMs)}` : '', 'bold');
}

/**
 * @param {Screen} screen
 * @param {Box} box
 * @param {string} text
 * @param {string} [style]
 */
export function drawRule(screen, box, text, style = 'cyan') {
  if (box.height <= 0) return;
  put(screen, { x: box.x, y: box.y, text: '─'.repeat(box.width), style: 'grey' });
  if (text) put(screen, { x: box.x + 2, y: box.y, text: ` ${text} `, style, width: Math.max(0, box.width - 3) });
}

/**
 * @param {FigureRow} row
 * @param {number} nowMs
 */
function formatWords(row, nowMs) {
  const { app, worker, workers, troubles } = row;
  const name = app?.name ?? worker?.name ?? '';
  const trouble = troubles.length > 0 ? [describeTrouble(troubles[0], worker ? undefined : workers.length).text] : [];
  if (!worker) return [`${name}: ${app?.online} of ${app?.workers} online`, ...trouble].join(' · ');
  const parts = [app ? name : `${name}, instance ${worker.slot}`, `id ${worker.id}`, rowStatus(row), ...trouble];
  if (worker.pid) parts.push(`pid ${worker.pid}`);
  const up = uptimeText([worker], nowMs);
  if (up !== '') parts.push(`up ${up}`);
  return parts.join(' · ');
}

/** @type {[string, ...string[]][]} */
const NUMBERS = [
  ['heap', 'heapUsedBytes', 'oldSpaceLimitBytes'],
  ['loop', 'elu'],
  ['p50/p95/p99', 'latencyP50Ms', 'latencyP95Ms', 'latencyP99Ms'],
  ['5xx/s', 'errorsPerS'],
  ['active', 'activeRequests'],
  ['conns', 'connections'],
  ['gc', 'gcMsPerS'],
  ['fds', 'fds'],
  ['handles', 'handles'],
  ['restarts', 'restarts'],
  ['crashes', 'crashes'],
  ['generation', 'generation'],
];

/**
 * @param {Screen} screen
 * @param {Box} box
 * @param {FigureRow} row
 */
export function drawNumbers(screen, box, { app, worker }) {
  // Some figures are only those of a worker.
  const of = /** @type {FigureRow['of']} */ ({ ...worker, ...app });
  let [x, y] = [box.x + 1, box.y];
  for (const [label, ...names] of NUMBERS) {
    const texts = names.map((name) => figureText(of, name));
    if (texts[0] === '') continue;
    const value = texts.filter((text) => text !== '').join(label === 'heap' ? '/' : ' ');
    if (x + label.length + value.length + 1 > box.x + box.width) [x, y] = [box.x + 1, y + 1];
    if (y >= box.y + box.height) return;
    x = put(screen, { x, y, text: `${label} `, style: 'grey' });
    x = put(screen, { x, y, text: value }) + 2;
  }
}
