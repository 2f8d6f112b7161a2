// The time, of a clock that the app cannot set. performance.now() would load modules that take an idle process half a megabyte.
'use strict';

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

module.exports = { nowMono };
