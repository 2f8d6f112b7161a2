import { needsAttention } from '../render/slots.js';
import { appKey, workerKey } from './trends.js';

/** @import { AppSample, MetricsSample, WorkerSample } from '../shared/metrics.js' */
/** @import { ShownStatus } from '../shared/wire/protocol.js' */
/** @import { SortField, State } from './state.js' */

/**
 * An app with one worker has one row, with `app` and `worker`.
 * @typedef {object} Row
 * @property {string} key
 * @property {AppSample | null} app  Null: the row of a worker below its app.
 * @property {WorkerSample | null} worker  Null: the row of an app with several workers.
 * @property {WorkerSample[]} workers
 * @property {boolean} isExpanded
 */

/** Apps with more workers are collapsed until the user expands them. */
const SHOWN_WORKERS = 8;

/** @type {Record<SortField, ((of: AppSample | WorkerSample) => number) | null>} */
const ORDERS = {
  name: null,
  cpu: ({ cpu }) => -cpu,
  memory: ({ memoryBytes }) => -memoryBytes,
  requests: ({ http }) => -(http?.requestsPerS ?? -1),
  restarts: ({ restarts }) => -restarts,
};

export const SORT_FIELDS = /** @type {SortField[]} */ (Object.keys(ORDERS));

/**
 * @param {Pick<State, 'sample' | 'filter' | 'sort' | 'flipped'>} state
 * @returns {Row[]}
 */
export function listRows({ sample, filter, sort, flipped }) {
  if (!sample) return [];
  const workersOf = byApp(sample);
  const order = orderOf(sort);
  return [...sample.apps].sort(order).flatMap((app) => {
    const all = workersOf.get(app.name) ?? [];
    const isMeant = includes([app.name, app.namespace], filter);
    const workers = (
      isMeant ? all : all.filter((worker) => includes([String(worker.id), String(worker.pid), worker.status], filter))
    ).sort(order);
    if (!isMeant && workers.length === 0) return [];
    const one = all.length === 1 ? all[0] : null;
    const isExpanded = one === null && isOpen(all.length, flipped.has(app.name));
    const row = { key: appKey(app.name), app, worker: one, workers: all, isExpanded };
    return [
      row,
      ...(isExpanded
        ? workers.map((worker) => ({
            key: workerKey(worker.id),
            app: null,
            worker,
            workers: [worker],
            isExpanded: false,
          }))
        : []),
    ];
  });
}

/**
 * @param {number} workers
 * @param {boolean} isFlipped
 */
function isOpen(workers, isFlipped) {
  return workers <= SHOWN_WORKERS !== isFlipped;
}

/**
 * If the selected row is gone, selects the row at its position.
 * @param {State} state
 */
export function placeSelection(state) {
  const rows = listRows(state);
  if (!state.sample) return state;
  const found = rows.findIndex(({ key }) => key === state.selected);
  const at = found !== -1 ? found : Math.max(0, Math.min(state.at, rows.length - 1));
  const selected = rows[at]?.key ?? null;
  return selected === state.selected && at === state.at ? state : { ...state, selected, at };
}

/**
 * @param {State} state
 * @returns {Row | null}
 */
export function selectedRow(state) {
  return listRows(state).find(({ key }) => key === state.selected) ?? null;
}

/**
 * @param {WorkerSample[]} workers
 * @returns {ShownStatus}
 */
export function mergeStatus(workers) {
  return SEVERITY.find((status) => workers.some((worker) => worker.status === status)) ?? 'stopped';
}

const SEVERITY = /** @type {const} */ (['errored', 'waiting restart', 'launching', 'stopping', 'online', 'stopped']);

/** @param {MetricsSample} sample */
export function attentionCount({ workers }) {
  return workers.filter(({ status }) => needsAttention(status)).length;
}

/** @param {MetricsSample} sample */
function byApp({ workers }) {
  /** @type {Map<string, WorkerSample[]>} */
  const found = new Map();
  for (const worker of workers) {
    const same = found.get(worker.name);
    if (same) same.push(worker);
    else found.set(worker.name, [worker]);
  }
  return found;
}

/** @param {State['sort']} sort */
function orderOf({ field, isReversed }) {
  const value = ORDERS[field];
  return (/** @type {AppSample | WorkerSample} */ a, /** @type {AppSample | WorkerSample} */ b) => {
    const byField = value ? value(a) - value(b) : compare(a.name, b.name) || idOf(a) - idOf(b);
    return (isReversed ? -byField : byField) || compare(a.name, b.name) || idOf(a) - idOf(b);
  };
}

/** @param {AppSample | WorkerSample} of */
function idOf(of) {
  return 'id' in of ? of.id : 0;
}

/**
 * @param {string} a
 * @param {string} b
 */
function compare(a, b) {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

/**
 * @param {string[]} texts
 * @param {string} filter
 */
function includes(texts, filter) {
  return filter === '' || texts.some((text) => text.toLowerCase().includes(filter.toLowerCase()));
}
