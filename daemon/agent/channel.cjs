// The channel to the keeper. It is IPC to the keeper that started this process. After the death of
// that keeper, it is a socket of a later keeper.
'use strict';

const net = require('node:net');
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

/**
 * @param {object} o
 * @param {LogFiles} [o.logFiles]
 * @param {number} [o.lane]
 * @param {boolean} [o.isCluster]
 */
function createChannel({ logFiles, lane, isCluster = false }) {
  if (lane !== undefined) useLane(lane, isCluster);
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

/**
 * The keeper of another user reads nothing from the IPC channel, because a process could send
 * descriptors over it, and this process cannot write to it (daemon/keeper/channel-ends.js). So
 * process.send() and node:cluster write to a pipe, the lane. It carries no handles. Node.js works
 * unchanged, because the state of the last write that it looks at belongs to no handle.
 * @param {number} fd
 * @param {boolean} isCluster
 */
function useLane(fd, isCluster) {
  const symbol = Object.getOwnPropertySymbols(process).find(({ description }) => description === 'kChannelHandle');
  const ipc = /** @type {any} */ (process)[/** @type {any} */ (symbol)];
  const options = { fd, readable: false, manualStart: true };
  const { _handle: lane } = /** @type {any} */ (new net.Socket(options));
  lane.unref();
  const close = ipc.close.bind(ipc);
  Object.defineProperty(ipc, 'writeQueueSize', { get: () => lane.writeQueueSize });
  ipc.writeUtf8String = (/** @type {object} */ request, /** @type {string} */ text) =>
    lane.writeUtf8String(request, text);
  ipc.close = (/** @type {() => void} */ onClosed) => {
    lane.close();
    close(onClosed);
  };
  ignoreEarlyErrors(isCluster);
}

/**
 * Before the agent, node:cluster and other preloads may have sent a message to the IPC channel.
 * Node.js emits the error in a tick that already waits.
 * @param {boolean} isCluster
 */
function ignoreEarlyErrors(isCluster) {
  const emitter = isCluster ? clusterWorker() : process;
  const ignore = () => {};
  emitter?.on('error', ignore);
  process.nextTick(() => emitter?.removeListener('error', ignore));
}

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
  const worker = clusterWorker();
  if (worker) worker.exitedAfterDisconnect = true;
}

function clusterWorker() {
  return /** @type {Cluster} */ (/** @type {unknown} */ (require('node:cluster'))).worker;
}

module.exports = { createChannel };
