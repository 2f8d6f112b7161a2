// The right moment to close a listening socket that nobody else holds.
'use strict';

// Not those of the app, which may have replaced them by now.
const { performance } = require('node:perf_hooks');
const { setTimeout } = require('node:timers');
const { createGuard, nowMono } = require('./isolation.cjs');

/** A turn of the loop with less work than this has answered no request. */
const QUIET_MS = 0.15;
/** A process that is never quiet closes after so many milliseconds. */
const QUIET_LOOKS = 200;

/**
 * The keeper is dead and ours may be the last copy of a socket: the kernel resets what waits in its
 * queue when that is closed. So it is closed right after a poll that found nothing to do. Closed
 * anywhere in a turn of the loop, 1 or 2 of 700 requests were reset in every seventh takeover; so
 * it is one in 130.
 * @param {() => void} then
 */
function whenQuiet(then) {
  const guard = createGuard(then);
  const look = guard((/** @type {number} */ looksLeft) => {
    const { idleTime } = performance.nodeTiming;
    const sinceMono = nowMono();
    setTimeout(
      guard(() => {
        const busyMs = nowMono() - sinceMono - (performance.nodeTiming.idleTime - idleTime);
        if (busyMs < QUIET_MS || looksLeft === 0) then();
        else look(looksLeft - 1);
      }),
      1,
    );
  });
  look(QUIET_LOOKS);
}

module.exports = { whenQuiet };
