import { createRequire } from 'node:module';
import { toOneLine, textWidth } from './text.js';

/** @import { Paint, Style } from './paint.js' */

// Loads the module with require(), because an import of CommonJS takes a third longer.
const Table = /** @type {typeof import('cli-table3')} */ (createRequire(import.meta.url)('cli-table3'));

/**
 * A cell that may be cut must not be dim, because cli-table3 would not end the style.
 * @typedef {string | { text: string, style: Style | null }} Cell
 */

export const BRANCH = '├ ';
export const LAST_BRANCH = '└ ';

/**
 * Number of texts that share a cell. It is small, because cli-table3 measures the whole cell again
 * for each line.
 */
const TEXTS_IN_ONE = 4;

/** Minimum width of a column, because shorter beginnings of names look alike. */
const WIDTH_MIN = 5;

const PADDING = 2;

const NO_LINES = Object.fromEntries(Object.keys(new Table().options.chars).map((name) => [name, '']));

/**
 * @param {object} o
 * @param {string[]} [o.head]
 * @param {Cell[][]} o.rows
 * @param {Paint} o.paint
 * @param {number | null} [o.columns]  Width of the terminal. If the table is wider, its widest
 *   columns are cut, and end in "…".
 * @param {boolean} [o.isWrapped]  Wraps the last column between words, and cuts no text. If a
 *   word is too wide for the terminal, the table has no frame.
 * @returns {string}  Ends with a newline.
 */
export function renderTable({ head, rows, paint, columns = null, isWrapped = false }) {
  const widths = getWidths(head ? [head, ...rows] : rows);
  if (columns !== null) (isWrapped ? wrapLast : narrow)(widths, { columns, rows });
  if (isWrapped && columns !== null && sum(widths) > columns)
    return renderColumns(rows, { paint, columns })
      .map((line) => `${line}\n`)
      .join('');
  const bar = paint('grey', '│');
  const cells = rows.map((row) => row.map((cell) => paintCell(cell, paint)));
  const draw = (/** @type {string[][]} */ body) => {
    const table = new Table({
      head: (head ?? []).map((title) => paint('cyan', title)),
      chars: { left: bar, middle: bar, right: bar },
      style: { head: [], border: [], compact: true },
      colWidths: [...widths],
      wordWrap: isWrapped,
    });
    table.push(...body);
    return toLines(table);
  };
  if (isWrapped || !head || rows.length === 0) return finished(draw(cells), head ? 2 : 0, paint);
  // The frame has one empty row. The real rows replace it.
  const frame = draw([head.map(() => '')]);
  return finished([...frame.slice(0, 3), ...formatBody(cells, widths, bar), frame[4]], 2, paint);
}

/**
 * Draws each column as its own table, because cli-table3 is slow for many cells. Most texts repeat,
 * so each different text is drawn only once, and four texts share a cell. 500 rows of 13 cells take
 * a sixth of the time.
 * @param {string[][]} rows
 * @param {number[]} widths
 * @param {string} bar
 */
function formatBody(rows, widths, bar) {
  const columns = widths.map((width, at) => {
    const texts = [...new Set(rows.map((row) => row[at]))];
    const table = new Table({ chars: NO_LINES, style: { head: [], border: [] }, colWidths: [width] });
    for (let from = 0; from < texts.length; from += TEXTS_IN_ONE)
      table.push([texts.slice(from, from + TEXTS_IN_ONE).join('\n')]);
    const drawn = toLines(table);
    return new Map(texts.map((text, line) => [text, drawn[line]]));
  });
  return rows.map((row) => `${bar}${row.map((text, at) => columns[at].get(text)).join(bar)}${bar}`);
}

/**
 * @param {string[]} lines
 * @param {number} middle  Index of the line below the head. 0: no head.
 * @param {Paint} paint
 */
function finished(lines, middle, paint) {
  return lines
    .map((line, at) => `${at === 0 || at === middle || at === lines.length - 1 ? paint('grey', line) : line}\n`)
    .join('');
}

/**
 * Renders a table without a frame.
 * @param {Cell[][]} rows
 * @param {object} o
 * @param {Paint} o.paint
 * @param {number[]} [o.widths]  Widths of the first columns. A wider text is cut and ends in
 *   "…".
 * @param {number | null} [o.columns]  Width of the terminal. The last column is wrapped to fit.
 * @returns {string[]}
 */
export function renderColumns(rows, { paint, widths: given = [], columns = null }) {
  if (rows.length === 0) return [];
  const widths = getWidths(rows).map((width, at) => (given[at] === undefined ? width : given[at] + PADDING));
  if (columns !== null) wrapLast(widths, { columns: columns + widths.length + PADDING, rows });
  const table = new Table({
    chars: NO_LINES,
    style: { head: [], border: [], 'padding-left': 0, 'padding-right': PADDING },
    colWidths: widths,
    wordWrap: columns !== null,
  });
  table.push(...rows.map((row) => row.map((cell) => paintCell(cell, paint))));
  return toLines(table).map((line) => line.trimEnd());
}

/**
 * @param {string[]} lines  May contain colours. A line that is cut ends in "…".
 * @param {number} width
 */
export function cutLines(lines, width) {
  const table = new Table({
    chars: NO_LINES,
    style: { head: [], border: [], 'padding-left': 0, 'padding-right': 0 },
    colWidths: [width],
  });
  table.push(...lines.map((line) => [line]));
  return toLines(table).map((line) => line.trimEnd());
}

/** Half of a surrogate pair. cli-table3 leaves such a half when it cuts an emoji. */
const HALF = /[\ud800-\udbff](?![\udc00-\udfff])/g;

/** @param {import('cli-table3').Table} table */
function toLines(table) {
  return table.toString().replace(HALF, ' ').split('\n');
}

/**
 * @param {Cell} cell
 * @param {Paint} paint
 */
function paintCell(cell, paint) {
  if (typeof cell === 'string') return toOneLine(cell);
  return cell.style ? paint(cell.style, toOneLine(cell.text)) : toOneLine(cell.text);
}

/** @param {Cell} cell */
function toText(cell) {
  return toOneLine(typeof cell === 'string' ? cell : cell.text);
}

/**
 * @param {Cell[][]} rows
 * @returns {number[]}  Including the padding.
 */
function getWidths(rows) {
  /** @type {number[]} */
  const widths = [];
  for (const row of rows)
    for (const [at, cell] of row.entries()) widths[at] = Math.max(widths[at] ?? 0, textWidth(toText(cell)) + PADDING);
  return widths;
}

/**
 * Width in columns, including the frame.
 * @param {Cell[][]} rows
 */
export function tableWidth(rows) {
  return sum(getWidths(rows));
}

/** @param {number[]} widths */
function sum(widths) {
  return widths.reduce((whole, width) => whole + width + 1, 1);
}

/**
 * @param {number[]} widths
 * @param {{ columns: number }} o
 */
function narrow(widths, { columns }) {
  for (let left = sum(widths) - columns; left > 0; left -= 1) {
    const widest = widths.indexOf(Math.max(...widths));
    if (widths[widest] <= WIDTH_MIN + PADDING) return;
    widths[widest] -= 1;
  }
}

/**
 * @param {number[]} widths
 * @param {{ columns: number, rows: Cell[][] }} o
 */
function wrapLast(widths, { columns, rows }) {
  const last = widths.length - 1;
  const longestWord = rows
    .flatMap((row) => toText(row[last]).split(/\s+/))
    .reduce((widest, word) => Math.max(widest, textWidth(word)), 0);
  widths[last] = Math.max(longestWord + PADDING, widths[last] - Math.max(0, sum(widths) - columns));
}
