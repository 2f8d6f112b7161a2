import { CLEAR_SCREEN, moveTo } from '../render/cursor.js';
import { createPaint } from '../render/paint.js';
import { isPlain, toOneLine, textWidth } from '../render/text.js';

/** @import { ColourLevel, Style } from '../render/paint.js' */

/**
 * The second cell of a wide character is empty.
 * @typedef {object} Screen
 * @property {number} columns
 * @property {number} rows
 * @property {string[]} texts
 * @property {string[]} styles  Names separated by spaces: "bold red". Empty: no style.
 */

/** @typedef {{ columns: number, rows: number }} Size */

/**
 * @param {Size} size
 * @returns {Screen}
 */
export function createScreen({ columns, rows }) {
  return { columns, rows, texts: new Array(columns * rows).fill(' '), styles: new Array(columns * rows).fill('') };
}

/**
 * Cuts a text that does not fit. Control characters become "?".
 * @param {Screen} screen
 * @param {{ x: number, y: number, text: string, style?: string, width?: number }} o
 * @returns {number}  The column after the text.
 */
export function put(screen, { x, y, text, style = '', width = Infinity }) {
  const end = Math.min(screen.columns, x + width);
  if (y < 0 || y >= screen.rows) return x;
  for (const character of toOneLine(text)) {
    // Drops these characters, because terminals disagree about their width.
    if (JOINERS_AND_VARIANTS.test(character)) continue;
    const takes = textWidth(character);
    const at = y * screen.columns + x;
    if (takes === 0) {
      // A combining accent goes into the cell of its letter.
      if (x > 0) screen.texts[at - 1] += character;
      continue;
    }
    if (x + takes > end) break;
    screen.texts[at] = character;
    screen.styles[at] = style;
    if (takes === 2) {
      screen.texts[at + 1] = '';
      screen.styles[at + 1] = style;
    }
    x += takes;
  }
  return x;
}

const JOINERS_AND_VARIANTS = /[\u200b-\u200d\ufe00-\ufe0f]/;

/**
 * @param {Screen} screen
 * @param {{ x: number, y: number, width: number, style: string }} o
 */
export function restyle(screen, { x, y, width, style }) {
  if (y < 0 || y >= screen.rows) return;
  for (let at = y * screen.columns + x; at < y * screen.columns + Math.min(screen.columns, x + width); at += 1)
    screen.styles[at] = style;
}

/** Writes up to this number of unchanged cells again, because a cursor move takes more bytes. */
const JUMP_CELLS = 5;

/**
 * Returns the terminal codes for the cells that differ.
 * @param {Screen | null} before  Null: not known. A screen of another size counts as not known.
 * @param {Screen} after
 * @param {(style: string, text: string) => string} paint
 * @returns {string}
 */
export function difference(before, after, paint) {
  const isKnown = before !== null && before.columns === after.columns && before.rows === after.rows;
  const pieces = isKnown ? [] : [paint('reset', CLEAR_SCREEN)];
  let [style, run] = ['', ''];
  const endRun = () => {
    pieces.push(paint(style, run));
    run = '';
  };
  /** -1: not known. */
  let cursor = -1;
  const write = (/** @type {number} */ at) => {
    if (after.styles[at] !== style) endRun();
    style = after.styles[at];
    run += after.texts[at];
    // The position is unknown after a character that is not plain, because terminals disagree about
    // its width. It is also unknown after the last column, because line wrap is off.
    cursor = after.texts[at].length === 1 && isPlain(after.texts[at]) && (at + 1) % after.columns !== 0 ? at + 1 : -1;
  };
  for (let at = 0; at < after.texts.length; at += 1) {
    if (isKnown ? !differs(before, after, at) : after.texts[at] === ' ' && after.styles[at] === '') continue;
    if (after.texts[at] === '') continue; // The first half of a wide character writes both halves.
    if (cursor !== at && canFill(after, cursor, at, style)) while (cursor !== at && cursor !== -1) write(cursor);
    if (cursor !== at) {
      endRun();
      pieces.push(moveTo(at % after.columns, Math.floor(at / after.columns)));
    }
    write(at);
  }
  endRun();
  return pieces.join('');
}

/**
 * @param {Screen} before
 * @param {Screen} after
 * @param {number} at
 */
function differs(before, after, at) {
  if (before.texts[at] !== after.texts[at] || before.styles[at] !== after.styles[at]) return true;
  // If only the second half of a wide character differs, write the first half again.
  return after.texts[at + 1] === '' && before.texts[at + 1] !== '';
}

/**
 * @param {Screen} after
 * @param {number} cursor
 * @param {number} at
 * @param {string} style
 */
function canFill(after, cursor, at, style) {
  if (cursor === -1 || at - cursor > JUMP_CELLS) return false;
  for (let between = cursor; between < at; between += 1)
    if (!/^[ -~]$/.test(after.texts[between]) || after.styles[between] !== style) return false;
  return true;
}

const WITHOUT_COLOURS = ['bold', 'inverse', 'reset'];

/**
 * @param {ColourLevel} level
 * @returns {(style: string, text: string) => string}
 */
export function createPalette(level) {
  const paint = createPaint(level === 0 ? 1 : level);
  const isShown = (/** @type {string} */ name) => name !== '' && (level > 0 || WITHOUT_COLOURS.includes(name));
  return (style, text) =>
    style
      .split(' ')
      .filter(isShown)
      .reduce((painted, name) => paint(/** @type {Style} */ (name), painted), text);
}
