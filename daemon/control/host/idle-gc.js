import { setFlagsFromString } from 'node:v8';

/** @import { Clock } from './clock.js' */

const REST_MS = 2_000;

/**
 * Collects garbage when control is idle, because V8 does not collect for minutes in an idle
 * process. After a start of thirty apps, this frees 2 MB.
 * @param {Clock} clock
 * @param {() => void} [collect]
 * @returns {() => void}  Call this function after each turn.
 */
export function createIdleGc(clock, collect = collectNow) {
  let isPlanned = false;
  let isAtWork = false;

  function look() {
    isPlanned = isAtWork;
    if (isAtWork) clock.after(REST_MS, look);
    else collect();
    isAtWork = false;
  }

  return () => {
    isAtWork = isPlanned;
    if (isPlanned) return;
    isPlanned = true;
    clock.after(REST_MS, look);
  };
}

/**
 * Takes 10 ms. Turns on compaction only for this collection, because otherwise reading logs would
 * use 10 % more CPU.
 */
function collectNow() {
  // gc() is missing if a keeper of an earlier version has started control without --expose-gc.
  if (!globalThis.gc) return;
  setFlagsFromString('--compact-on-every-full-gc');
  globalThis.gc();
  setFlagsFromString('--no-compact-on-every-full-gc');
}
