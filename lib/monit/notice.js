/** @import { State } from './state.js' */

const NOTICE_MS = 6_000;

/**
 * @param {State} state
 * @param {string} text
 * @param {string} style
 * @returns {State}
 */
export function showNotice(state, text, style) {
  return { ...state, notice: { text, style, untilMs: state.nowMs + NOTICE_MS } };
}
