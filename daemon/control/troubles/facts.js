import { createOverview, describeListenFailure } from '../status/slot-status.js';
import { BLOCK_MIN_MS, BLOCKS_KEPT_MS, isAtWall } from './worker-kinds.js';
import { NO_INCIDENTS } from './incidents.js';
import { NO_HTTP } from './usual.js';

/** @import { ListenFailure } from '../../../lib/shared/wire/protocol.js' */
/** @import { WorkerSample } from '../../../lib/shared/metrics.js' */
/** @import { Control, Parts } from '../context.js' */
/** @import { Metrics } from '../metrics/metrics.js' */
/** @import { DesiredApp, DesiredSlot } from '../state/desired.js' */
/** @import { Registry, Seat } from '../state/registry.js' */
/** @import { Incidents } from './incidents.js' */

/**
 * @typedef {object} AppFacts
 * @property {string} name
 * @property {number} createdAtMs
 * @property {WorkerFacts[]} workers
 * @property {StopFacts[]} stops
 * @property {Incidents} incidents
 * @property {HttpFacts} http
 * @property {{ address: string, port: number, isServed: boolean }[]} sockets  That the keeper holds.
 * @property {import('../../../lib/shared/metrics.js').AppSample['errorLines']} errorLines
 * @property {import('../logs/app-logs.js').Losing | null} losing  Null: every line is written.
 */

/** @typedef {WorkerSample & OwnFacts} WorkerFacts */

/**
 * @typedef {object} OwnFacts
 * @property {boolean | null} isProgressing  Of a worker that starts. Null: not known.
 * @property {ListenFailure | null} listenFailure  Null: none, or it listens elsewhere.
 * @property {Block[]} blocks  Blocks of the event loop that are over, oldest first.
 * @property {number} wallTimes  Garbage collections in a row that left the heap nearly full.
 */

/** @typedef {{ atMs: number, ms: number }} Block */

/** @typedef {{ slot: number, signal: string | null, signalledMs: number, killAtMs: number }} StopFacts */

/**
 * @typedef {object} HttpFacts  The means of half a minute.
 * @property {number} requestsPerS
 * @property {number} errorsPerS
 * @property {boolean} hasAnswered
 * @property {number | null} usualP99Ms  Null: not known yet.
 * @property {number | null} usualShare  Of the errors.
 */

/**
 * The memory of an instance, from one look to the next.
 * @typedef {object} Mark
 * @property {number} seq  Of the last report.
 * @property {Block[]} blocks
 * @property {number} majorGcs
 * @property {number} wallTimes
 */

/** @type {Mark} */
const NO_MARK = { seq: 0, blocks: [], majorGcs: 0, wallTimes: 0 };

/** Percent of a core. A program that starts and uses less waits. */
const PROGRESS_CPU = 5;

/**
 * @param {object} o
 * @param {Pick<Control, 'registry'>} o.control
 * @param {Pick<Metrics, 'now' | 'trackOf'>} o.metrics
 * @param {Pick<Parts['logs'], 'losing'>} o.logs
 * @param {(apps: DesiredApp[]) => Map<string, HttpFacts>} o.readHttp
 */
export function createFacts({ control, metrics, logs, readHttp }) {
  /** By instance. @type {Map<string, Mark>} */
  let marks = new Map();

  /**
   * @param {string} instanceId
   * @param {number} nowMs
   * @returns {Mark}
   */
  function mark(instanceId, nowMs) {
    const before = marks.get(instanceId) ?? NO_MARK;
    const last = metrics.trackOf(instanceId)?.last;
    if (!last || last.seq === before.seq) return before;
    const { seq, delayMs } = last;
    const majorGcs = last.majorGcs ?? 0;
    const worstMs = delayMs[2];
    const blocks = before.blocks.filter(({ atMs }) => nowMs - atMs < BLOCKS_KEPT_MS);
    return {
      seq,
      blocks: worstMs >= BLOCK_MIN_MS ? [...blocks, { atMs: nowMs, ms: worstMs }] : blocks,
      majorGcs,
      wallTimes: majorGcs === before.majorGcs ? before.wallTimes : isAtWall(last) ? before.wallTimes + 1 : 0,
    };
  }

  return {
    /**
     * @param {Map<string, Incidents>} incidents  By the name of the app.
     * @param {Map<string, AppFacts['sockets']>} sockets
     * @param {number} nowMs
     * @returns {AppFacts[]}
     */
    collect(incidents, sockets, nowMs) {
      const { registry } = control;
      const { workers, apps } = metrics.now();
      const { seats } = createOverview(registry);
      const losing = logs.losing();
      const stops = groupStops(registry, metrics.trackOf);
      const samples = new Map(workers.map((worker) => [worker.id, worker]));
      const figures = new Map(apps.map((app) => [app.name, app]));
      const hasAnswered = (/** @type {string} */ name) => (figures.get(name)?.http?.totals.requests ?? 0) > 0;
      const http = readHttp(registry.desired.apps.filter(({ spec }) => hasAnswered(spec.name)));
      /** @type {typeof marks} */
      const marked = new Map();
      const found = registry.desired.apps.map(({ spec: { name }, createdAtMs, slots }) => ({
        name,
        createdAtMs,
        workers: slots.flatMap((slot) => {
          const sample = samples.get(slot.id);
          if (!sample) return [];
          const seat = seats.get(slot.id);
          const own = sample.instanceId === null ? NO_MARK : mark(sample.instanceId, nowMs);
          if (sample.instanceId !== null) marked.set(sample.instanceId, own);
          return Object.assign(sample, {
            isProgressing: registry.instances.get(seat?.instanceId ?? '')?.isProgressing ?? sample.cpu > PROGRESS_CPU,
            listenFailure: findListenFailure(registry, slot, seat),
            blocks: own.blocks,
            wallTimes: own.wallTimes,
          });
        }),
        stops: stops.get(name) ?? [],
        incidents: incidents.get(name) ?? NO_INCIDENTS,
        http: http.get(name) ?? NO_HTTP,
        sockets: sockets.get(name) ?? [],
        errorLines: figures.get(name)?.errorLines ?? null,
        losing: losing.get(name) ?? null,
      }));
      marks = marked;
      return found;
    },
  };
}

/**
 * @param {Registry} registry
 * @param {DesiredSlot} slot
 * @param {Seat | undefined} seat
 */
function findListenFailure(registry, slot, seat) {
  const addresses = registry.instances.get(seat?.instanceId ?? '')?.addresses ?? [];
  return addresses.length > 0 ? null : describeListenFailure(registry, slot, seat);
}

/**
 * Leaves out instances that still finish requests, because these get no signal yet.
 * @param {Registry} registry
 * @param {Metrics['trackOf']} trackOf
 * @returns {Map<string, StopFacts[]>}  By the name of the app.
 */
function groupStops({ seats, instances }, trackOf) {
  /** @type {Map<string, StopFacts[]>} */
  const found = new Map();
  for (const { name, slot, life, sinceMs, instanceId } of seats.values()) {
    const instance = life.state === 'stopping' ? instances.get(instanceId ?? '') : undefined;
    if (!instance || instance.exit || (trackOf(instance.instanceId)?.last.http?.active ?? 0) > 0) continue;
    const { signal, killTimeoutMs } = instance.label.stop;
    const stop = { slot, signal, signalledMs: sinceMs, killAtMs: sinceMs + killTimeoutMs };
    found.set(name, [...(found.get(name) ?? []), stop]);
  }
  return found;
}
