import { getSlotHistory } from '../state/registry.js';
import { briefStatus, createOverview, livingInstance } from '../status/slot-status.js';
import { percentiles } from './latency.js';
import { NO_GAUGES, readGauges, computeRates, recentLatencies } from './reports.js';
import { spentBySlot, addTotals, toTotals } from './lifetime-totals.js';

/** @import { AppSample, CommonSample, ErrorLines, HttpSample } from '../../../lib/shared/metrics.js' */
/** @import { WorkerSample } from '../../../lib/shared/metrics.js' */
/** @import { DesiredApp, DesiredSlot } from '../state/desired.js' */
/** @import { Instance, Registry } from '../state/registry.js' */
/** @import { Served } from '../state/slot-history.js' */
/** @import { HttpReport } from './lifetime-totals.js' */
/** @import { Track } from './reports.js' */
/** @import { Usage } from './usage.js' */

/**
 * @typedef {object} Sources
 * @property {(pid: number) => Usage} usageOf
 * @property {(instanceId: string) => Track | null} trackOf
 * @property {(app: string) => ErrorLines | null} errorLinesOf
 * @property {boolean} areReportsKnown
 * @property {number} nowMs
 */

const SHARES = [0.5, 0.95, 0.99];

/**
 * @typedef {{ tracks: Track[], served: Served | null }} SlotHttp  `tracks`: the existing instances
 *   of a slot. `served`: the sums of the instances that are gone.
 */

/**
 * @param {Registry} registry
 * @param {Sources['trackOf']} trackOf
 * @returns {Map<number, Track[]>}  By slot id.
 */
export function tracksBySlot(registry, trackOf) {
  /** @type {Map<number, Track[]>} */
  const found = new Map();
  for (const { instanceId, label } of registry.instances.values()) {
    const track = trackOf(instanceId);
    if (track) found.set(label.id, [...(found.get(label.id) ?? []), track]);
  }
  return found;
}

/**
 * @param {Registry} registry
 * @param {(slot: { app: DesiredApp, slot: DesiredSlot }) => boolean} isMeant
 * @param {Sources} sources
 * @returns {{ workers: WorkerSample[], apps: AppSample[] }}
 */
export function takeSamples(registry, isMeant, sources) {
  const overview = createOverview(registry);
  const tracks = tracksBySlot(registry, sources.trackOf);
  const spent = spentBySlot(registry);
  /** @type {WorkerSample[]} */
  const workers = [];
  /** @type {AppSample[]} */
  const apps = [];
  for (const app of registry.desired.apps) {
    const meant = app.slots.filter((slot) => isMeant({ app, slot }));
    if (meant.length === 0) continue;
    const standings = meant.map(({ id }) => ({
      tracks: tracks.get(id) ?? [],
      served: getSlotHistory(registry, id).served ?? null,
    }));
    const own = meant.map((slot, at) => ({
      ...buildWorker(registry, app, slot, overview, standings[at], sources),
      cpuMs: spent.get(slot.id) ?? null,
    }));
    workers.push(...own);
    apps.push(buildApp(app, own, standings, sources));
  }
  return { workers: workers.sort((a, b) => a.id - b.id), apps };
}

/**
 * @param {Registry} registry
 * @param {DesiredApp} app
 * @param {DesiredSlot} slot
 * @param {ReturnType<typeof createOverview>} overview
 * @param {SlotHttp} standing
 * @param {Sources} sources
 * @returns {Omit<WorkerSample, 'cpuMs'>}
 */
function buildWorker(registry, app, slot, overview, standing, sources) {
  const { usageOf, nowMs } = sources;
  const { id, name, namespace, pid, status, restarts, crashes, startedAtMs, onlineSinceMs } = briefStatus(
    registry,
    app,
    slot,
    { overview, usageOf },
  );
  const seat = overview.seats.get(slot.id);
  const { cpu, memoryBytes, processes, fds, fdsLimit, sockets, tree } = usageOf(pid);
  const instance = livingInstance(registry, seat);
  return {
    id,
    name,
    namespace,
    slot: slot.slot,
    pid,
    instanceId: instance?.instanceId ?? null,
    status,
    generation: seat?.generation ?? slot.generation,
    restarts,
    crashes,
    startedAtMs,
    onlineSinceMs,
    isNode: app.spec.kind === 'node',
    cpu,
    memoryBytes,
    processes,
    fds,
    fdsLimit,
    sockets,
    tree,
    activity: null,
    pssBytes: null,
    privateBytes: null,
    ...gaugesOf(app, instance, sources),
    http: buildHttp([standing], nowMs),
  };
}

/**
 * @param {DesiredApp} app
 * @param {Instance | undefined} instance
 * @param {Pick<Sources, 'trackOf' | 'areReportsKnown' | 'nowMs'>} sources
 */
export function gaugesOf(app, instance, { trackOf, areReportsKnown, nowMs }) {
  const track = instance ? trackOf(instance.instanceId) : null;
  if (track) return readGauges(track, nowMs);
  return { ...NO_GAUGES, reportAgeMs: areReportsKnown ? silentMs(app, instance, nowMs) : null };
}

