import { boxesOf } from './layout.js';
import { findLine } from './log-lines.js';
import { say } from './notice.js';

/** @import { Key } from './keys.js' */
/** @import { State } from './state.js' */

const INPUT_MAX_CHARS = 200;

/**
 * A key for the text that is being typed. The filter of the table works at once, the others when they are done.
 * @param {State} state
 * @param {NonNullable<State['input']>} input
 * @param {Key} key
 * @returns {State}
 */
export function onInputKey(state, input, { name, text }) {
  if (name === 'escape') return { ...applied(state, { ...input, text: input.before }), input: null };
  if (name === 'enter') return done({ ...state, input: null }, input);
  const after = { ...input, text: edited(input.text, name, text) };
  return { ...(input.kind === 'filter' ? applied(state, after) : state), input: after };
}

/** @param {string} before @param {string} name @param {string|undefined} text */
function edited(before, name, text) {
  if (name === 'backspace') return [...before].slice(0, -1).join('');
  if (name === 'clear') return '';
  // A line end in what was pasted is no "enter".
  return text === undefined ? before : `${before}${text.replace(/[\u0000-\u001f\u007f]+/g, ' ')}`.slice(0, INPUT_MAX_CHARS);
}

/** @param {State} state @param {NonNullable<State['input']>} input @returns {State} */
function applied(state, { kind, text }) {
  if (kind === 'filter') return { ...state, filter: text };
  return { ...state, logs: { ...state.logs, [kind]: text } };
}

/** @param {State} state @param {NonNullable<State['input']>} input @returns {State} */
function done(state, input) {
  const after = applied(state, input);
  if (input.kind !== 'search' || input.text === '') return after;
  const found = findLine(after.logs, 'older', boxesOf(after.size).page.height);
  return found ? { ...after, logs: found } : say(after, `"${input.text}" is not in the lines that are kept here; & asks the log files`, 'yellow');
}
