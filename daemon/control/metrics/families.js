import { stepEndMs } from './latency.js';

/** @import { Trouble } from '../../../lib/shared/troubles.js' */
/** @import { HostSample, HttpSample, WorkerSample } from '../../../lib/shared/metrics.js' */
/** @import { Exported } from './metrics.js' */

/**
 * @typedef {object} Family
 * @property {string} name  Without the ending `_total`.
 * @property {'gauge' | 'counter' | 'histogram'} type
 * @property {'' | 'seconds' | 'bytes' | 'ratio'} unit  The name ends with the unit.
 * @property {string} help
 * @property {Point[]} points
 */

/**
 * @typedef {{ labels: Record<string, string>, value: number }
 *   | { labels: Record<string, string>, bounds: number[], counts: number[], sum: number }} Point  `counts`:
 *   one number for each bucket, not cumulative. The last bucket has no bound.
 */

/** Steps whose ends become bucket bounds: doublings from 0.5 ms to 16 s. */
const BUCKET_STEPS = Array.from({ length: 16 }, (_, at) => 8 + 4 * at);
const BOUNDS = BUCKET_STEPS.map((step) => stepEndMs(step) / 1000);

/** @typedef {(worker: WorkerSample) => number | null} Of */

/** Metrics of each slot. @type {[name: string, help: string, of: Of][]} */
const GAUGES = [
  ['worker_up', '1 if it is online, else 0.', ({ status }) => Number(status === 'online')],
  ['worker_start_time_seconds', 'Start time of its process, since 1970.', ({ startedAtMs }) => seconds(startedAtMs)],
  ['worker_cpu_ratio', 'CPU used in the last second, as a fraction of one core.', ({ cpu }) => cpu / 100],
  ['worker_resident_memory_bytes', 'Resident memory.', ({ memoryBytes }) => memoryBytes],
  ['worker_processes', 'Processes that belong to it.', ({ processes }) => processes],
  ['worker_open_fds', 'Open file descriptors.', ({ fds }) => fds],
  ['worker_max_fds', 'Limit of its open file descriptors.', ({ fdsLimit }) => fdsLimit],
  ['worker_heap_used_bytes', 'V8 heap in use.', ({ heapUsedBytes }) => heapUsedBytes],
  [
    'worker_heap_limit_bytes',
    'Size limit of the old space of the V8 heap. At this limit the process ends.',
    ({ oldSpaceLimitBytes }) => oldSpaceLimitBytes,
  ],
  [
    'worker_old_space_used_bytes',
    'Old space of the V8 heap in use after the last major garbage collection.',
    ({ oldSpaceUsedBytes }) => oldSpaceUsedBytes,
  ],
  ['worker_external_memory_bytes', 'Memory of objects outside the heap.', ({ externalBytes }) => externalBytes],
  [
    'worker_event_loop_utilization_ratio',
    'Fraction of the last second in which the event loop was busy.',
    ({ elu }) => elu,
  ],
  [
    'worker_event_loop_delay_p50_seconds',
    'Median delay of the event loop in the last second.',
    ({ delayP50Ms }) => seconds(delayP50Ms),
  ],
  [
    'worker_event_loop_delay_p99_seconds',
    '99th percentile of the delay of the event loop in the last second.',
    ({ delayP99Ms }) => seconds(delayP99Ms),
  ],
  [
    'worker_event_loop_delay_max_seconds',
    'Longest delay of the event loop in the last second.',
    ({ delayMaxMs }) => seconds(delayMaxMs),
  ],
  ['worker_gc_ratio', 'Fraction of the last second that garbage collection took.', ({ gcMsPerS }) => seconds(gcMsPerS)],
  [
    'worker_thread_pool_wait_seconds',
    'Time that a job has waited in the thread pool of libuv.',
    ({ poolWaitMs }) => seconds(poolWaitMs),
  ],
  ['worker_active_handles', 'Handles that keep its event loop alive.', ({ handles }) => handles],
  ['worker_open_connections', 'Open connections of its servers.', ({ connections }) => connections],
  ['http_active_requests', 'Requests that are not answered yet.', countProcesses((http) => http.activeRequests)],
  [
    'http_oldest_request_seconds',
    'Age of the oldest request without response headers.',
    countProcesses((http) => seconds(http.oldestRequestMs ?? 0)),
  ],
];

