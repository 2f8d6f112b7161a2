// Knows: the machine below control: clock, processes, memory, garbage collection. Must not: know of
// apps, slots or the keeper.

/**
 * Policy code uses this clock instead of setTimeout(), so that tests can pass in a clock that they
 * control.
 * @typedef {object} Clock
 * @property {() => number} nowMs  Wall clock.
 * @property {(ms: number, onTime: () => void) => Cancel} after
 * @property {(ms: number, onTime: () => void) => Cancel} every  Does not keep the process alive.
 */

/**
 * Cancels the timer. Does nothing if the timer has fired.
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
