// Knows: current values and history of processes, requests and the machine, and their export.
// Must not: change the desired state, or a record except `cpuMs` of instances and the sums of
// lifetime-totals.js; read processes more than once a second. Start at: createMetrics(), then
// sample.js; families.js has the names for other programs.
import { SERIES, TICK_MS } from '../../../lib/shared/metrics.js';
import { findSlot } from '../state/registry.js';
import { createHistory, historyKey, readHistory } from './history.js';
import { percentiles } from './latency.js';
import { createReports, readGauges, computeRates, recentLatencies, isBlocked } from './reports.js';
import { createSampler } from './usage.js';
import { collectLatencies, takeSamples, tracksBySlot } from './sample.js';

/** @import { HostSample, MetricsHistory, MetricsSample } from '../../../lib/shared/metrics.js' */
/** @import { SeriesName, WorkerSample } from '../../../lib/shared/metrics.js' */
/** @import { Control, ManagerLog } from '../context.js' */
/** @import { Clock } from '../host/clock.js' */
/** @import { ReadActivityKinds } from '../host/activity-kind.js' */
/** @import { ReadPrivateMemory } from '../host/private-memory.js' */
/** @import { AppMetadata } from '../status/slot-status.js' */
/** @import { ErrorCounts } from './error-lines.js' */
/** @import { Track } from './reports.js' */
/** @import { Sources } from './sample.js' */
/** @import { ReadUsage, Usage } from './usage.js' */

/**
 * @typedef {{ ids?: number[], detail?: boolean }} NowOptions  `ids`: ids of slots. Default: all.
 *   `detail`: whether to add private memory.
 */
/**
 * @typedef {object} HistoryOptions
 * @property {number[]} [ids]
 * @property {SeriesName[]} series
 * @property {1000 | 10000} stepMs
 * @property {number} points
 * @property {'workers' | 'apps' | 'both' | 'host'} of
 */

/** @typedef {Pick<WorkerSample, 'pid' | 'status' | 'isNode' | 'reportAgeMs' | 'activity'>} Measured */

/**
 * @typedef {object} Exported  `latencies`: by slot id, since its beginning.
 * @property {MetricsSample} sample
 * @property {Map<number, { steps: number[], durationMs: number }>} latencies
 */

/**
 * @typedef {object} Metrics
 * @property {(pid: number) => Usage} usageOf  The last measurement. Zeros: not measured.
 * @property {() => Promise<void>} measureNew
 *   Measures processes that no tick has measured yet. Never rejects.
 * @property {(o?: NowOptions) => MetricsSample} now
 * @property {() => Sources} sources  Of a sample taken now.
 * @property {(workers: Measured[]) => void} addActivities  To the workers whose loop is blocked.
 * @property {(o: HistoryOptions) => MetricsHistory} history
 * @property {(ms: number) => void} moveTimes  By which the clock of the machine has jumped.
 * @property {(listener: () => void) => () => void} onTick  The listener must not throw.
 * @property {() => Promise<Exported>} exported  The values for Prometheus and OTLP.
 * @property {() => void} close
 */

/**
 * @param {object} o
 * @param {Pick<Control, 'registry' | 'keeper' | 'isHeld' | 'askKeeper'>} o.control
 * @param {Clock} o.clock
 * @param {ReadUsage} o.read
 * @param {() => HostSample} o.readHost
 * @param {ErrorCounts} o.errorCounts
 * @param {ReadActivityKinds} o.activityKinds
 * @param {ReadPrivateMemory} o.privateMemory
 * @param {() => Promise<Map<string, AppMetadata>>} o.readAppMetadata  By instance.
 * @param {ManagerLog} o.managerLog
 * @param {() => void} o.onTick
 * @returns {Metrics}
 */
