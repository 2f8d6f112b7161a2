import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);

const LETTERS = '\\u0020-\\u007e\\u00a1-\\u00ac\\u00ae-\\u02ff';
const SIGNS =
  '\\u2190-\\u2319\\u231c-\\u2328\\u232b-\\u23e8\\u23ed-\\u23ef\\u23f1\\u23f2\\u23f4-\\u23ff\\u2500-\\u259f';

/**
 * Printable, and one column wide each. string-width is about a hundred times slower, and nearly
 * every text is plain.
 */
const PLAIN = new RegExp(`^[${LETTERS}${SIGNS}]*$`);

/**
 * Control characters, those that turn the direction of the text, and those that break a line or
 * cannot be seen.
 */
const HOSTILE = /[\u0000-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;

/**
 * @param {string} text
 * @returns {boolean}  Whether each of its characters takes one column, on every terminal.
 */
export function isPlain(text) {
  return PLAIN.test(text);
}

/**
 * Makes a text safe for one line of a terminal: an app may be named with escape codes.
 * @param {string} text
 * @returns {string}  With "?" in place of what could do something to the terminal.
 */
export function toOneLine(text) {
  return isPlain(text) ? text : text.replace(HOSTILE, '?');
}

/**
 * Makes a text of several lines safe for a terminal.
 * @param {string} text
 * @returns {string}  With "?" as of toOneLine(). Line ends and tabs stay.
 */
export function escapeControls(text) {
  return text.replace(/\r\n/g, '\n').replace(HOSTILE, (found) => (found === '\n' || found === '\t' ? found : '?'));
}

/**
 * JSON on one line that does nothing to a terminal. JSON.stringify() itself escapes no more than
 * the characters below a space.
 * @param {unknown} value
 * @returns {string}  With \uXXXX in place of what could do something. Programs read the same value.
 */
export function jsonLine(value) {
  const text = JSON.stringify(value);
  return isPlain(text)
    ? text
    : text.replace(HOSTILE, (found) => `\\u${found.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/**
 * Columns a text takes on a terminal.
 * @param {string} text
 */
export function textWidth(text) {
  if (isPlain(text)) return text.length;
  // Read when the first such text comes.
  return /** @type {typeof import('string-width')} */ (require('string-width'))(text);
}

/**
 * @param {string} text
 * @param {number} width
 */
export function padEnd(text, width) {
  return text + ' '.repeat(Math.max(0, width - textWidth(text)));
}
