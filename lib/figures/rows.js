// Knows: figures, order and facts of apps, for list, monit, describe and the dashboard.
// Must not: import anything of Node.js, because the dashboard loads these files in a browser; draw.
// Start at: listRows(), then format.js; trends.js has the values over time, facts.js the settings.
import { selectTroubles } from '../shared/troubles.js';
import { formatBytes, formatDelay, formatPercent, formatRate, formatUptime } from './format.js';

/** @import { AppSample, MetricsSample, WorkerSample } from '../shared/metrics.js' */
/** @import { Kind, Trouble } from '../shared/troubles.js' */
/** @import { ShownStatus } from '../shared/wire/protocol.js' */

/** @typedef {AppSample | WorkerSample} Sample */

/**
 * An app with one worker has only one row, with both `app` and `worker`.
 * @typedef {object} FigureRow
 * @property {string} key
 * @property {Sample} of  The figures of the row.
 * @property {AppSample | null} app  Null: the row is a worker below its app.
 * @property {WorkerSample | null} worker  Null: the row is an app with several workers.
 * @property {WorkerSample[]} workers
 * @property {Trouble[]} troubles  That concern one of the workers, the worst first.
 * @property {boolean | null} isExpanded  Null: the row cannot be expanded.
 */

/** @typedef {'name' | 'status' | 'uptime' | keyof typeof SORTED} SortField */

/** @typedef {{ field: SortField, isReversed: boolean }} Sort */

/** @typedef {Map<string, number> | null} Held  Places by key, if rows must not move. */

/** Apps with more workers are collapsed at first. */
export const SHOWN_WORKERS = 8;

/** @typedef {ShownStatus | 'crashing'} StatusWord */

/** @type {StatusWord[]} */
export const WORST_FIRST = ['errored', 'crashing', 'waiting restart', 'launching', 'stopping', 'stopped', 'online'];

/**
 * @template {StatusWord} S
 * @param {{ status: S }[]} workers
 * @returns {S}
 */
export function worstStatus(workers) {
  const worst = WORST_FIRST.find((status) => workers.some((worker) => worker.status === status));
  // A newer manager may have a status that is not in the list.
  return /** @type {S} */ (worst ?? workers[0]?.status ?? 'stopped');
}

/**
 * Like worstStatus(), but an app of which only some workers are stopped is online.
 * @param {{ status: StatusWord }[]} workers
 */
export function mergeStatus(workers) {
  const worst = worstStatus(workers);
  return worst === 'stopped' && workers.some(({ status }) => status === 'online') ? 'online' : worst;
}

/** @type {ShownStatus[]} */
const BETWEEN_CRASHES = ['online', 'launching', 'waiting restart'];

/**
 * The status for people, because PM2 has no word for a crash loop. JSON keeps the words of PM2.
 * @param {ShownStatus} status
 * @param {Kind[]} [kinds]  Of the troubles of the slot.
 * @returns {StatusWord}
 */
export function statusWord(status, kinds = []) {
  return kinds.includes('crash-loop') && BETWEEN_CRASHES.includes(status) ? 'crashing' : status;
}

/** @param {Pick<FigureRow, 'workers' | 'troubles'>} row */
export function rowStatus({ workers, troubles }) {
  return mergeStatus(workers.map((worker) => ({ status: workerStatus(worker, troubles) })));
}

/**
 * @param {WorkerSample} worker
 * @param {Trouble[]} troubles
 */
function workerStatus(worker, troubles) {
  return statusWord(
    worker.status,
    selectTroubles(troubles, [worker]).map(({ kind }) => kind),
  );
}

/** @param {string} name */
export const appKey = (name) => `app ${name}`;
/** @param {number} id */
export const workerKey = (id) => `worker ${id}`;

/** Other figures are whole numbers. @type {Record<string, (value: number) => string>} */
const FORMATS = {
  cpu: formatPercent,
  memoryBytes: formatBytes,
  heapUsedBytes: formatBytes,
  oldSpaceLimitBytes: formatBytes,
  elu: (share) => `${Math.round(share * 100)}%`,
  delayP99Ms: formatDelay,
  gcMsPerS: (ms) => `${formatDelay(ms)}/s`,
  requestsPerS: formatRate,
  errorsPerS: formatRate,
  latencyP50Ms: formatDelay,
  latencyP95Ms: formatDelay,
  latencyP99Ms: formatDelay,
};

/**
 * @param {Sample} of
 * @param {string} name  A field of the sample, or of its `http`.
 * @returns {number | null}  Null: the value is not known.
 */
export function readFigure(of, name) {
  const all = /** @type {Record<string, any>} */ (of);
  return all[name] ?? all.http?.[name] ?? null;
}

/**
 * @param {string} name
 * @param {number | null | undefined} value
 * @returns {string}  Empty: the value is not known.
 */
export function formatFigure(name, value) {
  return value === null || value === undefined ? '' : (FORMATS[name] ?? String)(value);
}

/**
 * @param {Sample} of
 * @param {string} name
 */
export function figureText(of, name) {
  return formatFigure(name, readFigure(of, name));
}

/** @typedef {{ pid: number, startedAtMs: number | null, onlineSinceMs?: number | null }} Running */