/** @type {typeof GAUGES} */
const COUNTERS = [
  ['worker_cpu_seconds', 'CPU time of its processes, across restarts and reloads.', ({ cpuMs }) => seconds(cpuMs)],
  ['worker_restarts', 'Restarts since it was created or reset.', ({ restarts }) => restarts],
  ['worker_crashes', 'Unplanned exits since it was started or reset.', ({ crashes }) => crashes],
  ['http_requests', 'Requests whose head was received.', countProcesses(({ totals }) => totals.requests)],
  [
    'http_aborted_requests',
    'Requests whose connection ended before the answer did.',
    countProcesses(({ totals }) => totals.aborted),
  ],
  ['http_websocket_upgrades', 'Connections that became WebSockets.', countProcesses(({ totals }) => totals.upgrades)],
];

/** @type {[name: string, help: string, of: (host: HostSample) => number | null][]} */
const HOST = [
  ['host_cpu_ratio', 'CPU used in the last second, as a fraction of the whole machine.', ({ cpu }) => cpu / 100],
  ['host_memory_size_bytes', 'Memory of the machine.', ({ memoryTotalBytes }) => memoryTotalBytes],
  ['host_memory_used_bytes', 'Memory that is not available to new programs.', ({ memoryUsedBytes }) => memoryUsedBytes],
  ['host_disk_size_bytes', 'Size of the file system of the home.', ({ diskTotalBytes }) => diskTotalBytes],
  ['host_disk_used_bytes', 'Used space of the file system of the home.', ({ diskUsedBytes }) => diskUsedBytes],
  ['host_load1', 'Load average of the last minute.', ({ load1 }) => load1],
];

const CLASSES = /** @type {const} */ (['1xx', '2xx', '3xx', '4xx', '5xx']);

/**
 * @param {Exported} exported
 * @param {Trouble[]} troubles
 * @param {string} version
 * @returns {Family[]}  Without families that have no point.
 */
export function buildFamilies({ sample, latencies }, troubles, version) {
  const { host, manager, apps, workers } = sample;
  const own = Object.entries(manager).map(([process, of]) => ({ labels: { process }, of }));
  const points = (/** @type {Of} */ of) =>
    workers.flatMap((worker) => {
      const value = of(worker);
      return value === null ? [] : [{ labels: buildLabels(worker), value }];
    });
  const families = [
    family('gauge', 'build_info', 'Always 1; the version is in the label.', [{ labels: { version }, value: 1 }]),
    family(
      'gauge',
      'manager_cpu_ratio',
      'CPU that the manager itself used in the last second, as a fraction of one core.',
      own.map(({ labels, of }) => ({ labels, value: of.cpu / 100 })),
    ),
    family(
      'gauge',
      'manager_resident_memory_bytes',
      'Memory of the manager itself.',
      own.map(({ labels, of }) => ({ labels, value: of.memoryBytes })),
    ),
    ...HOST.map(([name, help, of]) => family('gauge', name, help, one(of(host)))),
    family(
      'gauge',
      'app_instances',
      'Instances in the list.',
      apps.map(({ name, namespace, workers: value }) => ({ labels: { app: name, namespace }, value })),
    ),
    family(
      'gauge',
      'app_instances_online',
      'Instances that are online.',
      apps.map(({ name, namespace, online: value }) => ({ labels: { app: name, namespace }, value })),
    ),
    family(
      'counter',
      'app_error_lines',
      'Lines on stderr since the manager was started or updated.',
      apps.flatMap(({ name, namespace, errorLines }) =>
        errorLines ? [{ labels: { app: name, namespace }, value: errorLines.total }] : [],
      ),
    ),
    family(
      'gauge',
      'trouble',
      'Always 1: what is wrong with an app, until it ends.',
      troubles.map(({ app, kind, level }) => ({ labels: { app, kind, level }, value: 1 })),
    ),
    ...GAUGES.map(([name, help, of]) => family('gauge', name, help, points(of))),
    ...COUNTERS.map(([name, help, of]) => family('counter', name, help, points(of))),
    family(
      'counter',
      'http_responses',
      'Responses, by class of status.',
      workers.filter(counts).flatMap((worker) =>
        CLASSES.map((code) => ({
          labels: { ...buildLabels(worker), code },
          value: worker.http?.totals.responses[code] ?? 0,
        })),
      ),
    ),
    family(
      'histogram',
      'http_request_duration_seconds',
      'Time from the head of a request to the end of its response.',
      workers.flatMap((worker) => histogram(worker, latencies.get(worker.id))),
    ),
    family('gauge', 'custom', 'Metrics that apps report themselves (axm:monitor).', workers.flatMap(buildCustom)),
  ];
  return families.filter((one) => one.points.length > 0);
}

