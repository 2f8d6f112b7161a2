// Counters are sums since the process began, so that a lost report does no harm.
'use strict';

const { getHeapStatistics } = require('node:v8');
const { createIsolation, nowMono, tryTo } = require('./isolation.cjs');
const { createHttpCounts } = require('./http-counts.cjs');
const { cpuMs, createLoopLoad, createLoopSampler, createPoolProbe } = require('./event-loop.cjs');
const { createGcWatch, readOldSpaceLimit, watchOldSpace } = require('./gc-watch.cjs');

/** @import { HttpReport } from './http-counts.cjs' */
/** @import { Isolation } from './isolation.cjs' */
/** @import { Servers } from './servers.cjs' */

const { getActiveResourcesInfo } = process;
const { setImmediate } = require('node:timers');

const REPORT_MS = 1_000;
/**
 * Interval of reports of a quiet process. It is long, because each report costs the keeper time.
 */
const QUIET_REPORT_MS = 5_000;
/** Only every tenth report counts the handles, because counting visits each handle. */
const HANDLES_EVERY = 10;
const BUSY_ELU = 0.05;
const CLOSE_LOOK_MS = 20;
/** Interval of samples in an idle process. Ten samples a second cost 3 KB and 0.1 % of a core. */
const IDLE_LOOK_MS = 100;
const REST_LOOK_MS = 500;
const REST_ELU = 0.01;
/**
 * A process is not at rest if one delay took more than this share of the time since the last
 * report.
 */
const REST_DELAY = 0.1;
/**
 * If a delay exceeds REST_DELAY in this many reports in a row, the agent assumes that the process
 * itself causes the delays.
 */
const HELD_UP_REPORTS = 3;
/** If a delay exceeds this, a quiet process reports it without waiting for QUIET_REPORT_MS. */
const HELD_UP_MS = 50;
const DELAYS_MAX = 256;

/**
 * @typedef {{ responses: number, errors: number, delayP99Ms: number }} Vitals  Values for one
 *   interval.
 */

/**
 * @typedef {object} Report
 * @property {number} seq
 * @property {number} atMono  Clock of the process, in ms.
 * @property {number} heapUsedBytes
 * @property {number | null} oldSpaceUsedBytes  After the last major GC. Null: none was seen.
 * @property {number} majorGcs
 * @property {number} oldSpaceLimitBytes
 * @property {number} externalBytes
 * @property {number} nextMs  The next report comes within this time.
 * @property {number} elu  0 to 1, since the last report.
 * @property {[p50: number, p99: number, max: number]} delayMs
 * @property {number} poolWaitMs  Age of the job of the agent in the thread pool. 0: no job waits.
 * @property {number} gcMs
 * @property {number} handles
 * @property {number} cpuMs
 * @property {number} connections
 * @property {HttpReport} [http]  Missing before the first request.
 * @property {boolean} [ownsUsr1]  The app handles SIGUSR1, which otherwise opens the inspector.
 */

/**
 * @typedef {object} Listener
 * @property {number} sinceMono
 * @property {Float64Array} delays
 * @property {number} count
 * @property {number} worstMs
 * @property {(passedMs: number) => boolean} isDue
 * @property {(delays: Float64Array, nowMono: number, worstMs: number) => void} tell
 */

/**
 * @param {Servers} servers
 * @param {(error: unknown) => void} onFault
 */
