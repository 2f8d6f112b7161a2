'use strict';

const { PerformanceObserver } = require('node:perf_hooks');

/** @import { PerformanceObserverEntryList } from 'node:perf_hooks' */
/** @import { Isolation } from './isolation.cjs' */

/**
 * With more collections between two reports, only some reports are watched, because Node.js takes
 * 50 to 250 us to report one, and a busy process has a hundred in a second.
 */
const COLLECTIONS_MAX = 10;
/** The mean number of watched collections between two reports. */
const COLLECTIONS_MEAN = 3;
/** Reports in a row. Their number at most doubles each time. */
const UNWATCHED_MAX = 19;

/** @param {Isolation} isolate */
function createGcWatch(isolate) {
  let totalMs = 0;
  let seen = 0;
  let seenMs = 0;
  /** GC part of the active time in the last watched report, assumed for the unwatched ones. */
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
     * @param {number} activeMs  Since the last report.
     * @returns {number}  In ms, since this watch began.
     */
    take(activeMs) {
      if (unwatched > 0) takeUnwatched(activeMs);
      else takeWatched(activeMs);
      return totalMs;
    },
  };
}

module.exports = { createGcWatch };
