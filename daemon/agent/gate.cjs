// Keeps listening sockets from being polled: for the app they listen, and connections come to
// others.
'use strict';

const { setInterval, clearInterval } = require('node:timers');

/**
 * @typedef {object} Gate
 * @property {(handle: any) => void} shut  Before it is listened on.
 * @property {() => void} open  Begins to poll. Idempotent.
 */

/** @returns {Gate} */
function createGate() {
  /** @type {(() => void)[]} */
  let waiting = [];
  /**
   * Without a socket that is polled the process may have nothing to do, and would exit.
   * @type {NodeJS.Timeout | undefined}
   */
  let stay;
  return {
    shut(handle) {
      stay ??= setInterval(() => {}, 2 ** 30);
      let backlog = 0;
      handle.listen = (/** @type {number} */ given) => {
        backlog = given;
        return 0;
      };
      waiting.push(() => {
        delete handle.listen;
        // The app may have closed it. Its server may not have it any more: the primary of the app's
        // own node:cluster takes it from there.
        if (handle.fd >= 0) handle.listen(backlog);
      });
    },
    open() {
      for (const begin of waiting) begin();
      waiting = [];
      clearInterval(stay);
      stay = undefined;
    },
  };
}

module.exports = { createGate };
