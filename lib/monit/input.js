import { helpLines } from './help.js';
import { boxesOf } from './layout.js';
import { findLine, scrollLines } from './log-lines.js';
import { rowsOf, selectedRow, SORT_FIELDS } from './rows.js';

/** @import { Key } from './keys.js' */
/** @import { Row } from './rows.js' */
/** @import { Ask, Effect, State } from './state.js' */

/** @typedef {{ state: State, effects: Effect[] }} Step */

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

/**
 * @param {State} state
 * @returns {Step}
 */
function only(state) {
  return { state, effects: [] };
}

/**
 * Only "y" is a yes.
 * @param {State} state
 * @param {NonNullable<State['question']>} question
 * @param {Key} key
 * @returns {Step}
 */
function onAnswer(state, { ask }, { name }) {
  if (name === 'y' || name === 'Y')
    return { state: say({ ...state, question: null }, `${ask.doing} ...`, 'yellow'), effects: [ask] };
  return only({ ...state, question: null, notice: null });
}

/**
 * @param {State} state
 * @param {Key} key
 * @returns {State}
 */
function onHelpKey(state, { name }) {
  const by = Object.hasOwn(HELP_MOVES, name) ? HELP_MOVES[name] : null;
  if (by === null) return { ...state, page: 'table' };
  const last = Math.max(0, helpLines(state.size.columns).length - boxesOf(state.size).page.height);
  return { ...state, helpTop: Math.max(0, Math.min(state.helpTop + by, last)) };
}

/** @type {Record<string, number>} */
const HELP_MOVES = { down: 1, j: 1, up: -1, k: -1, pagedown: 10, ' ': 10, pageup: -10 };

/**
 * @param {State} state
 * @param {Key} key
 * @returns {Step}
 */
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
  up: () => -1,
  k: () => -1,
  down: () => 1,
  j: () => 1,
  pageup: (state) => -pageOf(state),
  pagedown: pageOf,
  home: () => -Infinity,
  g: () => -Infinity,
  end: () => Infinity,
  G: () => Infinity,
};

/** @param {State} state */
function pageOf(state) {
  return Math.max(1, boxesOf(state.size).table.height - 1);
}

/**
 * @param {State} state
 * @param {number} by
 * @returns {State}
 */
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
  o: (state) => ({
    ...state,
    sort: { field: SORT_FIELDS[(SORT_FIELDS.indexOf(state.sort.field) + 1) % SORT_FIELDS.length], isReversed: false },
  }),
  O: (state) => ({ ...state, sort: { ...state.sort, isReversed: !state.sort.isReversed } }),
  t: (state) => ({ ...state, span: state.span === 'minutes' ? 'hours' : 'minutes' }),
  e: (state) => ({ ...state, panel: state.panel === 'logs' ? 'events' : 'logs' }),
  l: (state) => ({ ...state, page: 'logs', logs: { ...state.logs, bottomSeq: null, left: 0 } }),
};

/**
 * @param {State} state
 * @param {boolean | null} isWanted  Null: the other way.
 * @returns {State}
 */
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

/**
 * @param {State} state
 * @returns {State}
 */
function expandAll(state) {
  const apps = rowsOf(state).filter(({ app, worker }) => app && !worker);
  const isWanted = apps.some(({ isExpanded }) => !isExpanded);
  const flipped = new Set(state.flipped);
  for (const { app, isExpanded } of apps)
    if (app && isExpanded !== isWanted && !flipped.delete(app.name)) flipped.add(app.name);
  return { ...state, flipped };
}

const INPUT_MAX_CHARS = 200;

/**
 * A key for the text that is being typed. The filter of the table works at once, the others when
 * they are done.
 * @param {State} state
 * @param {NonNullable<State['input']>} input
 * @param {Key} key
 * @returns {State}
 */
function onInputKey(state, input, { name, text }) {
  if (name === 'escape') return { ...applied(state, { ...input, text: input.before }), input: null };
  if (name === 'enter') return done({ ...state, input: null }, input);
  const after = { ...input, text: edited(input.text, name, text) };
  return { ...(input.kind === 'filter' ? applied(state, after) : state), input: after };
}

/**
 * @param {string} before
 * @param {string} name
 * @param {string | undefined} text
 */
function edited(before, name, text) {
  if (name === 'backspace') return [...before].slice(0, -1).join('');
  if (name === 'clear') return '';
  // A line end in what was pasted is no "enter".
  return text === undefined
    ? before
    : `${before}${text.replace(/[\u0000-\u001f\u007f]+/g, ' ')}`.slice(0, INPUT_MAX_CHARS);
}

/**
 * @param {State} state
 * @param {NonNullable<State['input']>} input
 * @returns {State}
 */
function applied(state, { kind, text }) {
  if (kind === 'filter') return { ...state, filter: text };
  return { ...state, logs: { ...state.logs, [kind]: text } };
}

/**
 * @param {State} state
 * @param {NonNullable<State['input']>} input
 * @returns {State}
 */
