// How long the garbage collector has kept a process from its work.
'use strict';

const { PerformanceObserver } = require('node:perf_hooks');

/** @import { PerformanceObserverEntryList } from 'node:perf_hooks' */
/** @import { Guard } from './isolation.cjs' */

/**
 * To tell of a collection takes Node 50 to 250 us, and one that answers as fast as it can collects
 * a hundred times a second: all of them would take 3 % of its time. Who has had more than so many
 * between two reports is watched for one report of several, and in the others takes the same part
 * of its work.
 */
const COLLECTIONS_MAX = 10;
/**
 * So many are in time told of between two reports, on the mean: it goes unwatched for twice as long
 * each time, so that a burst is not taken for what follows.
 */
const COLLECTIONS_MEAN = 3;
const UNWATCHED_MAX = 19;

/**
 * Begins at once.
 * @param {Guard} guard
 */
function createGcWatch(guard) {
  let totalMs = 0;
  let seen = 0;
  let seenMs = 0;
  /** Of the work, when it was last watched. */
  let share = 0;
  /**
   * Reports that go without being watched: of the last such span, and those that are left of it.
   */
  let span = 0;
  let unwatched = 0;
  const observer = new PerformanceObserver(
    guard((/** @type {PerformanceObserverEntryList} */ list) => {
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
     * @param {number} activeMs  How long the loop has been at work since the last report.
     * @returns {number}  Ever, in ms.
     */
    take(activeMs) {
      if (unwatched > 0) takeUnwatched(activeMs);
      else takeWatched(activeMs);
      return totalMs;
    },
  };
}

module.exports = { createGcWatch };
