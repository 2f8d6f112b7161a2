import { percentiles } from '../metrics/latency.js';
import { computeRates, recentLatencies } from '../metrics/reports.js';
import { gaugesOf, tracksBySlot } from '../metrics/sample.js';
import { describeListenFailure, findSeats, findStatus, livingInstance } from '../status/slot-status.js';
import { getSlotHistory } from '../state/registry.js';
import { BLOCK_MIN_MS, BLOCKS_KEPT_MS, isAtWall } from './worker-kinds.js';

/** @import { HttpSample, WorkerSample } from '../../../lib/shared/metrics.js' */
/** @import { Replacement } from '../../../lib/shared/troubles.js' */
/** @import { ListenFailure } from '../../../lib/shared/wire/protocol.js' */
/** @import { Metrics } from '../metrics/metrics.js' */
/** @import { Track } from '../metrics/reports.js' */
/** @import { Sources } from '../metrics/sample.js' */
/** @import { DesiredApp, DesiredSlot } from '../state/desired.js' */
/** @import { Registry } from '../state/registry.js' */
/** @import { Served } from '../state/slot-history.js' */
/** @import { TakenFrame } from './frames.js' */

/**
 * The part of a sample that the kinds read. With whole samples, a look at 500 workers takes eight
 * times as long.
 * @typedef {Pick<WorkerSample, 'id' | 'name' | 'slot' | 'pid' | 'instanceId' | 'status' | 'startedAtMs'
 *   | 'onlineSinceMs' | 'isNode' | 'cpu' | 'fds' | 'fdsLimit' | 'sockets' | 'tree' | 'elu' | 'delayP99Ms'
 *   | 'poolWaitMs' | 'oldSpaceUsedBytes' | 'oldSpaceLimitBytes' | 'reportAgeMs' | 'activity'> & OwnFacts} WorkerFacts
 */

/**
 * @typedef {object} OwnFacts
 * @property {WorkerHttp | null} http
 * @property {number} requests  That the slot has answered since it exists.
 * @property {number} errors  Of these, with a status of 5xx.
 * @property {boolean | null} isProgressing  Of a worker that starts. Null: not known.
 * @property {ListenFailure | null} listenFailure  Null: none, or it listens elsewhere.
 * @property {Block[]} blocks  Blocks of the event loop that are over, oldest first.
 * @property {number} wallTimes  Garbage collections in a row that left the heap nearly full.
 * @property {number} unansweredMs  Since it last answered a request, as far as this control knows.
 * @property {number} silentMs  Time since its last report. An idle worker reports less often, and
 *   `reportAgeMs` takes this into account. 0: no report has come.
 * @property {TakenFrame | null} frame  The code that blocked its event loop.
 * @property {Replacement | null} replacement  As the last look has found.
 */

/**
 * @typedef {Pick<HttpSample, 'errorsPerS' | 'activeRequests' | 'oldestRequestMs' | 'latencyP99Ms'>}
 *   WorkerHttp
 */

/** @typedef {{ atMs: number, ms: number }} Block */

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

/** @type {Track[]} */
const NO_TRACKS = [];

/**
 * @param {object} o
 * @param {Registry} o.registry
 * @param {Pick<Metrics, 'addActivities'>} o.metrics
 * @param {(instanceId: string, ageMs: number) => TakenFrame | null} o.frameOf
 * @param {(instanceId: string) => Replacement | null} o.replacementOf
 */
