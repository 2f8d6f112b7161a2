/** Characters that control a terminal, change the text direction, break a line or are invisible. */
export const HOSTILE = /[\u0000-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;

/**
 * Returns JSON that is safe for a terminal. Escapes the characters of HOSTILE, because
 * JSON.stringify() escapes only control characters below a space.
 * @param {unknown} value
 */
export function jsonLine(value) {
  return JSON.stringify(value).replace(HOSTILE, (found) => `\\u${found.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