/**
 * Returns the time since the first report was expected. The event loop of the instance may be
 * blocked before it.
 * @param {DesiredApp} app
 * @param {Instance | undefined} instance
 * @param {number} nowMs
 * @returns {number | null}  Null: no report is expected.
 */
function silentMs({ spec }, instance, nowMs) {
  const bootedAtMs = instance?.bootedAtMs ?? null;
  const isExpected =
    spec.kind === 'node' && spec.metrics && instance?.isOrphan === false && !instance.label.hasNoChannel;
  return isExpected && bootedAtMs !== null ? Math.max(0, nowMs - bootedAtMs) : null;
}

/**
 * @param {DesiredApp} app
 * @param {WorkerSample[]} workers
 * @param {SlotHttp[]} standings
 * @param {Sources} sources
 * @returns {AppSample}
 */
function buildApp({ spec }, workers, standings, { errorLinesOf, nowMs }) {
  /** @param {keyof CommonSample} key */
  const known = (key) => workers.flatMap((worker) => (typeof worker[key] === 'number' ? worker[key] : []));
  /** @param {keyof CommonSample} key */
  const sum = (key) => known(key).reduce((total, value) => total + value, 0);
  /** @param {keyof CommonSample} key */
  const sumOrNull = (key) => (known(key).length > 0 ? sum(key) : null);
  /** @param {keyof CommonSample} key */
  const worst = (key) => (known(key).length > 0 ? Math.max(...known(key)) : null);
  const busy = known('elu');
  return {
    name: spec.name,
    namespace: spec.namespace,
    workers: workers.length,
    online: workers.filter(({ status }) => status === 'online').length,
    restarts: sum('restarts'),
    crashes: sum('crashes'),
    cpu: Math.round(sum('cpu') * 10) / 10,
    memoryBytes: sum('memoryBytes'),
    processes: sum('processes'),
    fds: sumOrNull('fds'),
    heapUsedBytes: sumOrNull('heapUsedBytes'),
    elu: busy.length > 0 ? Math.round((sum('elu') / busy.length) * 10_000) / 10_000 : null,
    delayP50Ms: worst('delayP50Ms'),
    delayP99Ms: worst('delayP99Ms'),
    delayMaxMs: worst('delayMaxMs'),
    gcMsPerS: sumOrNull('gcMsPerS'),
    connections: sumOrNull('connections'),
    http: buildHttp(standings, nowMs),
    errorLines: errorLinesOf(spec.name),
  };
}

/**
 * @param {SlotHttp[]} standings
 * @param {number} nowMs
 * @returns {HttpSample | null}
 */
function buildHttp(standings, nowMs) {
  const tracks = standings.flatMap((standing) => standing.tracks);
  const reports = tracks.flatMap(({ last }) => last.http ?? []);
  const served = standings.flatMap((standing) => standing.served ?? []);
  const oldest = reports.flatMap(({ oldestMs }) => oldestMs ?? []);
  if (reports.length + served.length === 0) return null;
  const rates = tracks.map((track) => computeRates(track, nowMs));
  const totals = addTotals(null, [...served.map(asReport), ...reports]);
  const [latencyP50Ms, latencyP95Ms, latencyP99Ms] = percentiles(recentLatencies(tracks, nowMs), SHARES);
  const sum = (/** @type {number[]} */ values) =>
    Math.round(values.reduce((total, value) => total + value, 0) * 100) / 100;
  return {
    requestsPerS: sum(rates.map((rate) => rate.requestsPerS)),
    errorsPerS: sum(rates.map((rate) => rate.errorsPerS)),
    activeRequests: reports.reduce((total, { active }) => total + active, 0),
    oldestRequestMs: oldest.length > 0 ? Math.max(...oldest) : null,
    latencyP50Ms,
    latencyP95Ms,
    latencyP99Ms,
    totals: toTotals(totals),
  };
}

/**
 * @param {Served} served
 * @returns {HttpReport}
 */
function asReport(served) {
  return { ...served, active: 0, oldestMs: null };
}

/**
 * Skips slots that have neither a report nor stored sums.
 * @param {Registry} registry
 * @param {Sources['trackOf']} trackOf
 * @returns {Map<number, { steps: number[], durationMs: number }>}
 */
export function collectLatencies(registry, trackOf) {
  const tracks = tracksBySlot(registry, trackOf);
  return new Map(
    registry.desired.apps.flatMap(({ slots }) =>
      slots.flatMap(({ id }) => {
        const own = tracks.get(id) ?? [];
        const served = getSlotHistory(registry, id).served ?? null;
        if (own.length === 0 && served === null) return [];
        const { latency, durationMs } = addTotals(
          served,
          own.flatMap(({ last }) => last.http ?? []),
        );
        return [/** @type {const} */ ([id, { steps: latency, durationMs }])];
      }),
    ),
  );
}
