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
 * @property {{ lines: number, reason: string } | null} losing  Null: every line is written.
 */

/** @typedef {WorkerSample & OwnFacts} WorkerFacts */

/**
 * @typedef {object} OwnFacts
 * @property {boolean | null} isProgressing  Of a worker that starts. Null: not known.
 * @property {ListenFailure | null} listenFailure  Null: none, or it listens elsewhere.
 * @property {Block[]} blocks  Blocks of the event loop that are over, oldest first.
 * @property {number} wallTimes  Garbage collections in a row that left the heap nearly full.
 * @property {number} unansweredMs  Since it last answered a request, as far as this control knows.
 */

/** @typedef {{ atMs: number, ms: number }} Block */

/**
 * @typedef {object} StopFacts
 * @property {number} slot
 * @property {string | null} signal
 * @property {number} signalledMs  About: an instance gets its signal when it has no open request.
 * @property {number} killAtMs
 */

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
 * @property {number} answers
 * @property {number} answeredAtMs
 */

/** @type {Mark} */
const NO_MARK = { seq: 0, blocks: [], majorGcs: 0, wallTimes: 0, answers: -1, answeredAtMs: 0 };

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
  /** Since when each stopping instance has had no open request. @type {Map<string, number>} */
  let idleSinceMs = new Map();

  /**
   * @param {string} instanceId
   * @param {number} nowMs
   * @returns {Mark}
   */
  function mark(instanceId, nowMs) {
    const before = marks.get(instanceId) ?? NO_MARK;
    const last = metrics.trackOf(instanceId)?.last;
    if (!last || last.seq === before.seq) return before;
    const { seq, delayMs, http } = last;
    const answers = http?.responses.reduce((sum, count) => sum + count, 0) ?? 0;
    const majorGcs = last.majorGcs ?? 0;
    const worstMs = delayMs[2];
    const blocks = before.blocks.filter(({ atMs }) => nowMs - atMs < BLOCKS_KEPT_MS);
    return {
      seq,
      blocks: worstMs >= BLOCK_MIN_MS ? [...blocks, { atMs: nowMs, ms: worstMs }] : blocks,
      majorGcs,
      wallTimes: majorGcs === before.majorGcs ? before.wallTimes : isAtWall(last) ? before.wallTimes + 1 : 0,
      answers,
      answeredAtMs: answers === before.answers ? before.answeredAtMs : nowMs,
    };
  }

  /**
   * Leaves out instances that still finish requests, because these get no signal yet, and orphans,
   * because many of them are replaced at once.
   * @param {number} nowMs
   * @returns {Map<string, StopFacts[]>}  By the name of the app.
   */
  function collectStops(nowMs) {
    const { seats, instances } = control.registry;
    /** @type {Map<string, StopFacts[]>} */
    const found = new Map();
    /** @type {typeof idleSinceMs} */
    const idle = new Map();
    for (const { name, slot, life, sinceMs, instanceId } of seats.values()) {
      const instance = life.state === 'stopping' ? instances.get(instanceId ?? '') : undefined;
      if (!instance || instance.exit || instance.isOrphan) continue;
      const isBusy = (metrics.trackOf(instance.instanceId)?.last.http?.active ?? 0) > 0;
      const idleMs = isBusy ? nowMs : Math.max(sinceMs, idleSinceMs.get(instance.instanceId) ?? 0);
      idle.set(instance.instanceId, idleMs);
      if (isBusy) continue;
      const { signal, killTimeoutMs } = instance.label.stop;
      const stop = { slot, signal, signalledMs: idleMs, killAtMs: sinceMs + killTimeoutMs };
      found.set(name, [...(found.get(name) ?? []), stop]);
    }
    idleSinceMs = idle;
    return found;
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
      const stops = collectStops(nowMs);
      // Orphans listen on sockets of the dead keeper.
      const orphans = new Set([...registry.instances.values()].flatMap((one) => (one.isOrphan ? one.label.id : [])));
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
            unansweredMs: own === NO_MARK ? 0 : nowMs - own.answeredAtMs,
          });
        }),
        stops: stops.get(name) ?? [],
        incidents: incidents.get(name) ?? NO_INCIDENTS,
        http: http.get(name) ?? NO_HTTP,
        sockets: slots.some(({ id }) => orphans.has(id)) ? [] : (sockets.get(name) ?? []),
        errorLines: figures.get(name)?.errorLines ?? null,
        losing: losing.get(name) ?? null,
      }));
      marks = marked;
      return found;
    },
    /** @param {number} ms  By which the clock of the machine has jumped. */
    moveTimes(ms) {
      const move = (/** @type {Mark} */ { blocks, answeredAtMs, ...rest }) => ({
        ...rest,
        blocks: blocks.map((block) => ({ ...block, atMs: block.atMs + ms })),
        answeredAtMs: answeredAtMs + ms,
      });
      marks = new Map([...marks].map(([id, own]) => [id, move(own)]));
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
