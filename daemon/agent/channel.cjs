// The channel to the keeper. It is IPC to the keeper that started this process. After the death of
// that keeper, it is a socket of a later keeper.
'use strict';

const { tryTo } = require('./isolation.cjs');
const { refCounter, whenDisconnected } = require('./tree/disconnect.cjs');
const { requireOnDemand } = require('./loader.cjs');

/** @import { Cluster } from 'node:cluster' */
/** @import { LogFiles } from './log-fallback.cjs' */

// Because of the prefix "NODE_", Node.js emits these messages as 'internalMessage'. The app does
// not see them, and the listener does not keep the process alive (lib/internal/child_process.js).
const CMD = 'NODE_NCLUST';

/**
 * @typedef {{ act: string, [key: string]: any }} Message
 * @typedef {object} Channel
 * @property
 *   {(message: Message, handle?: object, onSent?: (error: Error | null) => void) => boolean} say
 *   false when the keeper cannot be reached.
 * @property {(act: string, listener: (message: Message, handle?: any) => void) => void} on
 * @property {() => () => void} hold  Keeps the process alive until the returned function is called.
 * @property {() => void} letGo  The channel no longer keeps the process alive.
 * @property {(listener: () => void) => void} onLost  `listener` is called when the keeper that
 *   started this process is gone.
 * @property {() => boolean} isOpen  Whether handles can be sent. Only IPC carries handles.
 */

/** @param {LogFiles} [logFiles] */
function createChannel(logFiles) {
  /** @type {Map<string, (message: Message, handle?: any) => void>} */
  const listeners = new Map();
  /** @type {{ say: (message: Message) => boolean } | null} */
  let keeper = null;
  /** @type {() => void} */
  let lost = () => {};
  // Read now, because the app may change its environment.
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
    tryTo(stayAlive);
    tryTo(() => {
      keeper = requireOnDemand('./reconnect.cjs').findKeeper({ home, instanceId, logFiles, receive });
    });
    tryTo(lost);
  });

  /** @type {Channel} */
  const channel = {
    // The callback takes the error of a closing channel. Without a callback, Node.js would emit
    // 'error' on process.
    say(message, handle, onSent = () => {}) {
      if (keeper) return keeper.say(message);
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
 * Polls the channel, because Node.js 20-26 emits no 'disconnect' if the channel closes while a sent
 * handle waits for its acknowledgement.
 * @param {() => void} lose
 */
function watchChannel(lose) {
  // Required here, because most workers never send a handle.
  const { clearInterval, setInterval } = require('node:timers');
  watch ??= setInterval(() => {
    const isWaiting = Boolean(/** @type {any} */ (process)._handleQueue);
    if (process.connected && isWaiting) return;
    clearInterval(watch ?? undefined);
    watch = null;
    if (!process.connected) lose();
  }, LOOK_EVERY_MS).unref();
}

/** Otherwise Node.js would end a cluster worker (lib/internal/cluster/child.js). */
function stayAlive() {
  const cluster = /** @type {Cluster} */ (/** @type {unknown} */ (require('node:cluster')));
  if (cluster.worker) cluster.worker.exitedAfterDisconnect = true;
}

module.exports = { createChannel };
