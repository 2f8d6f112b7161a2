// nclust preloads the agent into every Node.js program. The agent lets the keeper hold the
// listening sockets, and lets requests finish before the process exits. The agent must not throw
// into the app, use globals that the app can change (so the files require node:timers), or leave a
// trace in argv, env or child processes.
'use strict';

const fs = require('node:fs');
const vm = require('node:vm');

/** @import { Channel } from './channel.cjs' */
/** @import { LogFiles } from './log-fallback.cjs' */
/** @import { Settings, SocketClaims } from './socket-claims.cjs' */

/** Whether this is a launcher such as npm, and the app is its child process. */
let isAppBehind = () => false;

start();

function start() {
  hidePreload();
  const settings = takeSettings();
  delete require.cache[__filename];
  // Worker threads and children of the app find no settings, because takeSettings() has deleted the
  // variable.
  if (settings === null || typeof process.send !== 'function') return;
  const { requireOnDemand } = loader();
  const { followPrimary, followWorkers } = requireOnDemand('./tree/own-workers.cjs');
  if (settings.isOwnWorker) {
    const { Servers } = requireOnDemand('./servers.cjs');
    return followPrimary(new Servers(), requireOnDemand);
  }
  const { onBooted } = requireOnDemand('./booted.cjs');
  const { createChannel } = requireOnDemand('./channel.cjs');
  const { patchListen } = requireOnDemand('./listen-patch.cjs');
  const { isLauncher, showHandlers, travel } = requireOnDemand('./tree/travel.cjs');
  if (isLauncher()) {
    showHandlers();
    isAppBehind = travel(`${__dirname}/tree/preload.cjs`);
  }

  const channel = createChannel(settings);
  keepLastWords();
  anyPort();
  const sockets = patchListen(channel, settings);
  const vitals = beginVitals(channel, sockets, requireOnDemand, settings.metrics !== false);
  handleRequests(channel, sockets, requireOnDemand, vitals, followWorkers(__filename));
  tellExceptions(channel);
  channel.say({ act: 'hello' });
  onBooted(() => void channel.say({ act: 'booted' }));
}

/**
 * Loads loader.cjs without require(), which takes 30 KB more memory and leaves traces.
 * @returns {typeof import('./loader.cjs')}
 */
function loader() {
  const module = { exports: /** @type {any} */ ({}) };
  const filename = `${__dirname}/loader.cjs`;
  vm.compileFunction(fs.readFileSync(filename, 'utf8'), ['module', 'require', '__dirname'], { filename })(
    module,
    require,
    __dirname,
  );
  return module.exports;
}

/**
 * @param {Channel} channel
 * @param {SocketClaims} sockets
 * @param {typeof import('./loader.cjs').requireOnDemand} requireOnDemand
 * @param {boolean} isMeasured
 * @returns
 *   {{ of: () => ReturnType<typeof import('./report.cjs').createSampler>, report: () => void }}
 */
function beginVitals(channel, { servers }, requireOnDemand, isMeasured) {
  /** @type {ReturnType<typeof import('./report.cjs').createSampler> | undefined} */
  let known;
  const onFault = (/** @type {unknown} */ error) =>
    void channel.say({ act: 'fault', part: 'metrics', message: String(error).slice(0, 300) });
  const vitals = {
    of: () => (known ??= requireOnDemand('./report.cjs').createSampler(servers, onFault)),
    report: () => known?.report(),
  };
  if (!isMeasured) return vitals;
  vitals.of().measure((report) => channel.say({ act: 'report', report }));
  // Sends a last report at the exit. On Unix, send() writes the report before the process exits.
  process.once('exit', vitals.report);
  return vitals;
}

/**
 * @param {Channel} channel
 * @param {SocketClaims} sockets
 * @param {typeof import('./loader.cjs').requireOnDemand} requireOnDemand
 * @param {ReturnType<typeof beginVitals>} vitals
 * @param {ReturnType<typeof import('./tree/own-workers.cjs').followWorkers>} drainWorkers
 */
function handleRequests(channel, sockets, requireOnDemand, vitals, drainWorkers) {
  let takeBack = () => {};
  const answer = (/** @type {number} */ seq, said = {}) => channel.say({ act: 'answer', seq, ...said });
  channel.on('drain', ({ mode, byMessage, signal }) => {
    takeBack();
    // Reports the caught signals before the drain too, because the keeper may not wait for the
    // end of the drain.
    channel.say({ act: 'draining', caught: caughtSignals(), hasWorkers: hasWorkers() });
    // channel.letGo lets the process exit when the app has closed everything. Otherwise the open
    // channel would keep the process alive.
    const drained = () => {
      // Sends the last report now, because after "drained" the keeper may send a signal. Without a
      // handler for this signal, the process ends at once, and the 'exit' event does not occur.
      vitals.report();
      channel.say({ act: 'drained', caught: caughtSignals() });
    };
    requireOnDemand('./drain.cjs').drain(sockets, { mode, byMessage, signal, onAsked: channel.letGo }, () =>
      drainWorkers({ mode, signal }, drained),
    );
  });
  channel.on('park', () => {
    takeBack = requireOnDemand('./drain.cjs').park(sockets);
  });
  channel.on('unpark', ({ seq }) => {
    takeBack();
    sockets.listenAgain((refusal) => answer(seq, { refusal }));
  });
  channel.on('admit', ({ seq }) => {
    sockets.openGate();
    answer(seq);
  });
  channel.on('ping', ({ seq }) => answer(seq, { open: sockets.servers.open }));
  channel.on('sample', ({ everyMs }) => {
    const say = (/** @type {object} */ news) =>
      channel.say({ act: 'vitals', ...news, connections: sockets.servers.open });
    vitals.of().watch(everyMs, say);
  });
  channel.on('inspect', ({ seq, isOn }) => answer(seq, requireOnDemand('./inspector.cjs').inspect(isOn)));
  channel.on('profile', ({ seq, step, ...question }) =>
    requireOnDemand('./profile.cjs').profile({ step, ...question, anyPort }, (said) => answer(seq, said)),
  );
  channel.on('close-listeners', () => {
    sockets.closeListening({ isForGood: true }, () => channel.say({ act: 'listeners-closed' }));
  });
}