export function createWorkerReader({ registry, metrics, frameOf, replacementOf }) {
  /** By instance. @type {Map<string, Mark>} */
  let marks = new Map();

  /**
   * Reads the workers of all apps.
   * @param {Sources} sources
   * @param {number} nowMs
   * @returns {WorkerFacts[][]}  By app, in the order of the list.
   */
  function read(sources, nowMs) {
    const shown = findSeats(registry);
    const tracks = tracksBySlot(registry, sources.trackOf);
    /** @type {typeof marks} */
    const marked = new Map();
    const readMark = (/** @type {string} */ instanceId) => {
      const mark = nextMark(marks.get(instanceId) ?? NO_MARK, sources.trackOf(instanceId), nowMs);
      marked.set(instanceId, mark);
      return mark;
    };
    const found = registry.desired.apps.map((app) =>
      app.slots.map((slot) =>
        readWorker(registry, app, slot, {
          ...{ shown, sources, readMark, frameOf, replacementOf, nowMs },
          tracks: tracks.get(slot.id) ?? NO_TRACKS,
        }),
      ),
    );
    metrics.addActivities(found.flat());
    marks = marked;
    return found;
  }

  return {
    read,
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
 * @param {DesiredApp} app
 * @param {DesiredSlot} slot
 * @param {object} o
 * @param {ReturnType<typeof findSeats>} o.shown
 * @param {Sources} o.sources
 * @param {(instanceId: string) => Mark} o.readMark
 * @param {(instanceId: string, ageMs: number) => TakenFrame | null} o.frameOf
 * @param {(instanceId: string) => Replacement | null} o.replacementOf
 * @param {Track[]} o.tracks
 * @param {number} o.nowMs
 * @returns {WorkerFacts}
 */
function readWorker(registry, app, slot, o) {
  const { shown, sources, readMark, frameOf, replacementOf, tracks, nowMs } = o;
  const seat = shown.seats.get(slot.id);
  const instance = livingInstance(registry, seat);
  const pid = instance?.pid ?? 0;
  const { cpu, fds, fdsLimit, sockets, tree } = sources.usageOf(pid);
  const gauges = gaugesOf(app, instance, sources);
  const mark = instance ? readMark(instance.instanceId) : NO_MARK;
  // The process may have exited, or not have started yet.
  const started = registry.instances.get(seat?.instanceId ?? '');
  return {
    id: slot.id,
    name: app.spec.name,
    slot: slot.slot,
    pid,
    instanceId: instance?.instanceId ?? null,
    status: findStatus(registry, slot, shown),
    startedAtMs: instance?.startedAtMs ?? null,
    onlineSinceMs: instance?.onlineSinceMs ?? null,
    isNode: app.spec.kind === 'node',
    cpu,
    fds,
    fdsLimit,
    sockets,
    tree,
    elu: gauges.elu,
    delayP99Ms: gauges.delayP99Ms,
    poolWaitMs: gauges.poolWaitMs,
    oldSpaceUsedBytes: gauges.oldSpaceUsedBytes,
    oldSpaceLimitBytes: gauges.oldSpaceLimitBytes,
    reportAgeMs: gauges.reportAgeMs,
    activity: null,
    http: readHttp(tracks, sources.nowMs),
    ...countAnswers(tracks, getSlotHistory(registry, slot.id).served ?? null),
    isProgressing: started?.isProgressing ?? cpu > PROGRESS_CPU,
    listenFailure: started && started.addresses.length > 0 ? null : describeListenFailure(registry, slot, seat),
    blocks: mark.blocks,
    wallTimes: mark.wallTimes,
    unansweredMs: mark === NO_MARK ? 0 : nowMs - mark.answeredAtMs,
    silentMs: nowMs - (sources.trackOf(instance?.instanceId ?? '')?.seenAtMs ?? nowMs),
    frame: instance ? frameOf(instance.instanceId, gauges.reportAgeMs ?? 0) : null,
    replacement: instance ? replacementOf(instance.instanceId) : null,
  };
}

/**
 * @param {Track[]} tracks  Of all instances of the slot.
 * @param {Served | null} served
 */
function countAnswers(tracks, served) {
  let requests = served?.requests ?? 0;
  let errors = served?.responses[4] ?? 0;
  for (const { last } of tracks) {
    requests += last.http?.requests ?? 0;
    errors += last.http?.responses[4] ?? 0;
  }
  return { requests, errors };
}

/**
 * @param {Track[]} tracks  Of all instances of the slot.
 * @param {number} nowMs
 * @returns {WorkerHttp | null}
 */
function readHttp(tracks, nowMs) {
  /** @type {WorkerHttp | null} */
  let sum = null;
  for (const track of tracks) {
    const { http } = track.last;
    if (http === null) continue;
    sum ??= {
      errorsPerS: 0,
      activeRequests: 0,
      oldestRequestMs: null,
      // Takes longer than all the rest, and is read only of an app that has requests.
      get latencyP99Ms() {
        return percentiles(recentLatencies(tracks, nowMs), [0.99])[0];
      },
    };
    sum.errorsPerS += computeRates(track, nowMs).errorsPerS;
    sum.activeRequests += http.active;
    if (http.oldestMs !== null) sum.oldestRequestMs = Math.max(sum.oldestRequestMs ?? 0, http.oldestMs);
  }
  return sum;
}

/**
 * @param {Mark} before
 * @param {Track | null} track
 * @param {number} nowMs
 * @returns {Mark}
 */
function nextMark(before, track, nowMs) {
  if (!track || track.last.seq === before.seq) return before;
  const { seq, delayMs, majorGcs, http } = track.last;
  const answers = http?.responses.reduce((sum, count) => sum + count, 0) ?? 0;
  const [, , worstMs] = delayMs;
  const kept = before.blocks.filter(({ atMs }) => nowMs - atMs < BLOCKS_KEPT_MS);
  const isSame = (majorGcs ?? 0) === before.majorGcs;
  return {
    seq,
    blocks: worstMs >= BLOCK_MIN_MS ? [...kept, { atMs: nowMs, ms: worstMs }] : kept,
    majorGcs: majorGcs ?? 0,
    wallTimes: isSame ? before.wallTimes : isAtWall(track.last) ? before.wallTimes + 1 : 0,
    answers,
    answeredAtMs: answers === before.answers ? before.answeredAtMs : nowMs,
  };
}
