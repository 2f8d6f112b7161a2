// Knows: the machine below control: clock, processes, memory, garbage collection.
// Must not: know of apps, slots or the keeper.
// Start at: systemClock(), then processes.js, which reads /proc.

/**
 * The source of time. Policy code never calls setTimeout(): tests pass in a clock that they turn by
 * hand.
 * @typedef {object} Clock
 * @property {() => number} nowMs  Wall clock, in ms.
 * @property {(ms: number, onTime: () => void) => Cancel} after  Calls once.
 * @property {(ms: number, onTime: () => void) => Cancel} every  Calls repeatedly. Does not keep the
 *   process alive.
 */

/**
 * Stops a timer. Does nothing if the timer has fired.
 * @typedef {() => void} Cancel
 */

/** @returns {Clock} */
export function systemClock() {
  return {
    nowMs: () => Date.now(),
    after(ms, onTime) {
      const timer = setTimeout(onTime, ms);
      return () => clearTimeout(timer);
    },
    every(ms, onTime) {
      const timer = setInterval(onTime, ms).unref();
      return () => clearInterval(timer);
    },
  };
}
