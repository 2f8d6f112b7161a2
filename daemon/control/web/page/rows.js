/** @import { AppSample, MetricsSample, WorkerSample } from '../../../../lib/shared/metrics.js' */
/** @import { ShownStatus } from '../../../../lib/shared/wire/protocol.js' */

/**
 * An app with one worker has only one row, with both `app` and `worker`.
 * @typedef {object} Row
 * @property {string} key
 * @property {AppSample | null} app  Null: the row is a worker below its app.
 * @property {WorkerSample | null} worker  Null: the row is an app with several or no workers.
 * @property {WorkerSample[]} workers
 * @property {boolean | null} isExpanded  Null: the row cannot be expanded.
 */

/** @typedef {{ field: SortField, isReversed: boolean }} Sort */

/** Apps with more workers are collapsed at first. */
const SHOWN_WORKERS = 8;

/** The states, the most urgent first. */
const SEVERITY = /** @type {const} */ (['errored', 'waiting restart', 'launching', 'stopping', 'online', 'stopped']);

/**
 * Numbers are sorted from the greatest, names from A, and states from the most urgent.
 * @type {Record<string, (of: AppSample | WorkerSample, status: ShownStatus) => number | string>}
 */
const ORDERS = {
  name: ({ name }) => name,
  state: (_, status) => SEVERITY.indexOf(status),
  cpu: ({ cpu }) => -cpu,
  memory: ({ memoryBytes }) => -memoryBytes,
  requests: ({ http }) => -(http?.requestsPerS ?? -1),
  latency: ({ http }) => -(http?.latencyP99Ms ?? -1),
  delay: ({ delayP99Ms }) => -(delayP99Ms ?? -1),
  restarts: ({ restarts }) => -restarts,
  uptime: (of) => ('startedAtMs' in of ? (of.startedAtMs ?? Infinity) : Infinity),
};

/** @typedef {keyof typeof ORDERS} SortField */

/**
 * Whether the values of this column change all the time.
 * @param {SortField} field
 */
export const isLively = (field) => field !== 'name' && field !== 'state' && field !== 'restarts';

/** @param {string} name */
export const appKey = (name) => `app ${name}`;
/** @param {number} id */
export const workerKey = (id) => `worker ${id}`;

/**
 * @param {object} o
 * @param {Pick<MetricsSample, 'apps' | 'workers'>} o.sample
 * @param {string} [o.filter]
 * @param {Sort} [o.sort]
 * @param {Set<string>} [o.flipped]  Apps that the user has expanded or collapsed.
 * @param {Map<string, number> | null} [o.held]  Places by key, if rows must not move.
 * @returns {Row[]}
 */
export function listRows({
  sample,
  filter = '',
  sort = { field: 'name', isReversed: false },
  flipped = new Set(),
  held = null,
}) {
  const workersOf = groupByApp(sample.workers);
  const apps = sample.apps.map((app) => {
    const all = workersOf.get(app.name) ?? [];
    return {
      of: app,
      all,
      key: appKey(app.name),
      status: mergeStatus(all),
      value: all.length === 1 ? all[0] : { ...app, startedAtMs: oldestStart(all) },
    };
  });
  return ordered(apps, sort, held).flatMap(({ of: app, all, key }) => {
    const isMeant = includes([app.name, app.namespace], filter);
    const meant = isMeant
      ? all
      : all.filter((worker) => includes([String(worker.id), String(worker.pid), worker.status], filter));
    if (!isMeant && meant.length === 0) return [];
    const one = all.length === 1 ? all[0] : null;
    const isExpanded = all.length < 2 ? null : all.length <= SHOWN_WORKERS !== flipped.has(app.name);
    return [
      { key, app, worker: one, workers: all, isExpanded },
      ...(isExpanded ? workerRows(meant, { sort, held }) : []),
    ];
  });
}

/**
 * @param {WorkerSample[]} workers
 * @param {{ sort: Sort, held: Map<string, number> | null }} o
 * @returns {Row[]}
 */
export function workerRows(workers, { sort, held }) {
  const own = workers.map((worker) => ({ value: worker, key: workerKey(worker.id), status: worker.status }));
  return ordered(own, sort, held).map(({ value, key }) => ({
    key,
    app: null,
    worker: value,
    workers: [value],
    isExpanded: null,
  }));
}

/**
 * The worst status of the workers.
 * @param {Pick<WorkerSample, 'status'>[]} workers
 * @returns {ShownStatus}
 */
export function mergeStatus(workers) {
  return SEVERITY.find((status) => workers.some((worker) => worker.status === status)) ?? 'stopped';
}

/** @param {WorkerSample[]} workers */
export function groupByApp(workers) {
  /** @type {Map<string, WorkerSample[]>} */
  const found = new Map();
  for (const worker of workers) {
    const same = found.get(worker.name);
    if (same) same.push(worker);
    else found.set(worker.name, [worker]);
  }
  return found;
}

/** @param {WorkerSample[]} workers */
export function oldestStart(workers) {
  return workers.reduce(
    (/** @type {number | null} */ first, { startedAtMs, pid }) =>
      pid === 0 || startedAtMs === null ? first : Math.min(first ?? Infinity, startedAtMs),
    null,
  );
}

/**
 * @template {{ key: string, status: ShownStatus, value: any }} T
 * @param {T[]} all
 * @param {Sort} sort
 * @param {Map<string, number> | null} held
 */
function ordered(all, { field, isReversed }, held) {
  const order = ORDERS[field];
  const sign = isReversed ? -1 : 1;
  return all.toSorted((a, b) => {
    const ranks = [held?.get(a.key), held?.get(b.key)];
    if (ranks[0] !== undefined && ranks[1] !== undefined) return ranks[0] - ranks[1];
    return (
      sign * compare(order(a.value, a.status), order(b.value, b.status)) ||
      compare(a.value.name, b.value.name) ||
      compare(a.value.id ?? 0, b.value.id ?? 0)
    );
  });
}

/**
 * @param {number | string} a
 * @param {number | string} b
 */
function compare(a, b) {
  return a === b ? 0 : a < b ? -1 : 1;
}

/**
 * @param {string[]} texts
 * @param {string} filter
 */
function includes(texts, filter) {
  const wanted = filter.trim().toLowerCase();
  return wanted === '' || texts.some((text) => text.toLowerCase().includes(wanted));
}