/**
 * Makes writes to stdout and stderr synchronous. Otherwise Node.js writes to a pipe asynchronously
 * and drops the queue at process.exit(): only 2,634 of 100,000 lines arrived. Each stream is still
 * created at the first use, because a stream costs memory and time.
 */
function keepLastWords() {
  for (const name of ['stdout', 'stderr']) {
    const original = Object.getOwnPropertyDescriptor(process, name);
    if (!original?.get || !original.configurable) continue;
    const { get } = original;
    const first = () => {
      const stream = get.call(process);
      try {
        stream?._handle?.setBlocking?.(true);
        // Leaves the property unchanged if the app has replaced this getter.
        if (Object.getOwnPropertyDescriptor(process, name)?.get === first)
          Object.defineProperty(process, name, original);
      } catch {
        // The app may have replaced a method that this code uses.
      }
      return stream;
    };
    Object.defineProperty(process, name, { ...original, get: first });
  }
}

const MESSAGE_MAX_CHARS = 2_000;
const STACK_MAX_CHARS = 16_000;

/**
 * Sends uncaught exceptions as PM2's event "process:exception". Also reports to the
 * keeper if a UDP socket gets EADDRINUSE and the app does not handle this error.
 * @param {Channel} channel
 */
function tellExceptions(channel) {
  process.on('uncaughtExceptionMonitor', (error) => {
    try {
      const isHandled = process.listenerCount('uncaughtException') > 0 || process.hasUncaughtExceptionCaptureCallback();
      if (!isHandled)
        tellBind(channel, /** @type {NodeJS.ErrnoException & { address?: string, port?: number }} */ (error));
      const { name = 'Error', message = String(error), stack = '' } = error ?? {};
      const data = {
        name: String(name).slice(0, MESSAGE_MAX_CHARS),
        message: String(message).slice(0, MESSAGE_MAX_CHARS),
        stack: String(stack).slice(0, STACK_MAX_CHARS),
      };
      if (process.connected) process.send?.({ type: 'process:exception', data }, () => {});
    } catch {
      // An app may throw a value whose properties cannot be read.
    }
  });
}

/**
 * @param {Channel} channel
 * @param {NodeJS.ErrnoException & { address?: string, port?: number }} error
 */
function tellBind(channel, { code, syscall, address, port }) {
  if (code !== 'EADDRINUSE' || syscall !== 'bind' || typeof address !== 'string' || !Number.isInteger(port)) return;
  const family = address.includes(':') ? 6 : 4;
  channel.say({ act: 'listenFailed', code, isUdp: true, claim: { address, port, family, flags: 0, index: 0 } });
}

/**
 * Lets SIGUSR1 open the inspector on a free port, because only one process can use the default port
 * 9229.
 */
function anyPort() {
  if (!/--(inspect|debug-port)/.test(`${process.execArgv.join(' ')} ${process.env.NODE_OPTIONS}`))
    process.debugPort = 0;
}

function hasWorkers() {
  const { workers } = /** @type {import('node:cluster').Cluster} */ (/** @type {unknown} */ (require('node:cluster')));
  return Object.keys(workers ?? {}).length > 0;
}

/** The handlers of a launcher do not count, because the app is another process. */
function caughtSignals() {
  if (isAppBehind()) return [];
  return ['SIGTERM', 'SIGINT'].filter((signal) => process.listenerCount(signal) > 0);
}

/**
 * Removes the options of nclust from execArgv, because child_process.fork() passes execArgv on to
 * children.
 */
function hidePreload() {
  const { execArgv } = process;
  const secret = execArgv.indexOf('--inspect-publish-uid=stderr');
  if (secret !== -1) {
    execArgv.splice(secret, 1);
    // node:cluster adds this one at the end if it finds an option for the inspector.
    if (/^--inspect-port=/.test(execArgv[execArgv.length - 1])) execArgv.pop();
  }
  const at = execArgv.findIndex((arg, index) => arg === '--require' && execArgv[index + 1] === __filename);
  if (at === -1) return;
  const isAllowed = execArgv[at - 1] === `--allow-fs-read=${__dirname}/*`;
  execArgv.splice(isAllowed ? at - 1 : at, isAllowed ? 3 : 2);
}

/** @returns {Settings & { metrics?: boolean, logFiles?: LogFiles, isOwnWorker?: boolean } | null} */
function takeSettings() {
  const text = process.env.NCLUST_AGENT;
  delete process.env.NCLUST_AGENT;
  return text === undefined ? null : JSON.parse(text);
}
