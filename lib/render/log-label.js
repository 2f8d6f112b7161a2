import { oneLine, padEnd, textWidth } from './text.js';

/** @typedef {import('../shared/wire/protocol.js').LogEntry} LogEntry */

/** As wide as PM2's column; it grows with the names that come, up to a width that leaves room for the line. */
const WIDTH_MIN = 10;
const WIDTH_MAX = 30;

/** Not red, which is for errors. */
const COLOURS = /** @type {const} */ (['cyan', 'green', 'yellow', 'magenta', 'blue']);

/**
 * Labels one below the other: "0|api      | ", an app always in the same colour.
 * @param {import('./paint.js').Paint} paint
 * @returns {(entry: LogEntry) => string}
 */
export function createLabels(paint) {
  let width = WIDTH_MIN;
  return ({ id, name, stream }) => {
    const label = `${id}|${oneLine(name)}`;
    width = Math.max(width, Math.min(textWidth(label), WIDTH_MAX));
    return `${paint(colourOf(name), padEnd(label, width))}${stream === 'err' ? paint('red', ' | ') : paint('grey', ' | ')}`;
  };
}

/**
 * @param {string} name
 * @returns {typeof COLOURS[number]}
 */
export function colourOf(name) {
  let hash = 0;
  for (const character of name) hash = (Math.imul(hash, 31) + /** @type {number} */ (character.codePointAt(0))) >>> 0;
  return COLOURS[hash % COLOURS.length];
}
