// The way to the keeper: the IPC channel, and when that keeper has died, the door of the next one.
'use strict';

const { tryTo } = require('./isolation.cjs');
const { later } = require('./loader.cjs');

/** @import { Cluster } from 'node:cluster' */
/** @import { LogFiles } from './log-fallback.cjs' */

// The prefix makes Node emit 'internalMessage' in place of 'message', so the app's own listeners
// never see ours, and listening to it does not keep the process alive
// (lib/internal/child_process.js).
const CMD = 'NODE_NCLUST';

/**
 * @typedef {{ act: string, [key: string]: any }} Message
 * @typedef {object} Channel
 * @property
 *   {(message: Message, handle?: object, onSent?: (error: Error | null) => void) => boolean} say
 *   false when the keeper cannot be reached.
 * @property {(act: string, listener: (message: Message, handle?: any) => void) => void} on
 * @property {() => () => void} hold  Keeps the process alive until the returned function is called:
 *   an answer is on its way.
 * @property {() => void} letGo  The channel keeps the process alive no longer, whatever listens to
 *   it.
 * @property {(listener: () => void) => void} onLost  The keeper that started us is gone.
 * @property {() => boolean} isOpen  Whether handles can be passed: not to a keeper that came later.
 */

/** @param {LogFiles} [logFiles] */
function createChannel(logFiles) {
  /** @type {Map<string, (message: Message, handle?: any) => void>} */
  const listeners = new Map();
  /** @type {{ say: (message: Message) => boolean } | null} */
  let door = null;
  /** @type {() => void} */
  let lost = () => {};
  // What the app does to its environment later is its own business.
  const { NCLUST_HOME: home = '', NCLUST_INSTANCE: instanceId = '' } = process.env;
  /**
   * @param {Message} message
   * @param {any} [handle]
   */
  const receive = (message, handle) => {
    try {
      listeners.get(message.act)?.(message, handle);
    } catch (error) {
      tryTo(() => void channel.say({ act: 'fault', part: message.act, message: String(error).slice(0, 300) }));
    }
  };

  process.on('internalMessage', (message, handle) => {
    if (message?.cmd === CMD) receive(message, handle);
  });
  const lose = whenDisconnected(() => {
    tryTo(() => {
      door = later('./reconnect.cjs').findKeeper({ home, instanceId, logFiles, receive });
    });
    tryTo(lost);
  });

  /** @type {Channel} */
  const channel = {
    // The callback takes the error of a channel that closes at this moment; without it Node would
    // emit it on process.
    say(message, handle, onSent = () => {}) {
      if (door) return door.say(message);
      if (!process.connected) return false;
      if (handle) tryTo(() => watchChannel(lose));
      send?.({ cmd: CMD, ...message }, /** @type {any} */ (handle), { keepOpen: true }, onSent);
      return true;
    },
    on: (act, listener) => void listeners.set(act, listener),
    hold() {
      const control = refCounter();
      control?.refCounted?.();
      return () => {
        if (process.connected) control?.unrefCounted?.();
      };
    },
    letGo: () => tryTo(() => process.channel?.unref()),
    onLost(listener) {
      lost = listener;
    },
    isOpen: () => process.connected,
  };
  return channel;
}

const send = process.send?.bind(process);

const LOOK_EVERY_MS = 100;
/** @type {NodeJS.Timeout | null} */
let watch = null;

/**
 * A channel that closes while a handle waits to be acknowledged never says 'disconnect' (Node 20 to
 * 26).
 * @param {() => void} lose
 */
function watchChannel(lose) {
  // Those of the app may be a DOM's by now, which are numbers. Asked for here, because most workers
  // never pass a handle.
  const { clearInterval, setInterval } = require('node:timers');
  watch ??= setInterval(() => {
    const isWaiting = Boolean(/** @type {any} */ (process)._handleQueue);
    if (process.connected && isWaiting) return;
    clearInterval(watch ?? undefined);
    watch = null;
    if (!process.connected) lose();
  }, LOOK_EVERY_MS).unref();
}

/**
 * A keeper that dies must not take the app along: a cluster worker exits by itself when its primary
 * is gone, unless `exitedAfterDisconnect` is set by then (lib/internal/cluster/child.js), and an
 * unguarded process.send() throws.
 * @param {() => void} then  Once.
 * @returns {() => void}  For who notices it otherwise.
 */
function whenDisconnected(then) {
  let isLost = false;
  const lose = () => {
    if (isLost) return;
    isLost = true;
    tryTo(() => {
      const cluster = /** @type {Cluster} */ (/** @type {unknown} */ (require('node:cluster')));
      if (cluster.worker) cluster.worker.exitedAfterDisconnect = true;
    });
    // The app may have taken care that nobody replaces it.
    tryTo(() => {
      process.send = sendNowhere;
    });
    then();
  };
  process.prependOnceListener('disconnect', lose);
  // A 'disconnect' listener counts as a reason to keep the process alive; the app did not ask for
  // that.
  refCounter()?.unrefCounted?.();
  return lose;
}

/**
 * The counter with which Node itself decides whether the channel keeps the process alive; ref() and
 * unref() would overrule the app.
 */
function refCounter() {
  return /** @type {{ refCounted?: () => void, unrefCounted?: () => void } | undefined} */ (
    /** @type {unknown} */ (process.channel)
  );
}

/** @param {unknown[]} args */
function sendNowhere(...args) {
  const callback = args.find((arg) => typeof arg === 'function');
  if (callback) process.nextTick(callback, null);
  return false;
}

module.exports = { createChannel };
