// Our own lines because cli-table3 takes 211 ms to lay out 500 rows of 13 cells (Node 20); this takes about 4.
'use strict';

/** @typedef {import('./paint.cjs').Style} Style */
/** @typedef {string | {text: string, style: Style|null}} Cell */
/** @typedef {{text: string, width: number, style: Style|null}} Measured  Once for each cell: that is most of the work. */

/**
 * @param {object} o
 * @param {string[]} [o.head]
 * @param {Cell[][]} o.rows
 * @param {import('./paint.cjs').Paint} o.paint
 * @returns {string}  Ends with a newline.
 */
function renderTable({ head, rows, paint }) {
  const body = rows.map((row) => row.map(measured));
  const titles = head?.map((title) => measured({ text: title, style: 'cyan' }));
  const widths = (titles ?? body[0] ?? []).map((_, column) => body.reduce((width, row) => Math.max(width, row[column].width), titles?.[column].width ?? 0));
  const bar = paint('grey', '│');
  const line = (/** @type {Measured[]} */ cells) => `${bar} ${cells.map((cell, column) => padded(cell, widths[column], paint)).join(` ${bar} `)} ${bar}`;
  const top = titles ? [line(titles), border('├┼┤', widths, paint)] : [];
  return `${[border('┌┬┐', widths, paint), ...top, ...body.map(line), border('└┴┘', widths, paint)].join('\n')}\n`;
}

/**
 * Nearly every cell is plain: the module for the others is read when the first one comes.
 * @param {Cell} cell
 * @returns {Measured}
 */
function measured(cell) {
  const { text, style } = typeof cell === 'string' ? { text: cell, style: null } : cell;
  if (PLAIN.test(text)) return { text, width: text.length, style };
  const { oneLine, textWidth } = require('./text.cjs');
  const shown = oneLine(text);
  return { text: shown, width: textWidth(shown), style };
}

/** Printable, and one column wide each. */
const PLAIN = /^[\u0020-\u007e\u00a1-\u02ff\u2190-\u23ff\u2500-\u259f]*$/;

/**
 * The style ends with the text: an inverse or underlined cell must not paint its padding.
 * @param {Measured} cell
 * @param {number} columns
 * @param {import('./paint.cjs').Paint} paint
 */
function padded({ text, width, style }, columns, paint) {
  return (style ? paint(style, text) : text) + ' '.repeat(columns - width);
}

/**
 * @param {string} corners  Left, middle, right.
 * @param {number[]} widths
 * @param {import('./paint.cjs').Paint} paint
 */
function border(corners, widths, paint) {
  const [left, middle, right] = corners;
  return paint('grey', left + widths.map((width) => '─'.repeat(width + 2)).join(middle) + right);
}

module.exports = { renderTable };
