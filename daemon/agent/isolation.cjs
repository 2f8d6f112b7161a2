// What a process calls of the agent while the app runs must not throw: it would end the app, which may have replaced anything that the agent builds on.
'use strict';

/**
 * @typedef {<F extends (a?: any, b?: any) => void>(entry: F) => F} Guard  To be put around whatever a timer, a channel or an emitter calls.
 */

/**
 * @param {(error: unknown) => void} onFault  Called with the first thing that is thrown. All that is guarded does nothing from then on.
 * @returns {Guard}
 */
function createGuard(onFault) {
  let isBroken = false;
  return /** @type {Guard} */ (/** @type {unknown} */ ((/** @type {(a: any, b: any) => void} */ entry) => (/** @type {any} */ a, /** @type {any} */ b) => {
    if (isBroken) return;
    try {
      entry(a, b);
    } catch (error) {
      isBroken = true;
      tryTo(() => onFault(error));
    }
  }));
}

/** @param {() => void} last */
function tryTo(last) {
  try {
    last();
  } catch {
    // What would tell of it is broken as well.
  }
}

module.exports = { createGuard, tryTo };
