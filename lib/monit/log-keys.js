import { layOut } from './layout.js';
import { findLine, scrollLines } from './log-lines.js';
import { showNotice } from './notice.js';

/** @import { Key } from './keys.js' */
/** @import { State } from './state.js' */

const SIDEWAYS = 20;

/** @type {Record<string, (height: number) => number>} */
const SCROLLS = {
  up: () => -1,
  k: () => -1,
  down: () => 1,
  j: () => 1,
  pageup: (height) => -height,
  b: (height) => -height,
  pagedown: (height) => height,
  ' ': (height) => height,
  home: () => -Infinity,
  g: () => -Infinity,
};

/**
 * @param {State} state
 * @param {Key} key
 * @returns {State}
 */
export function onLogKey(state, { name }) {
  const { height } = layOut(state.size).page;
  const { logs } = state;
  if (name in SCROLLS) return { ...state, logs: scrollLines(logs, SCROLLS[name](height), height) };
  switch (name) {
    case 'end':
    case 'G':
    case 'f':
      return { ...state, logs: { ...logs, bottomSeq: null } };
    case 'right':
      return { ...state, logs: { ...logs, left: logs.left + SIDEWAYS } };
    case 'left':
      return { ...state, logs: { ...logs, left: Math.max(0, logs.left - SIDEWAYS) } };
    case '/':
      return { ...state, input: { kind: 'search', text: '', before: logs.search } };
    case '&':
      return { ...state, input: { kind: 'grep', text: logs.grep, before: logs.grep } };
    case 'n':
    case 'N':
      return findNext(state, name === 'n' ? 'older' : 'newer', height);
    case 'escape':
      return logs.search || logs.grep ? { ...state, logs: { ...logs, search: '', grep: '' } } : closeLogs(state);
    case 'l':
    case 'q':
      return closeLogs(state);
    default:
      return state;
  }
}

/**
 * @param {State} state
 * @returns {State}
 */
function closeLogs(state) {
  return { ...state, page: 'table', logs: { ...state.logs, search: '', grep: '', bottomSeq: null, left: 0 } };
}

/**
 * @param {State} state
 * @param {'older' | 'newer'} direction
 * @param {number} height
 * @returns {State}
 */
function findNext(state, direction, height) {
  if (state.logs.search === '') return showNotice(state, 'Type / and a text to search for', 'yellow');
  const logs = findLine(state.logs, direction, height);
  return logs
    ? { ...state, logs }
    : showNotice(state, `No ${direction} line contains "${state.logs.search}"`, 'yellow');
}