function done(state, input) {
  const after = applied(state, input);
  if (input.kind !== 'search' || input.text === '') return after;
  const found = findLine(after.logs, 'older', boxesOf(after.size).page.height);
  return found
    ? { ...after, logs: found }
    : say(after, `"${input.text}" is not in the lines that are kept here; & asks the log files`, 'yellow');
}

/** Columns that a key scrolls by. */
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
 * A key on the page with the logs.
 * @param {State} state
 * @param {Key} key
 * @returns {State}
 */
function onLogKey(state, { name }) {
  const { height } = boxesOf(state.size).page;
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
      return found(state, name === 'n' ? 'older' : 'newer', height);
    case 'escape':
      return logs.search || logs.grep ? { ...state, logs: { ...logs, search: '', grep: '' } } : closed(state);
    case 'l':
    case 'q':
      return closed(state);
    default:
      return state;
  }
}

/**
 * @param {State} state
 * @returns {State}
 */
function closed(state) {
  return { ...state, page: 'table', logs: { ...state.logs, search: '', grep: '', bottomSeq: null, left: 0 } };
}

/**
 * @param {State} state
 * @param {'older' | 'newer'} direction
 * @param {number} height
 * @returns {State}
 */
function found(state, direction, height) {
  if (state.logs.search === '') return say(state, 'Type / and what to look for', 'yellow');
  const logs = findLine(state.logs, direction, height);
  return logs ? { ...state, logs } : say(state, `No ${direction} line has "${state.logs.search}"`, 'yellow');
}

/**
 * @typedef {{ ask: Ask, question?: string, refusal?: undefined }
 *   | { refusal: string, ask?: undefined, question?: undefined }} Asked
 */

/**
 * By key; what takes something away is asked about first.
 * @type {Record<string, 'restart' | 'reload' | 'stop' | 'more' | 'fewer'>}
 */
const ACTIONS = { r: 'reload', R: 'restart', s: 'stop', '+': 'more', '=': 'more', '-': 'fewer' };

const WORDS = {
  restart: ['Restart', 'Restarting', 'Restarted'],
  reload: ['Reload', 'Reloading', 'Reloaded'],
  stop: ['Stop', 'Stopping', 'Stopped'],
};

/**
 * What a key asks of the manager for the selected row.
 * @param {State} state
 * @param {string} name  Of the key.
 * @returns {Asked | null}  Null: nothing.
 */
function askFor(state, name) {
  const action = Object.hasOwn(ACTIONS, name) ? ACTIONS[name] : null;
  const row = selectedRow(state);
  if (!action || !row) return null;
  if (!state.manager.isThere) return { refusal: 'The manager is away' };
  if (action === 'more' || action === 'fewer') return scale(row, action);
  const target = targetOf(state, row);
  if (target === null) return { refusal: `Another app, or a namespace, has the name of that id: use the command line` };
  const [verb, doing, done] = WORDS[action];
  const what = describe(row);
  return {
    question: `${verb} ${what}?`,
    ask: {
      type: 'ask',
      method: action,
      params: { targets: [target] },
      doing: `${doing} ${what}`,
      done: `${done} ${what}`,
    },
  };
}

/**
 * @param {Row} row
 * @param {'more' | 'fewer'} action
 * @returns {Asked}
 */
function scale(row, action) {
  const target = row.app?.name ?? row.worker?.name ?? '';
  const what = `"${target}"`;
  if (action === 'more')
    return {
      ask: {
        type: 'ask',
        method: 'scale',
        params: { target, instances: '+1' },
        doing: `Starting one more of ${what}`,
        done: `Started one more of ${what}`,
      },
    };
  if (row.app?.workers === 1) return { refusal: `${what} has one instance only; s stops it` };
  return {
    question: `Take away one instance of ${what}?`,
    ask: {
      type: 'ask',
      method: 'scale',
      params: { target, instances: '-1' },
      doing: `Taking away one of ${what}`,
      done: `Took away one of ${what}`,
    },
  };
}

/** @param {Row} row */
function describe({ app, worker, workers }) {
  if (!app && worker) return `"${worker.name}", id ${worker.id} only`;
  return `"${app?.name}"${workers.length > 1 ? ` (${workers.length} instances)` : ''}`;
}

/**
 * A name comes before an id in the manager's eyes: an id that is a name too would mean something
 * else.
 * @param {Pick<State, 'sample'>} state
 * @param {Row} row
 * @returns {string | null}
 */
function targetOf({ sample }, { app, worker }) {
  const target = app ? app.name : String(worker?.id);
  if (app) return target === 'all' ? null : target;
  return sample?.apps.some(({ name, namespace }) => name === target || namespace === target) ? null : target;
}

const NOTICE_MS = 6_000;

/**
 * Says something in the last row, for a while.
 * @param {State} state
 * @param {string} text
 * @param {string} style
 * @returns {State}
 */
export function say(state, text, style) {
  return { ...state, notice: { text, style, untilMs: state.nowMs + NOTICE_MS } };
}
