// What comes over the IPC channel of an app, before anybody looks at it. Node trusts the process at
// the other end: it throws at the keeper what is no JSON, or does not fit its own protocol; a line
// without an end stays in memory; a server or a socket that an app sends is opened here.
import { AGENT_CMD } from './protocol.js';

/** @import { ChildProcess } from 'node:child_process' */
/** @import { Child } from './child.js' */
/** @import { Log } from './log.js' */

/** Of a line that has not ended. */
const LINE_MAX_CHARS = 1024 * 1024;
/** In any second. Who says more is read again in the next one; until then it waits. */
const BYTES_PER_S = 32 * 1024 * 1024;
const MESSAGES_PER_S = 20_000;
const WINDOW_MS = 1_000;
/** Node sends one handle at a time, and waits until it has arrived. */
const HANDLES_MAX = 4;
/** Sockets that node:cluster binds here for a worker: those of UDP. */
const CLUSTER_SOCKETS_MAX = 256;

const DROPPED_EVERY_MS = 60_000;

/**
 * @param {ChildProcess} started  Its events 'message' and 'internalMessage' are guarded from now on.
 * @param {(what: string) => void} onDropped  Something that it said was not taken.
 */
export function guardChannel(started, onDropped) {
  const channel = internalOf(started, 'kChannelHandle');
  if (!channel) return; // A program without a channel.
  const { emit } = started;
  let handlesComing = 0;
  let clusterSockets = 0;
  const window = { endMono: 0, bytes: 0, messages: 0 };

  /**
   * @param {string} event
   * @param {unknown} message
   * @param {unknown} [handle]
   * @returns {boolean}
   */
  function deliver(event, message, handle) {
    try {
      return Reflect.apply(emit, started, [event, message, handle]);
    } catch (error) {
      onDropped(`${event}: ${/** @type {Error} */ (error).message}`);
      return true;
    }
  }

  /**
   * @param {any} message
   * @param {any} handle
   * @returns {unknown}
   */
  function takeInternal(message, handle) {
    const { cmd, act, type, msg } = message;
    if (cmd === 'NODE_CLUSTER' && act === 'queryServer' && (clusterSockets += 1) > CLUSTER_SOCKETS_MAX)
      return onDropped('more sockets than an app may have');
    if (cmd !== 'NODE_HANDLE' || !handle) return deliver('internalMessage', message, handle);
    handlesComing -= 1;
    if (type === 'net.Native' && msg?.cmd === AGENT_CMD) return deliver('internalMessage', message, handle);
    // Nobody here takes it. Of a server Node would make one that accepts, of a socket one that is
    // read. The process waits for a word that it has arrived.
    handle.close();
    started.send({ cmd: 'NODE_HANDLE_ACK' }, () => {});
    const isInternal = typeof msg?.cmd === 'string' && msg.cmd.startsWith('NODE_');
    return isInternal ? takeInternal(msg, undefined) : deliver('message', msg);
  }

  started.emit = (/** @type {any} */ event, /** @type {any[]} */ ...args) => {
    if (event !== 'message' && event !== 'internalMessage') return Reflect.apply(emit, started, [event, ...args]);
    window.messages += 1;
    if (event === 'message') return deliver(event, args[0], args[1]);
    takeInternal(args[0], args[1]);
    return true;
  };

  /** @param {string} why */
  function close(why) {
    onDropped(why);
    // Else Node waits for the end of a message that it is in the middle of.
    channel.buffering = false;
    if (started.connected) started.disconnect();
  }

  function pace(/** @type {number} */ bytes) {
    const nowMono = performance.now();
    if (nowMono >= window.endMono) Object.assign(window, { endMono: nowMono + WINDOW_MS, bytes: 0, messages: 0 });
    window.bytes += bytes;
    if (window.bytes <= BYTES_PER_S && window.messages <= MESSAGES_PER_S) return;
    onDropped('more than is read in a second');
    channel.readStop();
    setTimeout(() => started.connected && channel.readStart(), window.endMono - nowMono).unref();
  }

  const { onread } = channel;
  const buffered = symbolOf(channel, 'kJSONBuffer');
  channel.onread = (/** @type {ArrayBuffer | undefined} */ bytes) => {
    if (channel.pendingHandle && handlesComing >= HANDLES_MAX) {
      channel.pendingHandle.close();
      channel.pendingHandle = null;
      onDropped('a socket without a message');
    } else if (channel.pendingHandle) handlesComing += 1;
    try {
      Reflect.apply(onread, channel, [bytes]);
    } catch (error) {
      return close(`no JSON: ${/** @type {Error} */ (error).message}`);
    }
    if (buffered && channel[buffered].length > LINE_MAX_CHARS) return close('a line that is too long');
    if (bytes) pace(bytes.byteLength);
  };
}

/**
 * Node has no other name for it.
 * @param {object} owner
 * @param {string} name
 */
function symbolOf(owner, name) {
  return Object.getOwnPropertySymbols(owner).find(({ description }) => description === name);
}

/**
 * @param {object} owner
 * @param {string} name
 * @returns {any}
 */
function internalOf(owner, name) {
  const symbol = symbolOf(owner, name);
  return symbol ? /** @type {any} */ (owner)[symbol] : undefined;
}

/**
 * Tells of what was not taken: the first of an instance at once, and what comes after it once a
 * minute.
 * @param {Log} log
 * @returns {(child: Pick<Child, 'instanceId' | 'app'>, what: string) => void}
 */
export function createDropLog(log) {
  /** @type {WeakMap<object, { count: number, what: string }>} */
  const open = new WeakMap();
  return (child, what) => {
    const known = open.get(child);
    if (known) return void Object.assign(known, { count: known.count + 1, what });
    const { instanceId, app } = child;
    const more = { count: 0, what };
    open.set(child, more);
    log('message-dropped', { app, instanceId, what, count: 1 });
    setTimeout(() => {
      open.delete(child);
      if (more.count > 0) log('message-dropped', { app, instanceId, ...more });
    }, DROPPED_EVERY_MS).unref();
  };
}
