'use strict';

const { PerformanceObserver } = require('node:perf_hooks');

/** @import { PerformanceObserverEntryList } from 'node:perf_hooks' */
/** @import { Isolation } from './isolation.cjs' */

/**
 * If the observer sees more garbage collections than this between two reports, it pauses for the
 * next reports, because Node.js takes 50 to 250 us to report one collection, and a busy process has
 * a hundred collections per second.
 */
const COLLECTIONS_MAX = 10;
/** If the observer pauses, it still sees about this many collections per report on average. */
const COLLECTIONS_MEAN = 3;
/** Limit of reports in one pause of the observer. Pauses grow in steps: 1, 3, 7, 15, 19. */
const UNWATCHED_MAX = 19;

/** @param {Isolation} isolate */
function createGcWatch(isolate) {
  let totalMs = 0;
  let seen = 0;
  let seenMs = 0;
  /**
   * Share of GC in the active time of the last watched report. Unwatched reports assume this share.
   */
  let share = 0;
  let span = 0;
  let unwatched = 0;
  const observer = new PerformanceObserver(
    isolate((/** @type {PerformanceObserverEntryList} */ list) => {
      for (const { duration } of list.getEntries()) {
        seen += 1;
        seenMs += duration;
      }
    }),
  );
  const begin = () => observer.observe({ entryTypes: ['gc'] });
  begin();

  /** @param {number} activeMs */
  function takeWatched(activeMs) {
    totalMs += seenMs;
    share = activeMs > 0 ? Math.min(1, seenMs / activeMs) : 0;
    span = seen > COLLECTIONS_MAX ? Math.min(UNWATCHED_MAX, Math.ceil(seen / COLLECTIONS_MEAN) - 1, 2 * span + 1) : 0;
    unwatched = span;
    seen = 0;
    seenMs = 0;
    if (unwatched > 0) observer.disconnect();
  }

  /** @param {number} activeMs */
  function takeUnwatched(activeMs) {
    totalMs += share * activeMs;
    unwatched -= 1;
    if (unwatched === 0) begin();
  }

  return {
    /**
     * @param {number} activeMs  Active time since the last report.
     * @returns {number}  GC time since this watch began, in ms.
     */
    take(activeMs) {
      if (unwatched > 0) takeUnwatched(activeMs);
      else takeWatched(activeMs);
      return totalMs;
    },
  };
}

module.exports = { createGcWatch };
