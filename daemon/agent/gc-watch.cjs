'use strict';

const { getHeapSpaceStatistics, getHeapStatistics } = require('node:v8');

const { FinalizationRegistry } = globalThis;

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
  // Required here, because the module takes half a megabyte.
  const { PerformanceObserver } = require('node:perf_hooks');
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

/**
 * An object is in the old space if it has survived this many collections. Since V8 14, a minor GC
 * also reports unreachable objects, but only young ones.
 */
const OLD_AFTER = 2;

/**
 * Reads the used old space right after each major GC, which frees an old object of this function.
 * This costs less than an observer, which gets each minor GC. It misses the first two major GCs.
 * @param {Isolation} isolate
 */
function watchOldSpace(isolate) {
  let collections = 0;
  /** @type {{ target: object, since: number }[]} */
  const kept = [];
  const registry = new FinalizationRegistry(
    isolate((/** @type {number} */ since) => {
      collections += 1;
      if (collections - since > OLD_AFTER) {
        seen.majorGcs += 1;
        seen.usedBytes = readOldSpace();
      }
      watchNext();
    }),
  );
  const watchNext = () => {
    while (kept.length <= OLD_AFTER) kept.push({ target: {}, since: collections });
    const { target, since } = /** @type {typeof kept[number]} */ (kept.shift());
    registry.register(target, since);
  };
  // The registry is part of the result, because nothing else keeps it in memory.
  const seen = { majorGcs: 0, usedBytes: /** @type {number | null} */ (null), registry };
  watchNext();
  return seen;
}

/** The old generation: V8 counts large objects and code towards the same limit. */
function readOldSpace() {
  let bytes = 0;
  for (const { space_name: name, space_used_size: used } of getHeapSpaceStatistics())
    if (name !== 'new_space' && name !== 'new_large_object_space') bytes += used;
  return bytes;
}

const MB = 1024 ** 2;
/** The smallest old space that V8 chooses without an option, in MB. */
const OLD_LEAST = 256;
/** The old space from which on V8 chooses the largest young generation, in MB. */
const OLD_OF_LARGEST_YOUNG = 2048;

/**
 * V8 reports only the sum of the limits of old space and young generation. The young generation is
 * three semi-spaces. Their size is a power of two, and depends on the version of V8.
 * @returns {number}  At this use of the old space, the process ends.
 */
function readOldSpaceLimit() {
  const old = readOption('old');
  if (old > 0) return old * MB;
  const limit = getHeapStatistics().heap_size_limit / MB;
  const version = Number.parseInt(process.versions.v8, 10);
  const semiMax = version < 13 ? 16 : version === 13 ? 64 : 32;
  const semi = readOption('semi') || semiMax * Math.min(1, limit / (OLD_OF_LARGEST_YOUNG + 3 * semiMax));
  const rest = limit - 3 * 2 ** Math.ceil(Math.log2(semi));
  return (limit > OLD_LEAST ? Math.max(rest, OLD_LEAST) : rest) * MB;
}

/**
 * @param {'old' | 'semi'} space
 * @returns {number}  In MB. 0: not given.
 */
function readOption(space) {
  const words = [...(process.env.NODE_OPTIONS ?? '').split(/[\s"]+/), ...process.execArgv];
  const option = new RegExp(`^--max[-_]${space}[-_]space[-_]size=(\\d+)$`);
  return Number(words.flatMap((word) => option.exec(word)?.[1] ?? []).pop() ?? 0);
}

module.exports = { createGcWatch, readOldSpaceLimit, watchOldSpace };
