// When the main module has been evaluated. No hook tells; these are the signs of Node itself:
//
//   CommonJS                 is loaded in one synchronous act, which the first tick follows
//   ES module (22, 24, 26)   its import is traced, and is the only one without a parent
//   ES module (20)           Node listens for 'exit' until the import is through, to know of an
//                            unsettled await
//
// Where none is given (a Node between those), the first tick has to do: too early is better than
// never.
'use strict';

const { subscribe, unsubscribe } = require('node:diagnostics_channel');

const IMPORT_BEGINS = 'tracing:module.import:start';
const IMPORT_ENDED = 'tracing:module.import:asyncEnd';

/**
 * To be called by what is preloaded.
 * @param {() => void} then  Called once. Never when the loading does not end.
 */
function whenBooted(then) {
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
    // What CommonJS imports while it is loaded is not the main module.
    if (process.mainModule === undefined && isImporting) return;
    const listener = process.listeners('exit').find(isOfLoader);
    if (listener) whenRemoved(listener, finish);
    else finish();
  });
}

/**
 * An app may have a function of the same name.
 * @param {Function} listener
 */
function isOfLoader(listener) {
  return listener.name === 'handleProcessExit' && String(listener).includes('TopLevelAwait');
}

/**
 * @param {Function} listener  For 'exit'.
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

module.exports = { whenBooted };
