export const HOME = '\u001b[H';
export const CLEAR_SCREEN = '\u001b[2J';
export const CLEAR_TO_END_OF_LINE = '\u001b[K';
export const CLEAR_BELOW = '\u001b[J';

/**
 * @param {number} lines
 * @returns {string}  A code that moves the cursor up, to the beginning of a line. Empty: 0 lines.
 */
export function moveUp(lines) {
  return lines === 0 ? '' : `\r\u001b[${lines}A`;
}

/**
 * @param {number} column
 * @param {number} row  Both from 0.
 */
export function moveTo(column, row) {
  return `\u001b[${row + 1};${column + 1}H`;
}
