// How a process is doing, while somebody wants to know: responses, those with a status from 500, and the delay of the event loop.
'use strict';

const diagnostics = require('node:diagnostics_channel');

const FINISH = 'http.server.response.finish';
const SAMPLE_MS = 20;

/** @typedef {{ responses: number, errors: number, delayP99Ms: number }} Vitals  Since the last ones. */

/** @type {(() => void) | null} */
let end = null;

/**
 * @param {number} everyMs  0 ends it.
 * @param {(vitals: Vitals) => void} report
 */
function watch(everyMs, report) {
  end?.();
  end = everyMs > 0 ? begin(everyMs, report) : null;
}

/** @param {number} everyMs  @param {(vitals: Vitals) => void} report */
function begin(everyMs, report) {
  let [responses, errors] = [0, 0];
  /** @type {number[]} */
  let delays = [];
  let [sampledMono, reportedMono] = [performance.now(), performance.now()];
  const count = (/** @type {any} */ { response }) => {
    responses += 1;
    if (response.statusCode >= 500) errors += 1;
  };
  // monitorEventLoopDelay() would do, but for its reset(), which forgets the delay that is just ending.
  const timer = setInterval(() => {
    const nowMono = performance.now();
    delays.push(Math.max(0, nowMono - sampledMono - SAMPLE_MS));
    sampledMono = nowMono;
    if (nowMono - reportedMono < everyMs) return;
    report({ responses, errors, delayP99Ms: percentile99(delays) });
    [responses, errors, delays, reportedMono] = [0, 0, [], nowMono];
  }, SAMPLE_MS).unref();
  diagnostics.subscribe(FINISH, count);
  return () => {
    clearInterval(timer);
    diagnostics.unsubscribe(FINISH, count);
  };
}

/** @param {number[]} values */
function percentile99(values) {
  return values.sort((a, b) => a - b)[Math.ceil(values.length * 0.99) - 1] ?? 0;
}

module.exports = { watch };
