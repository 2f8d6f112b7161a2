// Node.js has no hook for the end of the evaluation of the main module. The agent uses these signs:
//
//   CommonJS                 is loaded synchronously, before the first tick
//   ES module (22, 24, 26)   its import is traced, and is the only one without a parent
//   ES module (20)           Node.js listens for 'exit' until the import has finished, to find an
//                            await that never settles
//
// On a Node.js without these signs, the agent reports at the first tick, because an early report is
// better than no report.
'use strict';

const { subscribe, unsubscribe } = require('node:diagnostics_channel');

const IMPORT_BEGINS = 'tracing:module.import:start';
const IMPORT_ENDED = 'tracing:module.import:asyncEnd';

/**
 * Must be called before the main module is loaded.
 * @param {() => void} then
 */
function onBooted(then) {
  let isImporting = false;
  const begins = () => {
    isImporting = true;
  };
  const ended = (/** @type {any} */ { parentURL }) => {
    if (parentURL === undefined) finish();
  };
  const finish = () => {
    unsubscribe(IMPORT_BEGINS, begins);
    unsubscribe(IMPORT_ENDED, ended);
    then();
  };
  subscribe(IMPORT_BEGINS, begins);
  subscribe(IMPORT_ENDED, ended);
  process.nextTick(() => {
    // Waits for ended(), because an ES main module is still loading. If the main module is
    // CommonJS, the traced import is another module.
    if (process.mainModule === undefined && isImporting) return;
    const listener = process.listeners('exit').find(isOfLoader);
    if (listener) whenRemoved(listener, finish);
    else finish();
  });
}

/**
 * Also compares the source, because the app may have a function with the same name.
 * @param {Function} listener
 */
function isOfLoader(listener) {
  return listener.name === 'handleProcessExit' && String(listener).includes('TopLevelAwait');
}

/**
 * @param {Function} listener
 * @param {() => void} then
 */
function whenRemoved(listener, then) {
  const lookForLoader = (/** @type {string | symbol} */ event, /** @type {Function} */ removed) => {
    if (event !== 'exit' || removed !== listener) return;
    process.removeListener('removeListener', lookForLoader);
    then();
  };
  process.on('removeListener', lookForLoader);
}

module.exports = { onBooted };
