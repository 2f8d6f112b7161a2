/** @import { WorkerSample } from '../../../../lib/shared/metrics.js' */

const HTTP = {
  requestsPerS: 12,
  errorsPerS: 0,
  activeRequests: 1,
  oldestRequestMs: null,
  latencyP50Ms: 1,
  latencyP95Ms: 4,
  latencyP99Ms: 9,
  totals: {
    requests: 9,
    aborted: 0,
    upgrades: 0,
    responses: { '1xx': 0, '2xx': 9, '3xx': 0, '4xx': 0, '5xx': 0 },
    durationMs: 12,
  },
};

/**
 * @param {Record<string, number | Partial<WorkerSample>[]>} apps  The workers of each app, or their
 *   number.
 */
export function sampleOf(apps, atMs = 1_000_000) {
  let id = 0;
  const workers = Object.entries(apps).flatMap(([name, given]) =>
    (typeof given === 'number' ? Array.from({ length: given }, () => ({})) : given).map((part, slot) =>
      workerOf({ id: id++, name, slot, ...part }),
    ),
  );
  const sum = (of, field) => of.reduce((total, one) => total + one[field], 0);
  return {
    atMs,
    workers,
    host: {
      cpu: 34,
      cores: 4,
      memoryTotalBytes: 8 * 1024 ** 3,
      memoryUsedBytes: 3 * 1024 ** 3,
      load1: 0.5,
      load5: 0.4,
      load15: 0.3,
      diskTotalBytes: 100,
      diskUsedBytes: 42,
      uptimeS: 900,
    },
    manager: { keeper: { pid: 1, cpu: 0, memoryBytes: 1 }, control: { pid: 2, cpu: 0, memoryBytes: 1 } },
    apps: Object.keys(apps).map((name) => {
      const own = workers.filter((worker) => worker.name === name);
      return {
        ...own[0],
        oldSpaceLimitBytes: undefined,
        handles: undefined,
        workers: own.length,
        online: own.filter(({ status }) => status === 'online').length,
        cpu: sum(own, 'cpu'),
        memoryBytes: sum(own, 'memoryBytes'),
        restarts: sum(own, 'restarts'),
      };
    }),
  };
}

function workerOf(part) {
  return {
    id: 0,
    name: 'api',
    namespace: 'default',
    slot: 0,
    pid: 4000 + (part.id ?? 0),
    instanceId: `i${part.id}`,
    status: 'online',
    generation: 1,
    restarts: 0,
    startedAtMs: 940_000,
    isNode: true,
    cpu: 1.5,
    memoryBytes: 50 * 1024 ** 2,
    processes: 1,
    fds: 20,
    pssBytes: null,
    privateBytes: null,
    heapUsedBytes: 5 * 1024 ** 2,
    oldSpaceUsedBytes: null,
    majorGcs: 0,
    oldSpaceLimitBytes: 2 * 1024 ** 3,
    poolWaitMs: 0,
    externalBytes: 1,
    elu: 0.1,
    delayP50Ms: 1,
    delayP99Ms: 3,
    delayMaxMs: 4,
    gcMsPerS: 1,
    handles: 3,
    connections: 2,
    reportAgeMs: 500,
    http: HTTP,
    ...part,
  };
}
