'use strict';

/**
 * Makes a text safe for one line of a terminal: control characters and those that turn its direction (an app may be named with escape codes) are shown as "?".
 * @param {string} text
 * @returns {string}
 */
function oneLine(text) {
  return text.replace(/[\u0000-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g, '?');
}

/**
 * Columns a text takes on a terminal.
 * @param {string} text  Without escape codes.
 * @returns {number}
 */
function textWidth(text) {
  let width = 0;
  for (const character of text) width += characterWidth(/** @type {number} */ (character.codePointAt(0)));
  return width;
}

/**
 * @param {string} text
 * @param {number} width
 * @returns {string}
 */
function padEnd(text, width) {
  return text + ' '.repeat(Math.max(0, width - textWidth(text)));
}

/**
 * @param {number} code
 * @returns {0|1|2}
 */
function characterWidth(code) {
  if ((code >= 0x300 && code <= 0x36f) || code === 0x200b || code === 0x200d || (code >= 0xfe00 && code <= 0xfe0f)) return 0;
  const isWide = (code >= 0x1100 && code <= 0x115f) || (code >= 0x2e80 && code <= 0xa4cf) || (code >= 0xac00 && code <= 0xd7a3)
    || (code >= 0xf900 && code <= 0xfaff) || (code >= 0xfe30 && code <= 0xfe6f) || (code >= 0xff00 && code <= 0xff60)
    || (code >= 0xffe0 && code <= 0xffe6) || (code >= 0x1f300 && code <= 0x1faff) || (code >= 0x20000 && code <= 0x3fffd);
  return isWide ? 2 : 1;
}

module.exports = { oneLine, textWidth, padEnd };
