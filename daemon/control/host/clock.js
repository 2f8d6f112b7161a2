// Knows: the machine below control: clock, processes, memory, garbage collection. Must not: know of
// apps, slots or the keeper.

/**
 * Policy code uses this clock instead of setTimeout(), so that tests can pass in a clock that they
 * control.
 * @typedef {object} Clock
 * @property {() => number} nowMs  Wall clock.
 * @property {(ms: number, onTime: () => void) => Cancel} after  Comes after messages that have
 *   arrived: if control was busy, an exit is handled before the timer that would call it up.
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
      /** @type {NodeJS.Immediate | undefined} */
      let immediate;
      // The event loop reads messages between its timers and its immediates.
      const timer = setTimeout(() => {
        immediate = setImmediate(onTime);
      }, ms);
      return () => {
        clearTimeout(timer);
        clearImmediate(immediate);
      };
    },
    every(ms, onTime) {
      const timer = setInterval(onTime, ms).unref();
      return () => clearInterval(timer);
    },
  };
}
