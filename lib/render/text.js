import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);

/** Printable, and one column wide each. Nearly every text is so, and for the others the library takes a hundred times as long. */
const PLAIN = /^[\u0020-\u007e\u00a1-\u02ff\u2190-\u23ff\u2500-\u259f]*$/;

/** Control characters, those that turn the direction of the text, and those that break a line or cannot be seen. */
const HOSTILE = /[\u0000-\u001f\u007f-\u009f\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;

/**
 * Makes a text safe for one line of a terminal: an app may be named with escape codes.
 * @param {string} text
 * @returns {string}  With "?" in place of what could do something to the terminal.
 */
export function oneLine(text) {
  return PLAIN.test(text) ? text : text.replace(HOSTILE, '?');
}

/**
 * Columns a text takes on a terminal.
 * @param {string} text
 * @returns {number}
 */
export function textWidth(text) {
  if (PLAIN.test(text)) return text.length;
  // Read when the first such text comes.
  return /** @type {typeof import('string-width')} */ (require('string-width'))(text);
}

/**
 * @param {string} text
 * @param {number} width
 * @returns {string}
 */
export function padEnd(text, width) {
  return text + ' '.repeat(Math.max(0, width - textWidth(text)));
}
