import { createRequire } from 'node:module';
import { HOSTILE, jsonLine } from '../shared/daemon/json-line.js';

export { jsonLine };

const require = createRequire(import.meta.url);

const LETTERS = '\\u0020-\\u007e\\u00a1-\\u00ac\\u00ae-\\u02ff';
const SIGNS =
  '\\u2190-\\u2319\\u231c-\\u2328\\u232b-\\u23e8\\u23ed-\\u23ef\\u23f1\\u23f2\\u23f4-\\u23ff\\u2500-\\u259f';

/**
 * Characters that take one column. Nearly every text has only such characters, and this test is
 * about 100 times faster than string-width.
 */
const PLAIN = new RegExp(`^[${LETTERS}${SIGNS}]*$`);

/** @param {string} text */
export function isPlain(text) {
  return PLAIN.test(text);
}

/**
 * Makes a text safe for a terminal, because the name of an app may contain escape codes.
 * @param {string} text
 */
export function toOneLine(text) {
  return isPlain(text) ? text : text.replace(HOSTILE, '?');
}

/**
 * Like toOneLine(), but keeps line ends and tabs.
 * @param {string} text
 */
export function escapeControls(text) {
  return text.replace(/\r\n/g, '\n').replace(HOSTILE, (found) => (found === '\n' || found === '\t' ? found : '?'));
}

/**
 * Leaves no half of a character, because some services refuse a text with one.
 * @param {string} text
 * @param {number} max  In UTF-16 units.
 */
export function cutText(text, max) {
  return text.length <= max ? text : `${text.slice(0, max - 1).replace(/[\ud800-\udbff]$/, '')}…`;
}

/** @param {string} text */
export function textWidth(text) {
  if (isPlain(text)) return text.length;
  return /** @type {typeof import('string-width')} */ (require('string-width'))(text);
}

/**
 * @param {string} text
 * @param {number} width
 */
export function padEnd(text, width) {
  return text + ' '.repeat(Math.max(0, width - textWidth(text)));
}
