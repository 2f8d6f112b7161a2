import { TIMER_MAX_MS } from '../units.js';

/**
 * @typedef {object} Rule
 * @property {(value: unknown) => boolean} accepts
 * @property {string} accepted
 * @property {unknown} [fallback]  A field without a fallback is required.
 */

/**
 * @param {string[]} words
 * @param {string} [fallback]
 * @returns {Rule}
 */
export function oneOf(words, fallback) {
  return {
    accepts: (value) => words.includes(/** @type {string} */ (value)),
    accepted: words.map((word) => `"${word}"`).join(' or '),
    fallback,
  };
}

/**
 * @param {boolean} fallback
 * @returns {Rule}
 */
export function flag(fallback) {
  return { accepts: (value) => typeof value === 'boolean', accepted: 'true or false', fallback };
}

/**
 * @param {number} fallback
 * @returns {Rule}
 */
export function whole(fallback) {
  return {
    accepts: (value) => isWhole(value) && value <= TIMER_MAX_MS,
    accepted: `a whole number from 0 to ${TIMER_MAX_MS}`,
    fallback,
  };
}

/** @returns {Rule} */
export function texts() {
  return { accepts: (value) => Array.isArray(value) && value.every(isText), accepted: 'a list of texts', fallback: [] };
}

/**
 * @param {Rule} rule
 * @param {string} meaning
 * @returns {Rule}
 */
export function nullable({ accepts, accepted }, meaning) {
  return {
    accepts: (value) => value === null || accepts(value),
    accepted: `${accepted}, or null for ${meaning}`,
    fallback: null,
  };
}

/**
 * @param {unknown} value
 * @returns {value is number}
 */
export function isWhole(value) {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}

/**
 * Refuses a text with NUL, because execve() would cut the text at NUL.
 * @param {unknown} value
 * @returns {value is string}
 */
export function isText(value) {
  return typeof value === 'string' && !value.includes('\0');
}

/**
 * @param {unknown} value
 * @returns {value is string}
 */
export function isFilled(value) {
  return isText(value) && value.trim() !== '';
}
