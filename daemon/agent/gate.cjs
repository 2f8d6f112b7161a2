// Keeps listening sockets from being polled: for the app they listen, and connections come to others.
'use strict';

/**
 * @typedef {object} Gate
 * @property {(handle: any, server: any) => void} shut  Before it is listened on.
 * @property {() => void} open  Begins to poll. Idempotent.
 */

/**
 * @param {() => () => void} hold  Keeps the process alive: without a socket that is polled it may have nothing to do, and would exit.
 * @returns {Gate}
 */
function createGate(hold) {
  /** @type {(() => void)[]} */
  let waiting = [];
  /** @type {(() => void) | null} */
  let release = null;
  return {
    shut(handle, server) {
      release ??= hold();
      let backlog = 0;
      handle.listen = (/** @type {number} */ given) => {
        backlog = given;
        return 0;
      };
      waiting.push(() => {
        delete handle.listen;
        if (server._handle === handle) handle.listen(backlog);
      });
    },
    open() {
      for (const begin of waiting) begin();
      waiting = [];
      release?.();
      release = null;
    },
  };
}

module.exports = { createGate };
