import { oneLine, padEnd, textWidth } from './text.cjs';

/** @typedef {import('../shared/protocol.js').Progress} Progress */
/** @typedef {import('../shared/protocol.js').Waiting} Waiting */

/** Of what waits; the rest is counted. */
const ROWS_MAX = 12;

/** @type {Record<string, import('./paint.cjs').Style>} */
const STYLES = { starting: 'cyan', soaking: 'cyan', draining: 'yellow', parked: 'yellow', 'backing off': 'red' };

/**
 * What a person sees while a command waits: how far it is, and for each worker that is not there yet what it waits for and how long.
 * @param {object} shown
 * @param {string} shown.doing  "Reloading api".
 * @param {number} shown.forMs  Since the command began.
 * @param {Progress|null} shown.progress  Null before the manager has said anything.
 * @param {number} shown.ageMs  Of the progress.
 * @param {object} view
 * @param {number} view.columns
 * @param {number} view.rows
 * @param {import('./paint.cjs').Paint} view.paint
 * @returns {string[]}  Lines, each narrower than the terminal.
 */
export function renderProgress({ doing, forMs, progress, ageMs }, { columns, rows, paint }) {
  const { done = 0, total = 0, waiting = [] } = progress ?? {};
  const far = total > 0 ? `: ${done} of ${total} done` : '';
  const head = cut(`${oneLine(doing)}${far}, ${seconds(forMs)}`, columns);
  const fitting = Math.max(1, Math.min(ROWS_MAX, rows - 3));
  const shown = waiting.length > fitting ? waiting.slice(0, fitting - 1) : waiting;
  const names = shown.map(({ name, slot }) => `${oneLine(name)} ${slot}`);
  const width = Math.min(Math.max(0, ...names.map(textWidth)), Math.floor(columns / 3));
  const lines = shown.map((one, at) => row(one, cut(names[at], width + 1), { width, ageMs, columns, paint }));
  const left = waiting.length - shown.length;
  return [paint('bold', head), ...lines, ...(left > 0 ? [cut(`  and ${left} more`, columns)] : [])];
}

/**
 * @param {Waiting} waiting
 * @param {string} name
 * @param {{width: number, ageMs: number, columns: number, paint: import('./paint.cjs').Paint}} o
 */
function row({ phase, forMs, detail, leftMs }, name, { width, ageMs, columns, paint }) {
  const spent = seconds(forMs + ageMs).padStart(5);
  const left = leftMs === null ? [] : [`${seconds(Math.max(0, Math.ceil((leftMs - ageMs) / 1000) * 1000))} left`];
  const why = [...(detail === null ? [] : [oneLine(detail)]), ...left].join(', ');
  const start = `  ${padEnd(name, width)}  `;
  const rest = cut(`${phase.padEnd(11)} ${spent}${why === '' ? '' : `  ${why}`}`, columns - textWidth(start));
  return `${start}${paint(STYLES[phase] ?? 'cyan', rest.slice(0, phase.length))}${rest.slice(phase.length)}`;
}

/**
 * A line as long as the terminal is wide would wrap, and the block could not be found again.
 * @param {string} text
 * @param {number} columns
 */
function cut(text, columns) {
  if (textWidth(text) < columns) return text;
  let kept = '';
  for (const character of text) {
    if (textWidth(kept + character) >= columns - 1) break;
    kept += character;
  }
  return columns > 1 ? `${kept}…` : '';
}

/** @param {number} ms */
function seconds(ms) {
  const whole = Math.floor(ms / 1000);
  return whole < 60 ? `${whole}s` : `${Math.floor(whole / 60)}m${String(whole % 60).padStart(2, '0')}s`;
}
