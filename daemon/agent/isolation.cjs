// What a process calls of the agent while the app runs must not throw: it would end the app, which
// may have replaced anything that the agent builds on.
'use strict';

/**
 * @typedef {<F extends (a?: any, b?: any) => void>(entry: F) => F} Guard  To be put around whatever
 *   a timer, a channel or an emitter calls.
 */

/**
 * @param {(error: unknown) => void} onFault  Called with the first thing that is thrown. All that
 *   is guarded does nothing from then on.
 */
function createGuard(onFault) {
  let isBroken = false;
  return /** @type {Guard} */ (
    /** @type {unknown} */ (
      (/** @type {(a: any, b: any) => void} */ entry) => (/** @type {any} */ a, /** @type {any} */ b) => {
        if (isBroken) return;
        try {
          entry(a, b);
        } catch (error) {
          isBroken = true;
          tryTo(() => onFault(error));
        }
      }
    )
  );
}

/** @param {() => void} last */
function tryTo(last) {
  try {
    last();
  } catch {
    // What would tell of it is broken as well.
  }
}

// The time, of a clock that the app cannot set. performance.now() would load modules that take an
// idle process half a megabyte.

const { hrtime, uptime } = process;

/** @returns {number}  In ms. */
function now() {
  const [seconds, nanoseconds] = hrtime();
  return seconds * 1_000 + nanoseconds / 1_000_000;
}

const BORN_MONO = now() - uptime() * 1_000;

/** @returns {number}  Since the process began, in ms. */
function nowMono() {
  return now() - BORN_MONO;
}

module.exports = { createGuard, tryTo, nowMono };
