// Preloaded into every Node program that nclust runs. It lets the keeper hold the listening sockets, keeps the last words of a
// process from being lost, and finishes requests before the process ends. It must never throw into the app and leave no trace in
// process.argv, process.execArgv, process.env or the app's own children.
'use strict';

const path = require('node:path');

start();

function start() {
  hidePreload();
  const settings = takeSettings();
  delete require.cache[__filename];
  // Worker threads preload what their process preloads, but the settings are gone by then, as they are for children of the app.
  if (settings === null || typeof process.send !== 'function') return;
  const { createChannel } = require('./channel.cjs');
  const { later } = require('./later.cjs');
  const { HeldSockets } = require('./sockets.cjs');
  const { keepLastWords } = require('./output.cjs');

  const channel = createChannel(settings.logFiles);
  keepLastWords();
  const sockets = new HeldSockets(channel, settings);
  sockets.install();
  obey(channel, sockets, later, beginVitals(channel, sockets, later, settings.metrics !== false));
  channel.say({ act: 'hello' });
  for (const file of Object.keys(require.cache)) if (path.dirname(file) === __dirname) delete require.cache[file];
}

/**
 * @param {import('./channel.cjs').Channel} channel
 * @param {InstanceType<typeof import('./sockets.cjs').HeldSockets>} sockets
 * @param {typeof import('./later.cjs').later} later
 * @param {boolean} isMeasured
 * @returns {() => ReturnType<typeof import('./vitals.cjs').createVitals>}
 */
function beginVitals(channel, { servers }, later, isMeasured) {
  /** @type {ReturnType<typeof import('./vitals.cjs').createVitals> | undefined} */
  let known;
  const vitals = () => (known ??= /** @type {typeof import('./vitals.cjs')} */ (later('./vitals.cjs')).createVitals(servers));
  if (!isMeasured) return vitals;
  vitals().measure((report) => channel.say({ act: 'report', report }));
  // On Unix what is sent here is in the channel before the process ends.
  process.once('exit', () => vitals().report());
  return vitals;
}

/**
 * What the keeper asks for.
 * @param {import('./channel.cjs').Channel} channel
 * @param {InstanceType<typeof import('./sockets.cjs').HeldSockets>} sockets
 * @param {typeof import('./later.cjs').later} later
 * @param {ReturnType<typeof beginVitals>} vitals
 */
function obey(channel, sockets, later, vitals) {
  /** Ends the draining of a process that is parked. */
  let takeBack = () => {};
  channel.on('drain', ({ mode, byMessage }) => {
    takeBack();
    // Said before as well: draining may take longer than the keeper waits.
    channel.say({ act: 'draining', caught: caughtSignals() });
    later('./drain.cjs').drain(sockets, { mode, byMessage }, () => {
      // A signal that the app does not catch ends it without another word.
      vitals().report();
      channel.say({ act: 'drained', caught: caughtSignals() });
    });
  });
  channel.on('park', () => {
    takeBack = later('./drain.cjs').park(sockets);
  });
  channel.on('unpark', ({ seq }) => {
    takeBack();
    sockets.listenAgain((refusal) => channel.say({ act: 'answer', seq, refusal }));
  });
  channel.on('admit', ({ seq }) => {
    sockets.admit();
    channel.say({ act: 'answer', seq });
  });
  channel.on('ask', ({ seq }) => channel.say({ act: 'answer', seq, open: sockets.servers.open }));
  channel.on('watch', ({ everyMs }) => vitals().watch(everyMs, (/** @type {object} */ news) => channel.say({ act: 'vitals', ...news, connections: sockets.servers.open })));
  channel.on('inspect', ({ seq, isOn }) => channel.say({ act: 'answer', seq, ...later('./inspect.cjs').inspect(isOn) }));
  channel.on('unlisten', () => {
    sockets.closeListening(() => channel.say({ act: 'unlistened' }));
  });
}

function caughtSignals() {
  return ['SIGTERM', 'SIGINT'].filter((signal) => process.listenerCount(signal) > 0);
}

/** `node app.js` shows no --require: child_process.fork() of the app would hand it on. */
function hidePreload() {
  const at = process.execArgv.findIndex((arg, index) => arg === '--require' && process.execArgv[index + 1] === __filename);
  if (at !== -1) process.execArgv.splice(at, 2);
}

/** @returns {{ isCluster?: boolean, isGated?: boolean, metrics?: boolean, scheduling?: string, sockets?: import('./sockets.cjs').Inherited[], logFiles?: import('./log-stand-in.cjs').LogFiles } | null} */
function takeSettings() {
  const text = process.env.NCLUST_AGENT;
  delete process.env.NCLUST_AGENT;
  return text === undefined ? null : JSON.parse(text);
}
