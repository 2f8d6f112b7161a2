// How a process is doing: what it has served so far, and how its event loop, its heap and its
// collector have been since the last report. Counters are sums since the process began, so that a
// report that is lost or looked at twice falsifies nothing.
'use strict';

const { getHeapStatistics } = require('node:v8');
const { createGuard, nowMono, tryTo } = require('./isolation.cjs');
const { createHttpCounts } = require('./http-counts.cjs');
const { cpuMs, createLoopLoad, createLoopSampler } = require('./event-loop.cjs');

/** @import { HttpReport } from './http-counts.cjs' */
/** @import { Guard } from './isolation.cjs' */
/** @import { Servers } from './servers.cjs' */

const { getActiveResourcesInfo } = process;
const { setImmediate } = require('node:timers');

const REPORT_MS = 1_000;
/**
 * A process that has nothing to do says so less often: a hundred of them would keep the keeper
 * busy, and each touches memory for every report.
 */
const QUIET_REPORT_MS = 5_000;
/** Listing what keeps a process alive takes as long as there is of it. */
const HANDLES_EVERY = 10;
/** Above this share of the time a loop is worth a closer look. */
const BUSY_ELU = 0.05;
const CLOSE_LOOK_MS = 20;
/**
 * A look wakes the process up: ten in a second cost an idle one a thousandth of a core, and
 * allocate 3 KB.
 */
const IDLE_LOOK_MS = 100;
/** Nothing was asked of it, and it has done next to nothing: it has nothing to be late for. */
const REST_LOOK_MS = 500;
const REST_ELU = 0.01;
/**
 * Nor did it wait, for this part of the time, for something that takes no CPU. A machine that is
 * busy with others makes it wait now and then, but not every time.
 */
const REST_DELAY = 0.1;
const HELD_UP_REPORTS = 3;
/**
 * Longer than this a machine that is busy with others keeps a process waiting only now and then.
 */
const HELD_UP_MS = 50;
/** More than come in a second, or in a quiet span. */
const DELAYS_MAX = 256;

/**
 * @typedef {{ responses: number, errors: number, delayP99Ms: number }} Vitals  Since the last ones.
 */

/**
 * @typedef {object} Report
 * @property {number} seq
 * @property {number} atMono  Of the process's own clock, in ms.
 * @property {number} heapUsedBytes
 * @property {number} heapLimitBytes
 * @property {number} externalBytes
 * @property {number} nextMs  When the next one is due, at the latest.
 * @property {number} elu  0 to 1, since the last report, like the delays.
 * @property {[p50: number, p99: number, max: number]} delayMs
 * @property {number} gcMs  Ever.
 * @property {number} handles
 * @property {number} cpuMs  Ever.
 * @property {number} connections
 * @property {HttpReport} [http]  Once there has been any.
 * @property {boolean} [ownsUsr1]  The app takes SIGUSR1 itself, with which Node lets a debugger in.
 */

/**
 * @typedef {object} Listener  To the loop.
 * @property {number} sinceMono
 * @property {Float64Array} delays
 * @property {number} count  How many there are.
 * @property {number} worstMs
 * @property {(passedMs: number) => boolean} isDue
 * @property {(delays: Float64Array, nowMono: number, worstMs: number) => void} tell  Sorted.
 */

/**
 * @param {Servers} servers
 * @param {(error: unknown) => void} onFault  Nothing is measured any more.
 */
function createVitals(servers, onFault) {
  const guard = createGuard((error) => {
    tryTo(() => loop.end());
    tryTo(() => counts.set(false));
    onFault(error);
  });
  const load = createLoopLoad(guard);
  const counts = createHttpCounts(servers, guard);
  /** @type {Set<Listener>} */
  const listeners = new Set();
  const loop = createLoopSampler(load, guard, (delayMs, atMono) => {
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

  function settle() {
    counts.set(watcher !== null || measurer !== null);
    if (watcher === null && measurer === null) return loop.look(0);
    if (isResting || !load.isExact()) counts.whenAsked(wake);
    if (watcher !== null || isBusy) return loop.look(CLOSE_LOOK_MS);
    return loop.look(isResting ? REST_LOOK_MS : IDLE_LOOK_MS);
  }

  /** There was nothing to do, and now there is a request. */
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
    settle();
  }

  /** @param {(report: Report) => void} say */
  function measure(say) {
    const collector = createCollector(load, guard);
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
      const {
        used_heap_size: heapUsedBytes,
        heap_size_limit: heapLimitBytes,
        external_memory: externalBytes,
      } = getHeapStatistics();
      isBusy = elu > BUSY_ELU;
      heldUp = worstMs > REST_DELAY * passedMs ? heldUp + 1 : 0;
      isResting = isQuiet && elu <= REST_ELU && heldUp === 0;
      isAtWork = !isQuiet || elu > REST_ELU || heldUp >= HELD_UP_REPORTS;
      wasQuiet = isQuiet && !isBusy;
      // All fields at once: each one that is added takes the description of another kind of object.
      say({
        seq,
        atMono: round(atMono),
        nextMs: wasQuiet ? QUIET_REPORT_MS : REPORT_MS,
        heapUsedBytes,
        heapLimitBytes,
        externalBytes,
        elu: Math.round(elu * 10_000) / 10_000,
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
        (passedMs >= QUIET_REPORT_MS || !wasQuiet || !counts.isQuiet() || (measurer?.worstMs ?? 0) > HELD_UP_MS),
      (delays, atMono, worstMs) => {
        tell(delays, atMono, worstMs);
        if (isAtWork && !load.isExact()) collector.beExact();
        if (isBusy) collector.beginGc();
        settle();
      },
    );
    reportNow = () => tell(new Float64Array(), nowMono(), 0);
    // What a process does to begin says nothing of it.
    setImmediate(guard(collector.begin)).unref();
    settle();
  }

  return {
    /**
     * A close look while a rollout is on trial. everyMs: 0 ends it.
     * @type {(everyMs: number, report: (vitals: Vitals) => void) => void}
     */
    watch: guard(watch),
    /**
     * From now on, as long as the process lives.
     * @type {(say: (report: Report) => void) => void}
     */
    measure: guard(measure),
    /** What has been counted must not end with the process. @type {() => void} */
    report: guard(() => reportNow()),
  };
}

/**
 * @param {ReturnType<typeof createLoopLoad>} load
 * @param {Guard} guard
 */
function createCollector(load, guard) {
  let handles = 0;
  /** @type {ReturnType<typeof import('./gc-watch.cjs').createGcWatch> | null} */
  let gc = null;
  let activeMs = load.activeMs();
  return {
    begin() {
      activeMs = load.activeMs();
    },
    /** Since the last time, in ms. */
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
    /** Who has never been busy has collected nothing worth the memory of the observer. */
    beginGc() {
      gc ??= /** @type {typeof import('./gc-watch.cjs')} */ (require('./gc-watch.cjs')).createGcWatch(guard);
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

module.exports = { createVitals };
