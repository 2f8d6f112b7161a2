import { cutLines, renderColumns } from './table.js';
import { toOneLine, textWidth } from './text.js';

/** @import { Progress, Waiting } from '../shared/wire/protocol.js' */
/** @import { Paint, Style } from './paint.js' */
/** @import { Cell } from './table.js' */

/** Maximum number of rows for waiting workers. If there are more, the last row counts the rest. */
const ROWS_MAX = 12;

/** @type {Record<string, Style>} */
const STYLES = {
  starting: 'cyan',
  loading: 'yellow',
  soaking: 'cyan',
  draining: 'yellow',
  parked: 'yellow',
  'backing off': 'red',
};

/**
 * @param {object} shown
 * @param {string} shown.doing  "Reloading api".
 * @param {number} shown.forMs  Time since the command began.
 * @param {Progress | null} shown.progress  Null: the manager has not reported yet.
 * @param {number} shown.ageMs  Age of the progress.
 * @param {{ columns: number, rows: number, paint: Paint }} view
 * @returns {string[]}
 */
export function renderProgress({ doing, forMs, progress, ageMs }, { columns, rows, paint }) {
  const { done = 0, total = 0, waiting = [] } = progress ?? {};
  const far = total > 0 ? `: ${done} of ${total} done` : '';
  const fitting = Math.max(1, Math.min(ROWS_MAX, rows - 3));
  const shown = waiting.length > fitting ? waiting.slice(0, fitting - 1) : waiting;
  const cells = shown.map((one) => formatCells(one, ageMs));
  const nameWidth = Math.min(Math.max(0, ...cells.map(([name]) => textWidth(String(name)))), Math.floor(columns / 3));
  const left = waiting.length - shown.length;
  const lines = [
    paint('bold', `${toOneLine(doing)}${far}, ${seconds(forMs)}`),
    ...renderColumns(cells, { paint, widths: [nameWidth, PHASE_WIDTH] }).map((line) => `  ${line}`),
    ...(left > 0 ? [`  and ${left} more`] : []),
  ];
  // Cuts the lines, because a line of the full width would wrap. Then the next block would not
  // overwrite this block.
  return cutLines(lines, columns - 1);
}

/** The width of the longest phase. A fixed width keeps the columns in place. */
const PHASE_WIDTH = 'backing off'.length;

/**
 * @param {Waiting} waiting
 * @param {number} ageMs
 * @returns {Cell[]}
 */
function formatCells({ name, slot, phase, forMs, detail, leftMs }, ageMs) {
  const left = leftMs === null ? [] : [`${seconds(Math.max(0, Math.ceil((leftMs - ageMs) / 1000) * 1000))} left`];
  const why = [...(detail === null ? [] : [detail]), ...left].join(', ');
  return [
    toOneLine(`${name} ${slot}`),
    { text: phase, style: STYLES[phase] ?? 'cyan' },
    seconds(forMs + ageMs).padStart(5),
    why,
  ];
}

/** @param {number} ms */
function seconds(ms) {
  const whole = Math.floor(ms / 1000);
  return whole < 60 ? `${whole}s` : `${Math.floor(whole / 60)}m${String(whole % 60).padStart(2, '0')}s`;
}
