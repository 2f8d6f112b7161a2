import { createErrorCounts } from '../../../../daemon/control/metrics/error-lines.js';
import { createMetrics } from '../../../../daemon/control/metrics/metrics.js';
import { createRig } from '../control-rig.js';

const HOST = {
  cpu: 10,
  cores: 2,
  memoryTotalBytes: 100,
  memoryUsedBytes: 50,
  load1: 1,
  load5: 1,
  load15: 1,
  diskTotalBytes: null,
  diskUsedBytes: null,
  uptimeS: 5,
};

/** Creates and starts a control with metrics. `rig.usage` returns the usage of each process. */
export async function createMetricsRig() {
  const rig = Object.assign(createRig(), {
    usage: (pid) => ({
      cpu: 5,
      memoryBytes: pid * 1_000,
      processes: 1,
      fds: 3,
      fdsLimit: 1_024,
      sockets: null,
      tree: { processes: 2, cpu: 90, memoryBytes: 7, top: { pid: 1, program: 'ffmpeg', cpu: 85 } },
    }),
    looked: [],
  });
  rig.errorCounts = createErrorCounts(() => rig.clock.nowMono());
  rig.makeMetrics = (control) =>
    createMetrics({
      control,
      clock: rig.clock,
      read: async (wanted) => {
        rig.looked.push(wanted);
        return new Map(wanted.map(({ pid }) => [pid, rig.usage(pid)]));
      },
      readHost: () => HOST,
      errorCounts: rig.errorCounts,
      activityKinds: (pids) => new Map(pids.map((pid) => [pid, 'waits'])),
      privateMemory: (pids) => new Map(pids.map((pid) => [pid, { pssBytes: 1, privateBytes: 2 }])),
      readAppMetadata: async () => new Map(),
      managerLog: (event, fields) => void rig.events.push({ event, ...fields }),
      onTick: () => {},
    });
  await rig.boot();
  return rig;
}

let seq = 0;

export function reportOf(requests, more = {}) {
  seq += 1;
  return {
    seq,
    atMono: seq * 1_000,
    heapUsedBytes: 1_000,
    externalBytes: 10,
    elu: 0.25,
    delayMs: [1, 2, 3],
    gcMs: 0,
    handles: 4,
    connections: 5,
    http: {
      requests,
      active: 0,
      aborted: 0,
      upgrades: 0,
      responses: [0, requests, 0, 0, 0],
      durationMs: requests * 2,
      latency: [16, requests],
    },
    ...more,
  };
}
