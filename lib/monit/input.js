import { askFor } from './actions.js';
import { onInputKey } from './input-keys.js';
import { onLogKey } from './log-keys.js';
import { helpLines } from './help.js';
import { boxesOf } from './layout.js';
import { rowsOf, selectedRow, SORT_FIELDS } from './rows.js';
import { say } from './notice.js';

/** @import { Key } from './keys.js' */
/** @import { Effect, State } from './state.js' */

/** @typedef {{state: State, effects: Effect[]}} Step */

/**
 * What a key does: it goes to the question, the text that is being typed, or the page.
 * @param {State} state
 * @param {Key} key
 * @returns {Step}
 */
export function onKey(state, key) {
  if (key.name === 'quit') return { state, effects: [{ type: 'quit' }] };
  if (key.name === 'suspend' || key.name === 'redraw') return { state, effects: [{ type: key.name }] };
  if (state.question) return onAnswer(state, state.question, key);
  if (state.input) return only(onInputKey(state, state.input, key));
  if (key.name === 'paste') return only(state);
  if (key.name === 'q' && state.page === 'table') return { state, effects: [{ type: 'quit' }] };
  if (key.name === '?') return only({ ...state, page: state.page === 'help' ? 'table' : 'help', helpTop: 0 });
  if (state.page === 'help') return only(onHelpKey(state, key));
  if (state.page === 'logs') return only(onLogKey(state, key));
  return onTableKey(state, key);
}

/** @param {State} state @returns {Step} */
function only(state) {
  return { state, effects: [] };
}

/** Only "y" is a yes. @param {State} state @param {NonNullable<State['question']>} question @param {Key} key @returns {Step} */
function onAnswer(state, { ask }, { name }) {
  if (name === 'y' || name === 'Y') return { state: say({ ...state, question: null }, `${ask.doing} ...`, 'yellow'), effects: [ask] };
  return only({ ...state, question: null, notice: null });
}

/** @param {State} state @param {Key} key @returns {State} */
function onHelpKey(state, { name }) {
  const by = Object.hasOwn(HELP_MOVES, name) ? HELP_MOVES[name] : null;
  if (by === null) return { ...state, page: 'table' };
  const last = Math.max(0, helpLines(state.size.columns).length - boxesOf(state.size).page.height);
  return { ...state, helpTop: Math.max(0, Math.min(state.helpTop + by, last)) };
}

/** @type {Record<string, number>} */
const HELP_MOVES = { down: 1, j: 1, up: -1, k: -1, pagedown: 10, ' ': 10, pageup: -10 };

/** @param {State} state @param {Key} key @returns {Step} */
function onTableKey(state, { name }) {
  if (name in MOVES) return only(move(state, MOVES[name](state)));
  const ask = askFor(state, name);
  if (ask?.refusal) return only(say(state, ask.refusal, 'yellow'));
  if (ask?.question) return only({ ...state, question: { text: ask.question, ask: ask.ask }, notice: null });
  if (ask?.ask) return { state: say(state, `${ask.ask.doing} ...`, 'yellow'), effects: [ask.ask] };
  return only(Object.hasOwn(KEYS, name) ? KEYS[name](state) : state);
}

/** @type {Record<string, (state: State) => number>} */
const MOVES = {
  up: () => -1, k: () => -1, down: () => 1, j: () => 1, pageup: (state) => -pageOf(state), pagedown: pageOf,
  home: () => -Infinity, g: () => -Infinity, end: () => Infinity, G: () => Infinity,
};

/** @param {State} state */
function pageOf(state) {
  return Math.max(1, boxesOf(state.size).table.height - 1);
}

/** @param {State} state @param {number} by @returns {State} */
function move(state, by) {
  const rows = rowsOf(state);
  const at = Math.max(0, Math.min(rows.length - 1, state.at + by));
  return { ...state, at, selected: rows[at]?.key ?? null };
}

/** @type {Record<string, (state: State) => State>} */
const KEYS = {
  enter: (state) => expand(state, null),
  ' ': (state) => expand(state, null),
  right: (state) => expand(state, true),
  left: (state) => expand(state, false),
  '*': expandAll,
  '/': (state) => ({ ...state, input: { kind: 'filter', text: state.filter, before: state.filter } }),
  escape: (state) => ({ ...state, filter: '', notice: null }),
  o: (state) => ({ ...state, sort: { field: SORT_FIELDS[(SORT_FIELDS.indexOf(state.sort.field) + 1) % SORT_FIELDS.length], isReversed: false } }),
  O: (state) => ({ ...state, sort: { ...state.sort, isReversed: !state.sort.isReversed } }),
  t: (state) => ({ ...state, span: state.span === 'minutes' ? 'hours' : 'minutes' }),
  e: (state) => ({ ...state, panel: state.panel === 'logs' ? 'events' : 'logs' }),
  l: (state) => ({ ...state, page: 'logs', logs: { ...state.logs, bottomSeq: null, left: 0 } }),
};

/** @param {State} state @param {boolean|null} isWanted  Null: the other way. @returns {State} */
function expand(state, isWanted) {
  const row = selectedRow(state);
  const name = row?.app?.name ?? row?.worker?.name;
  if (!row || name === undefined) return state;
  const app = rowsOf(state).find((one) => one.app?.name === name);
  if (!app || app.worker || isWanted === app.isExpanded) return state;
  const flipped = new Set(state.flipped);
  if (!flipped.delete(name)) flipped.add(name);
  // A worker that is hidden leaves the selection to its app.
  return { ...state, flipped, selected: app.key };
}

/** @param {State} state @returns {State} */
function expandAll(state) {
  const apps = rowsOf(state).filter(({ app, worker }) => app && !worker);
  const isWanted = apps.some(({ isExpanded }) => !isExpanded);
  const flipped = new Set(state.flipped);
  for (const { app, isExpanded } of apps) if (app && isExpanded !== isWanted && !flipped.delete(app.name)) flipped.add(app.name);
  return { ...state, flipped };
}
