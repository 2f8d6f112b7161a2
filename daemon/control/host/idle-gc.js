import { setFlagsFromString } from 'node:v8';

/** @import { Clock } from './clock.js' */

/** After a turn that nothing followed for so long, in ms. */
const REST_MS = 2_000;

/**
 * What was allocated to start thirty apps is garbage when they run, and a process at rest collects
 * nothing by itself for minutes: 2 MB of control.
 * @param {Clock} clock
 * @param {() => void} [collect]
 * @returns {() => void}  To be called when something has been done.
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
 * Takes 10 ms. What is left in half empty pages is moved together: not always, because to read logs
 * would then take a tenth more CPU.
 */
function collectNow() {
  // A keeper of an earlier version starts control without it.
  if (!globalThis.gc) return;
  setFlagsFromString('--compact-on-every-full-gc');
  globalThis.gc();
  setFlagsFromString('--no-compact-on-every-full-gc');
}
