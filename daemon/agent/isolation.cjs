// Catches errors in callbacks of the agent, because such an error would end the process. Such an
// error occurs, for example, if the app has replaced a function that the agent uses.
'use strict';

/**
 * @typedef {<F extends (a?: any, b?: any) => void>(entry: F) => F} Isolation  Wraps each callback.
 */

/** @param {(error: unknown) => void} onFault  Gets the first error. No callback runs after it. */
function createIsolation(onFault) {
  let isBroken = false;
  return /** @type {Isolation} */ (
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
    // Nothing is reported, because the report would fail too.
  }
}

// Uses hrtime(), because the app cannot change this clock. performance.now() is not used, because
// its module takes half a megabyte.
const { hrtime, uptime } = process;

/** @returns {number} */
function now() {
  const [seconds, nanoseconds] = hrtime();
  return seconds * 1_000 + nanoseconds / 1_000_000;
}

const BORN_MONO = now() - uptime() * 1_000;

/** @returns {number}  Time since the process began, in ms. */
function nowMono() {
  return now() - BORN_MONO;
}

module.exports = { createIsolation, tryTo, nowMono };
