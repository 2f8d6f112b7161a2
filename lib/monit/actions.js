import { selectedRow } from './rows.js';

/** @import { Ask, State } from './state.js' */
/** @import { Row } from './rows.js' */

/** @typedef {{ask: Ask, question?: string, refusal?: undefined} | {refusal: string, ask?: undefined, question?: undefined}} Asked */

/** By key; what takes something away is asked about first. @type {Record<string, 'restart'|'reload'|'stop'|'more'|'fewer'>} */
const ACTIONS = { r: 'reload', R: 'restart', s: 'stop', '+': 'more', '=': 'more', '-': 'fewer' };

const WORDS = { restart: ['Restart', 'Restarting', 'Restarted'], reload: ['Reload', 'Reloading', 'Reloaded'], stop: ['Stop', 'Stopping', 'Stopped'] };

/**
 * What a key asks of the manager for the selected row.
 * @param {State} state
 * @param {string} name  Of the key.
 * @returns {Asked|null}  Null: nothing.
 */
export function askFor(state, name) {
  const action = Object.hasOwn(ACTIONS, name) ? ACTIONS[name] : null;
  const row = selectedRow(state);
  if (!action || !row) return null;
  if (!state.manager.isThere) return { refusal: 'The manager is away' };
  if (action === 'more' || action === 'fewer') return scale(row, action);
  const target = targetOf(state, row);
  if (target === null) return { refusal: `Another app, or a namespace, has the name of that id: use the command line` };
  const [verb, doing, done] = WORDS[action];
  const what = describe(row);
  return { question: `${verb} ${what}?`, ask: { type: 'ask', method: action, params: { targets: [target] }, doing: `${doing} ${what}`, done: `${done} ${what}` } };
}

/** @param {Row} row @param {'more'|'fewer'} action @returns {Asked} */
function scale(row, action) {
  const target = row.app?.name ?? row.worker?.name ?? '';
  const what = `"${target}"`;
  if (action === 'more') return { ask: { type: 'ask', method: 'scale', params: { target, instances: '+1' }, doing: `Starting one more of ${what}`, done: `Started one more of ${what}` } };
  if (row.app?.workers === 1) return { refusal: `${what} has one instance only; s stops it` };
  return { question: `Take away one instance of ${what}?`, ask: { type: 'ask', method: 'scale', params: { target, instances: '-1' }, doing: `Taking away one of ${what}`, done: `Took away one of ${what}` } };
}

/** @param {Row} row */
function describe({ app, worker, workers }) {
  if (!app && worker) return `"${worker.name}", id ${worker.id} only`;
  return `"${app?.name}"${workers.length > 1 ? ` (${workers.length} instances)` : ''}`;
}

/**
 * A name comes before an id in the manager's eyes: an id that is a name too would mean something else.
 * @param {Pick<State, 'sample'>} state
 * @param {Row} row
 * @returns {string|null}
 */
export function targetOf({ sample }, { app, worker }) {
  const target = app ? app.name : String(worker?.id);
  if (app) return target === 'all' ? null : target;
  return sample?.apps.some(({ name, namespace }) => name === target || namespace === target) ? null : target;
}
