import { layOut } from './layout.js';
import { showNotice } from './notice.js';
import { rowsOf, selectedRow } from './selection.js';

/** @import { FigureRow, SortField } from '../figures/rows.js' */
/** @import { Key } from './keys.js' */
/** @import { Ask, State, Step } from './state.js' */

/**
 * @param {State} state
 * @param {Key} key
 * @returns {Step}
 */
export function onTableKey(state, { name }) {
  if (name in MOVES) return { state: moveSelection(state, MOVES[name](state)), effects: [] };
  const ask = askForAction(state, name);
  if (ask?.refusal) return { state: showNotice(state, ask.refusal, 'yellow'), effects: [] };
  if (ask?.question)
    return { state: { ...state, question: { text: ask.question, ask: ask.ask }, notice: null }, effects: [] };
  if (ask?.ask) return { state: showNotice(state, `${ask.ask.doing} ...`, 'yellow'), effects: [ask.ask] };
  return { state: Object.hasOwn(KEYS, name) ? KEYS[name](state) : state, effects: [] };
}

/** @type {Record<string, (state: State) => number>} */
const MOVES = {
  up: () => -1,
  k: () => -1,
  down: () => 1,
  j: () => 1,
  pageup: (state) => -pageRows(state),
  pagedown: pageRows,
  home: () => -Infinity,
  g: () => -Infinity,
  end: () => Infinity,
  G: () => Infinity,
};

/** @param {State} state */
function pageRows(state) {
  return Math.max(1, layOut(state.size).table.height - 1);
}

/**
 * @param {State} state
 * @param {number} by
 * @returns {State}
 */
function moveSelection(state, by) {
  const rows = rowsOf(state);
  const at = Math.max(0, Math.min(rows.length - 1, state.at + by));
  return { ...state, at, selected: rows[at]?.key ?? null };
}

/** @type {SortField[]} */
const SORT_FIELDS = ['name', 'cpu', 'memory', 'requests', 'restarts'];

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
 * @param {boolean | null} isWanted  Null: toggle.
 */
function expand(state, isWanted) {
  const row = selectedRow(state);
  const name = row?.app?.name ?? row?.worker?.name;
  if (!row || name === undefined) return state;
  const app = rowsOf(state).find((one) => one.app?.name === name);
  if (!app || app.worker || isWanted === app.isExpanded) return state;
  const flipped = new Set(state.flipped);
  if (!flipped.delete(name)) flipped.add(name);
  // Selects the app, because the selected worker may now be hidden.
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

/**
 * @typedef
 *   {{ ask: Ask, question?: string, refusal?: undefined } | { refusal: string, ask?: undefined, question?: undefined }}
 *   Asked
 */

/**
 * The action of each key, and the words of its question, beginning and end. Before an action that
 * ends a process, monit asks the user.
 * @type {Record<string, { method: Ask['method'], by?: '+1' | '-1', words: [string, string, string] }>}
 */
const ACTIONS = {
  r: { method: 'reload', words: ['Reload', 'Reloading', 'Reloaded'] },
  R: { method: 'restart', words: ['Restart', 'Restarting', 'Restarted'] },
  s: { method: 'stop', words: ['Stop', 'Stopping', 'Stopped'] },
  '+': { method: 'scale', by: '+1', words: ['', 'Starting one more', 'Started one more'] },
  '=': { method: 'scale', by: '+1', words: ['', 'Starting one more', 'Started one more'] },
  '-': { method: 'scale', by: '-1', words: ['Remove one', 'Removing one', 'Removed one'] },
};

/**
 * @param {State} state
 * @param {string} name
 * @returns {Asked | null}  Null: the key has no action, or no row is selected.
 */
function askForAction(state, name) {
  if (!Object.hasOwn(ACTIONS, name)) return null;
  // Comes before the row, because "nclust kill" empties the list before it ends the manager.
  if (!state.manager.isThere) return { refusal: 'There is no connection to the manager' };
  const row = selectedRow(state);
  if (!row) return null;
  const { method, by, words } = ACTIONS[name];
  const app = row.app?.name ?? row.worker?.name ?? '';
  if (by === '-1' && row.app?.workers === 1) return { refusal: `"${app}" has only one instance; press s to stop it` };
  const target = by ? app : readTarget(state, row);
  if (target === null)
    return { refusal: `This id is also the name of another app or a namespace: use the command line` };
  const what = by ? `instance of "${app}"` : rowLabel(row);
  const [question, doing, done] = words.map((word) => word && `${word} ${what}`);
  const params = by ? { target, instances: by } : { targets: [target] };
  return { ...(question && { question: `${question}?` }), ask: { type: 'ask', method, params, doing, done } };
}

/** @param {FigureRow} row */
function rowLabel({ app, worker, workers }) {
  if (!app && worker) return `"${worker.name}", id ${worker.id} only`;
  return `"${app?.name}"${workers.length > 1 ? ` (${workers.length} instances)` : ''}`;
}

/**
 * Returns null if the target would also match other apps: the name "all", or an id that is also a
 * name or a namespace. The manager tries a name or a namespace before an id.
 * @param {Pick<State, 'sample'>} state
 * @param {FigureRow} row
 */
function readTarget({ sample }, { app, worker }) {
  const target = app ? app.name : String(worker?.id);
  if (app) return target === 'all' ? null : target;
  return sample?.apps.some(({ name, namespace }) => name === target || namespace === target) ? null : target;
}
