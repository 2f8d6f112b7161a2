import { setFlagsFromString } from 'node:v8';

/** @import { Clock } from './clock.js' */

const REST_MS = 2_000;

/**
 * An idle process does not collect for minutes: after a start of thirty apps that is 2 MB.
 * @param {Clock} clock
 * @param {() => void} [collect]
 * @returns {() => void}  To be called after each turn.
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

/** Takes 10 ms. Compacts only here, because reading logs would otherwise use 10 % more CPU. */
function collectNow() {
  // A keeper of an earlier version starts control without --expose-gc.
  if (!globalThis.gc) return;
  setFlagsFromString('--compact-on-every-full-gc');
  globalThis.gc();
  setFlagsFromString('--no-compact-on-every-full-gc');
}