export function createMetrics({
  control,
  clock,
  read,
  readHost,
  errorCounts,
  activityKinds,
  privateMemory,
  readAppMetadata,
  managerLog,
  onTick,
}) {
  const reports = createReports();
  const worst = Object.values(SERIES).map((series) => series.worst);
  const slots = /** @type {ReturnType<typeof createHistory<string>>} */ (createHistory(worst));
  const machine = /** @type {ReturnType<typeof createHistory<'host'>>} */ (createHistory([false, false, false]));
  const sampler = createSampler({ read, wanted });
  let host = readHost();
  /** @type {Set<() => void>} */
  const listeners = new Set();
  let isAsking = false;
  /** When control asked the last question about reports that the keeper has answered. */
  let heardAtMs = clock.nowMs();
  let problem = '';

  function wanted() {
    const own = [process.pid, control.keeper?.pid ?? 0].filter((pid) => pid > 0);
    return [...control.registry.instances.values()]
      .filter((instance) => instance.pid > 0 && !instance.exit)
      .map(({ pid, label }) => ({ pid, isTree: isExec(label.id) }))
      .concat(own.map((pid) => ({ pid, isTree: false, isManager: true })));
  }

  /** @param {number} id */
  function isExec(id) {
    return findSlot(control.registry, id)?.app.spec.kind === 'exec';
  }

  async function tick() {
    onTick();
    await sampler.measure();
    await askAgents();
    remember();
    for (const listener of listeners) listener();
  }

  /**
   * Never sends a second request before the keeper has answered the first request. A new keeper has
   * no reports of the orphans that control has not counted yet.
   */
  async function askAgents() {
    if (isAsking || control.isHeld || [...control.registry.instances.values()].every(({ label }) => isExec(label.id)))
      return;
    isAsking = true;
    const askedAtMs = clock.nowMs();
    try {
      const { instances } = control.registry;
      const startedAtMs = (/** @type {string} */ instanceId) => instances.get(instanceId)?.startedAtMs ?? null;
      reports.take((await control.askKeeper('reports', {})).reports, clock.nowMs(), startedAtMs);
      heardAtMs = askedAtMs;
    } catch {
      // The keeper has died, or its version does not know this request.
    } finally {
      isAsking = false;
    }
  }

  function remember() {
    const nowMs = clock.nowMs();
    host = readHost();
    machine.advance(nowMs);
    machine.put('host', [host.cpu, host.memoryUsedBytes, host.load1]);
    errorCounts.keep(control.registry.desired.apps.map(({ spec }) => spec.name));
    slots.advance(nowMs);
    const keys = new Map(
      control.registry.desired.apps.flatMap((app) => app.slots.map(({ id }) => [id, historyKey(app, id)])),
    );
    const kept = new Set(keys.values());
    slots.forget((key) => kept.has(key));
    const tracks = tracksBySlot(control.registry, reports.of);
    /** @type {Map<number, number[]>} */
    const pids = new Map();
    for (const instance of control.registry.instances.values()) {
      const { pid, exit, label } = instance;
      if (pid === 0 || exit) continue;
      pids.set(label.id, [...(pids.get(label.id) ?? []), pid]);
      instance.cpuMs = sampler.usageOf(pid).cpuMs ?? instance.cpuMs;
    }
    for (const [id, own] of pids) {
      const key = keys.get(id);
      if (key !== undefined) slots.put(key, getValues(own.map(sampler.usageOf), tracks.get(id) ?? [], heardAtMs));
    }
  }

  /** @type {Metrics['sources']} */
  function sources() {
    return {
      usageOf: sampler.usageOf,
      trackOf: reports.of,
      errorLinesOf: errorCounts.of,
      areReportsKnown: reports.areKnown,
      // A report is not late because the keeper, or control, is late.
      nowMs: heardAtMs,
    };
  }

  /** @type {Metrics['addActivities']} */
  function addActivities(workers) {
    const blocked = workers.filter(isBlocked);
    const kinds = activityKinds(blocked.map(({ pid }) => pid));
    for (const worker of blocked) worker.activity = kinds.get(worker.pid) ?? null;
  }

  /** @type {Metrics['now']} */
  function now({ ids, detail = false } = {}) {
    const meant = ids && new Set(ids);
    const nowMs = clock.nowMs();
    const { workers, apps } = takeSamples(control.registry, ({ slot }) => meant?.has(slot.id) ?? true, sources());
    addActivities(workers);
    if (detail) {
      const own = privateMemory(workers.flatMap(({ pid }) => (pid > 0 ? pid : [])));
      for (const worker of workers) Object.assign(worker, own.get(worker.pid));
    }
    return {
      atMs: nowMs,
      host,
      manager: { keeper: ownSample(control.keeper?.pid ?? 0), control: ownSample(process.pid) },
      apps,
      workers,
    };
  }

  /** Logs an error of tick(), because an error in metrics must not end control. */
  function tickSafely() {
    tick().then(
      () => (problem = ''),
      (error) => {
        if (problem !== error.message) managerLog('metrics-failed', { message: error.message });
        problem = error.message;
      },
    );
  }

  const cancel = clock.every(TICK_MS, tickSafely);
  return {
    usageOf: sampler.usageOf,
    measureNew: sampler.measureNew,
    now,
    sources,
    addActivities,
    history: (o) => readHistory({ registry: control.registry, slots, machine }, o),
    moveTimes(ms) {
      heardAtMs += ms;
      reports.moveTimes(ms);
    },
    onTick(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    async exported() {
      const apps = await readAppMetadata();
      const { workers, ...rest } = now();
      const sample = {
        ...rest,
        workers: workers.map((worker) => ({
          ...worker,
          custom: /** @type {WorkerSample['custom']} */ (apps.get(worker.instanceId ?? '')?.monitor),
        })),
      };
      return { sample, latencies: collectLatencies(control.registry, reports.of) };
    },
    close: cancel,
  };

  /** @param {number} pid */
  function ownSample(pid) {
    const { cpu, memoryBytes } = sampler.usageOf(pid);
    return { pid, cpu, memoryBytes };
  }
}

/**
 * Returns the values in the order of SERIES.
 * @param {Usage[]} usages
 * @param {Track[]} tracks
 * @param {number} nowMs
 */
function getValues(usages, tracks, nowMs) {
  const sum = (/** @type {number[]} */ values) => values.reduce((total, value) => total + value, 0);
  const rates = tracks.filter(({ last }) => last.http !== null).map((track) => computeRates(track, nowMs));
  const serves = rates.length > 0;
  return [
    sum(usages.map(({ cpu }) => cpu)),
    sum(usages.map(({ memoryBytes }) => memoryBytes)),
    tracks.length > 0 ? Math.max(...tracks.map((track) => readGauges(track, nowMs).delayP99Ms)) : null,
    serves ? sum(rates.map(({ requestsPerS }) => requestsPerS)) : null,
    serves ? sum(rates.map(({ errorsPerS }) => errorsPerS)) : null,
    serves ? percentiles(recentLatencies(tracks, nowMs, TICK_MS / 2), [0.99])[0] : null,
  ];
}