/**
 * Whether an agent counts requests. If not, the counts are left out, because 0 would be wrong.
 * @param {WorkerSample} worker
 */
function counts({ http, elu }) {
  return http !== null || elu !== null;
}

/**
 * @param {(http: HttpSample) => number | null} of
 * @returns {Of}
 */
function countProcesses(of) {
  return (worker) => (counts(worker) ? (worker.http ? of(worker.http) : 0) : null);
}

/**
 * Labels belong to the slot, so they stay the same with each new process.
 * @param {WorkerSample} worker
 */
function buildLabels({ name, slot, namespace }) {
  return { app: name, instance: String(slot), namespace };
}

/**
 * @param {WorkerSample} worker
 * @param {{ steps: number[], durationMs: number } | undefined} latency
 * @returns {Point[]}
 */
function histogram(worker, latency) {
  if (!latency) return [];
  const buckets = [...BUCKET_STEPS, latency.steps.length - 1].map((last, at) =>
    latency.steps.slice(at === 0 ? 0 : BUCKET_STEPS[at - 1] + 1, last + 1).reduce((sum, count) => sum + count, 0),
  );
  return [{ labels: buildLabels(worker), bounds: BOUNDS, counts: buckets, sum: latency.durationMs / 1000 }];
}

/**
 * @param {WorkerSample} worker
 * @returns {Point[]}
 */
function buildCustom(worker) {
  return Object.entries(worker.custom ?? {}).flatMap(([name, metric]) => {
    const value = toNumber(metric?.value);
    if (!Number.isFinite(value)) return [];
    return [
      {
        labels: {
          ...buildLabels(worker),
          name,
          ...(typeof metric.unit === 'string' && metric.unit !== '' ? { unit: metric.unit } : {}),
        },
        value,
      },
    ];
  });
}

/**
 * @param {unknown} value  "12.5ms" counts as a number, as in PM2.
 * @returns {number}  NaN if it is not a number.
 */
function toNumber(value) {
  return typeof value === 'string' || typeof value === 'number' ? Number.parseFloat(`${value}`) : NaN;
}

/**
 * @param {Family['type']} type
 * @param {string} name
 * @param {string} help
 * @param {Point[]} points
 * @returns {Family}
 */
function family(type, name, help, points) {
  const [, unit = ''] = /** @type {[string, Family['unit']?]} */ (/_(seconds|bytes|ratio)$/.exec(name) ?? ['']);
  return { name: `nclust_${name}`, type, unit, help, points };
}

/**
 * @param {number | null} value
 * @returns {Point[]}
 */
function one(value) {
  return value === null ? [] : [{ labels: {}, value }];
}

/** @param {number | null} ms */
function seconds(ms) {
  return ms === null ? null : ms / 1000;
}
