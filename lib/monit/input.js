import { helpLines } from './help.js';
import { layOut } from './layout.js';
import { onLogKey } from './log-keys.js';
import { findLine } from './log-lines.js';
import { showNotice } from './notice.js';
import { onTableKey } from './table-keys.js';

/** @import { Key } from './keys.js' */
/** @import { State, Step } from './state.js' */

/**
 * @param {State} state
 * @param {Key} key
 * @returns {Step}
 */
export function onKey(state, key) {
  if (key.name === 'quit') return { state, effects: [{ type: 'quit' }] };
  if (key.name === 'suspend' || key.name === 'redraw') return { state, effects: [{ type: key.name }] };
  if (state.question) return onAnswer(state, state.question, key);
  if (state.input) return { state: onTextKey(state, state.input, key), effects: [] };
  if (key.name === 'paste') return { state, effects: [] };
  if (key.name === 'q' && state.page === 'table') return { state, effects: [{ type: 'quit' }] };
  if (key.name === '?')
    return { state: { ...state, page: state.page === 'help' ? 'table' : 'help', helpTop: 0 }, effects: [] };
  if (state.page === 'help') return { state: onHelpKey(state, key), effects: [] };
  return state.page === 'logs' ? { state: onLogKey(state, key), effects: [] } : onTableKey(state, key);
}

/**
 * @param {State} state
 * @param {NonNullable<State['question']>} question
 * @param {Key} key
 * @returns {Step}
 */
function onAnswer(state, { ask }, { name }) {
  if (name === 'y' || name === 'Y')
    return { state: showNotice({ ...state, question: null }, `${ask.doing} ...`, 'yellow'), effects: [ask] };
  return { state: { ...state, question: null, notice: null }, effects: [] };
}

/**
 * @param {State} state
 * @param {Key} key
 * @returns {State}
 */
function onHelpKey(state, { name }) {
  const by = Object.hasOwn(HELP_MOVES, name) ? HELP_MOVES[name] : null;
  if (by === null) return { ...state, page: 'table' };
  const last = Math.max(0, helpLines(state.size.columns).length - layOut(state.size).page.height);
  return { ...state, helpTop: Math.max(0, Math.min(state.helpTop + by, last)) };
}

/** @type {Record<string, number>} */
const HELP_MOVES = { down: 1, j: 1, up: -1, k: -1, pagedown: 10, ' ': 10, pageup: -10 };

const INPUT_MAX_CHARS = 200;

/**
 * The filter applies while the user types. The texts of "search" and "grep" apply after Enter.
 * @param {State} state
 * @param {NonNullable<State['input']>} input
 * @param {Key} key
 * @returns {State}
 */
function onTextKey(state, input, { name, text }) {
  if (name === 'escape') return { ...applyText(state, { ...input, text: input.before }), input: null };
  if (name === 'enter') return finishText({ ...state, input: null }, input);
  const after = { ...input, text: editText(input.text, name, text) };
  return { ...(input.kind === 'filter' ? applyText(state, after) : state), input: after };
}

/**
 * @param {string} before
 * @param {string} name
 * @param {string | undefined} text
 */
function editText(before, name, text) {
  if (name === 'backspace') return [...before].slice(0, -1).join('');
  if (name === 'clear') return '';
  // In a pasted text, a line end does not count as Enter.
  return text === undefined
    ? before
    : `${before}${text.replace(/[\u0000-\u001f\u007f]+/g, ' ')}`.slice(0, INPUT_MAX_CHARS);
}

/**
 * @param {State} state
 * @param {NonNullable<State['input']>} input
 * @returns {State}
 */
function applyText(state, { kind, text }) {
  if (kind === 'filter') return { ...state, filter: text };
  return { ...state, logs: { ...state.logs, [kind]: text } };
}

/**
 * @param {State} state
 * @param {NonNullable<State['input']>} input
 * @returns {State}
 */
function finishText(state, input) {
  const after = applyText(state, input);
  if (input.kind !== 'search' || input.text === '') return after;
  const found = findLine(after.logs, 'older', layOut(after.size).page.height);
  return found
    ? { ...after, logs: found }
    : showNotice(after, `"${input.text}" is not in these lines; press & to search the log files`, 'yellow');
}
