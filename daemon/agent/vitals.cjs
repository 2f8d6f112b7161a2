// How a process is doing: what it has served so far, and how its event loop, its heap and its collector have been since the last report.
// Counters are sums since the process began, so that a report that is lost or looked at twice falsifies nothing.
'use strict';

const { createHttpCounts } = require('./http-counts.cjs');
const { createLoopSampler } = require('./loop-delay.cjs');

const { performance, PerformanceObserver } = globalThis;

const REPORT_MS = 1_000;
/** A process that has nothing to do says so less often: a hundred of them would keep the keeper busy, and each touches memory for every report. */
const QUIET_REPORT_MS = 5_000;
/** Listing what keeps a process alive takes as long as there is of it. */
const HANDLES_EVERY = 10;
/** Above this share of the time a loop is worth a closer look. */
const BUSY_ELU = 0.05;
const CLOSE_LOOK_MS = 20;
/** A look wakes the process up: ten in a second cost an idle one a thousandth of a core. */
const IDLE_LOOK_MS = 100;
/** Longer than this a machine that is busy with others keeps a process waiting only now and then. */
const HELD_UP_MS = 50;

/** @typedef {{ responses: number, errors: number, delayP99Ms: number }} Vitals  Since the last ones. */

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
 * @property {number} connections
 * @property {import('./http-counts.cjs').HttpReport} [http]  Once there has been any.
 */

/**
 * @typedef {object} Listener  To the loop.
 * @property {number} sinceMono
 * @property {number[]} delays
 * @property {number} worstMs
 * @property {(passedMs: number) => boolean} isDue
 * @property {(delays: number[], nowMono: number) => void} tell
 */

/** @param {InstanceType<typeof import('./servers.cjs').Servers>} servers */
function createVitals(servers) {
  const counts = createHttpCounts(servers);
  /** @type {Set<Listener>} */
  const listeners = new Set();
  const loop = createLoopSampler((delayMs, nowMono) => {
    for (const listener of listeners) {
      listener.delays.push(delayMs);
      listener.worstMs = Math.max(listener.worstMs, delayMs);
      if (!listener.isDue(nowMono - listener.sinceMono)) continue;
      listener.delays.sort((a, b) => a - b);
      listener.sinceMono = nowMono;
      listener.tell(listener.delays, nowMono);
      listener.delays.length = 0;
      listener.worstMs = 0;
    }
  });
  /** @type {Listener | null} */
  let watcher = null;
  /** @type {Listener | null} */
  let measurer = null;
  /** @type {() => void} */
  let reportNow = () => {};
  let isBusy = false;

  function settle() {
    counts.set(watcher !== null || measurer !== null);
    if (watcher === null && measurer === null) loop.look(0);
    else loop.look(watcher !== null || isBusy ? CLOSE_LOOK_MS : IDLE_LOOK_MS);
  }

  /** @param {Listener['isDue']} isDue  @param {Listener['tell']} tell  @returns {Listener} */
  function listen(isDue, tell) {
    const listener = { sinceMono: performance.now(), delays: [], worstMs: 0, isDue, tell };
    listeners.add(listener);
    return listener;
  }

  return {
    /**
     * A close look while a rollout is on trial.
     * @param {number} everyMs  0 ends it.
     * @param {(vitals: Vitals) => void} report
     */
    watch(everyMs, report) {
      if (watcher) listeners.delete(watcher);
      watcher = null;
      if (everyMs > 0) {
        let before = counts.answered();
        watcher = listen((passedMs) => passedMs >= everyMs, (delays) => {
          const now = counts.answered();
          report({ responses: now.responses - before.responses, errors: now.errors - before.errors, delayP99Ms: percentile(delays, 0.99) });
          before = now;
        });
      }
      settle();
    },
    /**
     * From now on, as long as the process lives.
     * @param {(report: Report) => void} say
     */
    measure(say) {
      const collector = createCollector();
      let seq = 0;
      let wasQuiet = false;
      const tell = (/** @type {number[]} */ delays, /** @type {number} */ nowMono) => {
        seq += 1;
        const isQuiet = counts.isQuiet();
        const own = collector.take(seq);
        const http = counts.take();
        isBusy = own.elu > BUSY_ELU;
        wasQuiet = isQuiet && !isBusy;
        say({
          seq, atMono: round(nowMono), nextMs: wasQuiet ? QUIET_REPORT_MS : REPORT_MS, ...own,
          delayMs: [round(percentile(delays, 0.5)), round(percentile(delays, 0.99)), round(delays.at(-1) ?? 0)], connections: servers.open, ...(http ? { http } : {}),
        });
        if (isBusy) collector.beginGc();
        settle();
      };
      measurer = listen((passedMs) => passedMs >= REPORT_MS && (passedMs >= QUIET_REPORT_MS || !wasQuiet || !counts.isQuiet() || (measurer?.worstMs ?? 0) > HELD_UP_MS), tell);
      reportNow = () => tell([], performance.now());
      settle();
    },
    /** What has been counted must not end with the process. */
    report: () => reportNow(),
  };
}

function createCollector() {
  const v8 = require('node:v8');
  let gcMs = 0;
  let handles = 0;
  let isWatchingGc = false;
  let utilization = performance.eventLoopUtilization();
  return {
    /** @param {number} seq */
    take(seq) {
      const now = performance.eventLoopUtilization();
      const elu = performance.eventLoopUtilization(now, utilization).utilization;
      utilization = now;
      const heap = v8.getHeapStatistics();
      if (seq % HANDLES_EVERY === 1) handles = process.getActiveResourcesInfo().length;
      return { heapUsedBytes: heap.used_heap_size, heapLimitBytes: heap.heap_size_limit, externalBytes: heap.external_memory, elu: Math.round(elu * 10_000) / 10_000, gcMs: round(gcMs), handles };
    },
    /** Who has never been busy has collected nothing worth the memory of the observer. */
    beginGc() {
      if (isWatchingGc) return;
      isWatchingGc = true;
      new PerformanceObserver((list) => {
        for (const { duration } of list.getEntries()) gcMs += duration;
      }).observe({ entryTypes: ['gc'] });
    },
  };
}

/** @param {number[]} sorted  @param {number} share */
function percentile(sorted, share) {
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? 0;
}

/** @param {number} ms */
function round(ms) {
  return Math.round(ms * 100) / 100;
}

module.exports = { createVitals };