/**
 * When the first of the instances was ready. Every screen counts the uptime from this moment.
 * @param {Running[]} workers  An earlier manager sends no `onlineSinceMs`.
 * @returns {number | null}  Null: no process runs, or none has been ready.
 */
export function onlineSince(workers) {
  return earliest(workers, ({ startedAtMs, onlineSinceMs = startedAtMs }) => onlineSinceMs);
}

/**
 * When the oldest process started.
 * @param {Running[]} workers
 * @returns {number | null}  Null: no process runs.
 */
export function oldestStart(workers) {
  return earliest(workers, ({ startedAtMs }) => startedAtMs);
}

/**
 * @param {Running[]} workers
 * @param {(worker: Running) => number | null} read
 */
function earliest(workers, read) {
  const moments = workers.flatMap((worker) => (worker.pid ? (read(worker) ?? []) : []));
  return moments.length === 0 ? null : Math.min(...moments);
}

/**
 * @param {Running[]} workers
 * @param {number} nowMs
 * @returns {string}  Empty: none is or was ready.
 */
export function uptimeText(workers, nowMs) {
  const since = onlineSince(workers);
  return since === null ? '' : formatUptime(nowMs - since);
}

/**
 * @param {object} o
 * @param {Pick<MetricsSample, 'apps' | 'workers' | 'troubles'>} o.sample
 * @param {string} [o.filter]
 * @param {Sort} [o.sort]
 * @param {Set<string>} [o.flipped]  Apps that the user has expanded or collapsed.
 * @param {Held} [o.held]
 * @returns {FigureRow[]}
 */
export function listRows({
  sample,
  filter = '',
  sort = { field: 'name', isReversed: false },
  flipped = new Set(),
  held = null,
}) {
  const { troubles = [] } = sample;
  const workersOf = groupByApp(sample.workers);
  const apps = sample.apps.map((app) => {
    const workers = workersOf.get(app.name) ?? [];
    return {
      key: appKey(app.name),
      of: app,
      app,
      worker: workers.length === 1 ? workers[0] : null,
      workers,
      troubles: troubles.filter(({ app: name }) => name === app.name),
      isExpanded: workers.length < 2 ? null : workers.length <= SHOWN_WORKERS !== flipped.has(app.name),
    };
  });
  return sortRows(apps, sort, held).flatMap((row) => {
    const { of, workers, troubles: own } = row;
    const isMeant = includes([of.name, of.namespace], filter);
    const meant = workers.filter(
      (worker) => isMeant || includes([String(worker.id), String(worker.pid), workerStatus(worker, own)], filter),
    );
    if (!isMeant && meant.length === 0) return [];
    return [row, ...(row.isExpanded ? workerRows(meant, { sort, held, troubles: own }) : [])];
  });
}

/**
 * @param {WorkerSample[]} workers
 * @param {{ sort: Sort, held: Held, troubles: Trouble[] }} o
 * @returns {FigureRow[]}
 */
export function workerRows(workers, { sort, held, troubles }) {
  const rows = workers.map((worker) => ({
    key: workerKey(worker.id),
    of: worker,
    app: null,
    worker,
    workers: [worker],
    troubles: selectTroubles(troubles, [worker]),
    isExpanded: null,
  }));
  return sortRows(rows, sort, held);
}

/**
 * @template {{ name: string }} T
 * @param {T[]} workers
 */
export function groupByApp(workers) {
  /** @type {Map<string, T[]>} */
  const found = new Map();
  for (const worker of workers) {
    const same = found.get(worker.name);
    if (same) same.push(worker);
    else found.set(worker.name, [worker]);
  }
  return found;
}

/** Figures by which rows can be sorted, from the greatest. */
export const SORTED = {
  cpu: 'cpu',
  memory: 'memoryBytes',
  requests: 'requestsPerS',
  latency: 'latencyP99Ms',
  delay: 'delayP99Ms',
  restarts: 'restarts',
};

/**
 * @param {SortField} field
 * @returns {(a: FigureRow, b: FigureRow) => number}
 */
function buildOrder(field) {
  if (field === 'name') return ({ of: a }, { of: b }) => compareNames(a, b);
  /** @type {(row: FigureRow) => number} */
  const value =
    field === 'status'
      ? (row) => WORST_FIRST.indexOf(rowStatus(row))
      : field === 'uptime'
        ? ({ workers }) => onlineSince(workers) ?? Infinity
        : ({ of }) => -(readFigure(of, SORTED[field]) ?? -1);
  return (a, b) => compareValues(value(a), value(b));
}

/**
 * @template {FigureRow} T
 * @param {T[]} rows
 * @param {Sort} sort
 * @param {Held} held
 */
function sortRows(rows, { field, isReversed }, held) {
  const order = buildOrder(field);
  const sign = isReversed ? -1 : 1;
  return rows.toSorted((a, b) => {
    const places = [held?.get(a.key), held?.get(b.key)];
    if (places[0] !== undefined && places[1] !== undefined) return places[0] - places[1];
    return sign * order(a, b) || compareNames(a.of, b.of);
  });
}

/**
 * @param {{ name: string, id?: number }} a
 * @param {{ name: string, id?: number }} b
 */
export function compareNames(a, b) {
  return compareValues(a.name, b.name) || (a.id ?? 0) - (b.id ?? 0);
}

/**
 * @param {string | number} a
 * @param {string | number} b
 */
export function compareValues(a, b) {
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