function createSampler(servers, onFault) {
  const isolate = createIsolation((error) => {
    tryTo(() => loop.end());
    tryTo(() => counts.set(false));
    onFault(error);
  });
  const load = createLoopLoad(isolate);
  const counts = createHttpCounts(servers, isolate);
  /** @type {Set<Listener>} */
  const listeners = new Set();
  const loop = createLoopSampler(load, isolate, (delayMs, atMono) => {
    for (const listener of listeners) {
      if (listener.count < DELAYS_MAX) listener.delays[listener.count++] = delayMs;
      listener.worstMs = Math.max(listener.worstMs, delayMs);
      if (!listener.isDue(atMono - listener.sinceMono)) continue;
      const { worstMs } = listener;
      const delays = listener.delays.subarray(0, listener.count).sort();
      listener.sinceMono = atMono;
      listener.count = 0;
      listener.worstMs = 0;
      listener.tell(delays, atMono, worstMs);
    }
  });
  /** @type {Listener | null} */
  let watcher = null;
  /** @type {Listener | null} */
  let measurer = null;
  /** @type {() => void} */
  let reportNow = () => {};
  let isBusy = false;
  let isResting = true;

  function finish() {
    counts.set(watcher !== null || measurer !== null);
    if (watcher === null && measurer === null) return loop.look(0);
    if (isResting || !load.isExact()) counts.onNextRequest(wake);
    if (watcher !== null || isBusy) return loop.look(CLOSE_LOOK_MS);
    return loop.look(isResting ? REST_LOOK_MS : IDLE_LOOK_MS);
  }

  function wake() {
    if (!load.isExact()) load.watchTurn();
    if (isResting) loop.look(IDLE_LOOK_MS);
    isResting = false;
  }

  /**
   * @param {Listener['isDue']} isDue
   * @param {Listener['tell']} tell
   * @returns {Listener}
   */
  function listen(isDue, tell) {
    const listener = { sinceMono: nowMono(), delays: new Float64Array(DELAYS_MAX), count: 0, worstMs: 0, isDue, tell };
    listeners.add(listener);
    return listener;
  }

  /**
   * @param {number} everyMs
   * @param {(vitals: Vitals) => void} report
   */
  function watch(everyMs, report) {
    if (watcher) listeners.delete(watcher);
    watcher = null;
    if (everyMs > 0) {
      let before = counts.answered();
      watcher = listen(
        (passedMs) => passedMs >= everyMs,
        (delays) => {
          const now = counts.answered();
          report({
            responses: now.responses - before.responses,
            errors: now.errors - before.errors,
            delayP99Ms: percentile(delays, 0.99),
          });
          before = now;
        },
      );
    }
    finish();
  }

  /** @param {(report: Report) => void} say */
  function measure(say) {
    const collector = createCollector(load, isolate);
    const oldSpaceLimitBytes = readOldSpaceLimit();
    const oldSpace = watchOldSpace(isolate);
    const pool = createPoolProbe(isolate);
    let seq = 0;
    let reportedMono = nowMono();
    let wasQuiet = false;
    let heldUp = 0;
    let isAtWork = false;
    const tell = (/** @type {Float64Array} */ delays, /** @type {number} */ atMono, /** @type {number} */ worstMs) => {
      seq += 1;
      const isQuiet = counts.isQuiet();
      const passedMs = atMono - reportedMono;
      reportedMono = atMono;
      const workMs = collector.work();
      const elu = passedMs > 0 ? Math.min(1, workMs / passedMs) : 0;
      const { used_heap_size: heapUsedBytes, external_memory: externalBytes } = getHeapStatistics();
      isBusy = elu > BUSY_ELU;
      heldUp = worstMs > REST_DELAY * passedMs ? heldUp + 1 : 0;
      isResting = isQuiet && elu <= REST_ELU && heldUp === 0;
      isAtWork = !isQuiet || elu > REST_ELU || heldUp >= HELD_UP_REPORTS;
      wasQuiet = isQuiet && !isBusy;
      // Uses one object literal, because V8 makes another hidden class for each field that is added
      // later.
      say({
        seq,
        atMono: round(atMono),
        nextMs: wasQuiet ? QUIET_REPORT_MS : REPORT_MS,
        heapUsedBytes,
        oldSpaceUsedBytes: oldSpace.usedBytes,
        majorGcs: oldSpace.majorGcs,
        oldSpaceLimitBytes,
        externalBytes,
        elu: Math.round(elu * 10_000) / 10_000,
        poolWaitMs: round(pool.waitMs(loop.turnedMono())),
        gcMs: round(collector.gcMs(workMs)),
        handles: collector.handles(seq),
        cpuMs: Math.round(cpuMs()),
        delayMs: [round(percentile(delays, 0.5)), round(percentile(delays, 0.99)), round(worstMs)],
        connections: servers.open,
        http: counts.take() ?? undefined,
        ownsUsr1: process.listenerCount('SIGUSR1') > 0 ? true : undefined,
      });
    };
    measurer = listen(
      (passedMs) =>
        passedMs >= REPORT_MS &&
        (passedMs >= QUIET_REPORT_MS ||
          !wasQuiet ||
          !counts.isQuiet() ||
          (measurer?.worstMs ?? 0) > HELD_UP_MS ||
          pool.waitMs(loop.turnedMono()) > 0),
      (delays, atMono, worstMs) => {
        tell(delays, atMono, worstMs);
        if (isAtWork && !load.isExact()) collector.beExact();
        if (isBusy) collector.beginGc();
        if (isAtWork || counts.hasOpen()) pool.begin();
        finish();
      },
    );
    reportNow = () => tell(new Float64Array(), nowMono(), 0);
    // Begins to measure in a later turn, so that the work of the start does not count.
    setImmediate(isolate(collector.begin)).unref();
    finish();
  }

  return {
    /**
     * Reports often during a rollback window. If `everyMs` is 0, these reports end.
     * @type {(everyMs: number, report: (vitals: Vitals) => void) => void}
     */
    watch: isolate(watch),
    /** @type {(say: (report: Report) => void) => void} */
    measure: isolate(measure),
    /** @type {() => void} */
    report: isolate(() => reportNow()),
  };
}

/**
 * @param {ReturnType<typeof createLoopLoad>} load
 * @param {Isolation} isolate
 */
function createCollector(load, isolate) {
  let handles = 0;
  /** @type {ReturnType<typeof createGcWatch> | null} */
  let gc = null;
  let activeMs = load.activeMs();
  return {
    begin() {
      activeMs = load.activeMs();
    },
    work() {
      const before = activeMs;
      activeMs = load.activeMs();
      return activeMs - before;
    },
    /** @param {number} seq */
    handles(seq) {
      if (seq % HANDLES_EVERY === 1) handles = getActiveResourcesInfo().length;
      return handles;
    },
    beExact() {
      load.beExact();
      activeMs = load.activeMs();
    },
    /** @param {number} workMs */
    gcMs: (workMs) => gc?.take(workMs) ?? 0,
    /**
     * Called when the process is busy. Before, its garbage collections are not worth an observer.
     */
    beginGc() {
      gc ??= createGcWatch(isolate);
    },
  };
}

/**
 * @param {Float64Array} sorted
 * @param {number} share
 */
function percentile(sorted, share) {
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? 0;
}

/** @param {number} ms */
function round(ms) {
  return Math.round(ms * 100) / 100;
}

module.exports = { createSampler };
