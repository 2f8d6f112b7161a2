// NODE_OPTIONS preloads this file into Node.js programs that nclust does not start itself, but
// through a program such as a shell or npm. It must not throw into the app, or leave a trace in its
// environment.
'use strict';

const { isMainThread } = require('node:worker_threads');
const { CMD } = require('./before-spawn.cjs');
const { whenDisconnected } = require('./disconnect.cjs');
const { SIGNALS, hideWords, isLauncher, showHandlers, travel } = require('./travel.cjs');

if (isMainThread) begin();

function begin() {
  try {
    hideWords();
    showHandlers();
    const isAppBehind = isLauncher() ? travel(__filename, () => report()) : () => false;
    const report = process.send ? reportHandlers(process.send.bind(process), isAppBehind) : () => {};
    if (process.send) whenDisconnected(() => {});
  } catch {
    // Another preload has replaced a function that this file uses. The app works without it.
  }
  for (const name of ['preload', 'before-spawn', 'can-preload', 'disconnect', 'travel'])
    delete require.cache[`${__dirname}/${name}.cjs`];
}

/**
 * Reports the handlers whenever they change, because the launcher tsx also adds handlers that only
 * process.listenerCount() leaves out.
 * @param {NonNullable<typeof process.send>} send
 * @param {() => boolean} isAppBehind
 * @returns {() => void}  Reports a change of isAppBehind().
 */
function reportHandlers(send, isAppBehind) {
  let reported = '';
  const report = () => {
    const caught = isAppBehind() ? [] : SIGNALS.filter((signal) => process.listenerCount(signal) > 0);
    if (caught.join() === reported) return;
    reported = caught.join();
    if (process.connected) send({ cmd: CMD, act: 'caught', caught }, undefined, undefined, () => {});
  };
  for (const event of ['newListener', 'removeListener'])
    process.on(event, (name) => {
      if (SIGNALS.includes(name)) process.nextTick(report);
    });
  return report;
}
