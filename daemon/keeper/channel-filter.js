// Protects the keeper from the IPC channel of an app. Node.js trusts the process at the other end:
// it throws if a line is not JSON or breaks the protocol of its own messages, it keeps a line
// without an end in memory, and it opens each server or socket that an app sends.
import { constants } from 'node:os';
import { AGENT_CMD } from './protocol.js';

/** @import { ChildProcess } from 'node:child_process' */
/** @import { Budget } from './budget.js' */
/** @import { Child } from './child.js' */
/** @import { Handle } from './sockets/listeners.js' */
/** @import { Log } from './host/log.js' */

/** The keeper drops a longer line. */
const LINE_MAX_CHARS = 1024 * 1024;
/** If an app sends more, the keeper reads the rest in the next second. */
const BYTES_PER_S = 32 * 1024 * 1024;
const MESSAGES_PER_S = 20_000;
const WINDOW_MS = 1_000;
/** Limit for data that an app does not read. A client may send one message of 8 MiB. */
const WAITING_MAX_BYTES = 16 * 1024 * 1024;
/** Limit for messages that wait because the app has not acknowledged a handle. */
const WAITING_MAX_MESSAGES = 16_384;
/** Limit for UDP sockets that node:cluster binds in the keeper for one worker. */
const CLUSTER_SOCKETS_MAX = 256;
const ADDRESS_MAX_CHARS = 4_096;
/** How Node.js begins the message that describes a handle. */
const HANDLE_BEGINS = '{"cmd":"NODE_HANDLE",';

const [NEWLINE, SPACE] = Buffer.from('\n ');

const LOG_EVERY_MS = 60_000;
const LOG_MAX_CHARS = 1_000;

/**
 * @param {ChildProcess} started  Its events 'message' and 'internalMessage' become safe.
 * @param {string} scope
 * @param {object} o
 * @param {Budget} o.budget
 * @param {boolean} o.sendsHandles  false: the handles of the app do not arrive (see
 *   channel-ends.js), only their messages.
 * @param {(what: string) => void} onDropped
 */
export function filterChannel(started, scope, { budget, sendsHandles }, onDropped) {
  const channel = internalOf(started, 'kChannelHandle');
  if (!channel) return;
  const { emit, send } = started;
  const clusterRule = createClusterRule(scope);
  const window = { endMono: 0, bytes: 0, messages: 0 };
  /** @type {Handle | null} */
  let coming = null;
  /** Messages that the keeper has read, at most those of one read. @type {(() => void)[]} */
  const queue = [];
  let isResting = false;

  /**
   * @param {string} event
   * @param {unknown} message
   * @param {unknown} [handle]
   */
  function deliver(event, message, handle) {
    try {
      Reflect.apply(emit, started, [event, message, handle]);
    } catch (error) {
      onDropped(`${event}: ${/** @type {Error} */ (error).message}`);
    }
  }

  /**
   * @param {any} message
   * @param {any} [handle]
   */
  function takeInternal(message, handle) {
    const { cmd, type, msg, seq } = message;
    const fault = cmd === 'NODE_CLUSTER' ? clusterRule.onQuestion(message) : null;
    if (fault !== null) {
      onDropped(`a socket that an app may not have: ${fault}`);
      return void started.send({ cmd: 'NODE_CLUSTER', ack: seq, errno: -constants.errno[fault] }, () => {});
    }
    if (cmd !== 'NODE_HANDLE' || (!handle && sendsHandles)) return deliver('internalMessage', message, handle);
    if (handle === coming) coming = null;
    if (handle && type === 'net.Native' && msg?.cmd === AGENT_CMD) return deliver('internalMessage', message, handle);
    // Closes the handle, because Node.js would open it. Acknowledges the handle, because the app
    // sends nothing more before that.
    handle?.close();
    onDropped('a socket or a server');
    started.send({ cmd: 'NODE_HANDLE_ACK' }, () => {});
    if (msg?.cmd === 'NODE_HANDLE') return; // Node.js never packs a message twice.
    if (typeof msg?.cmd === 'string' && msg.cmd.startsWith('NODE_')) takeInternal(msg);
    else deliver('message', msg);
  }

  started.emit = (/** @type {any} */ event, /** @type {any[]} */ ...args) => {
    if (event !== 'message' && event !== 'internalMessage') return Reflect.apply(emit, started, [event, ...args]);
    window.messages += 1;
    queue.push(() => (event === 'message' ? deliver(event, args[0], args[1]) : takeInternal(args[0], args[1])));
    if (!isResting) work();
    return true;
  };

  started.send = (/** @type {any} */ message, /** @type {any[]} */ ...args) => {
    if (message?.cmd === 'NODE_CLUSTER') clusterRule.onAnswer(message);
    return Reflect.apply(send, started, [message, ...args]);
  };

  /** @param {string} why */
  function close(why) {
    onDropped(why);
    coming?.close();
    coming = null;
    // Clears the flag, because with it disconnect() would wait for the end of a message.
    channel.buffering = false;
    if (started.connected) started.disconnect();
  }

  /** @param {number} bytes */
  function pace(bytes) {
    const nowMono = performance.now();
    if (nowMono >= window.endMono) Object.assign(window, { endMono: nowMono + WINDOW_MS, bytes: 0, messages: 0 });
    window.bytes += bytes;
    const isTooMuch = window.bytes > BYTES_PER_S || window.messages > MESSAGES_PER_S;
    rest(Math.max(isTooMuch ? window.endMono - nowMono : 0, budget.waitMs));
  }

  function work() {
    while (queue.length > 0 && budget.waitMs === 0) budget.run(/** @type {() => void} */ (queue.shift()));
    rest(budget.waitMs);
  }

  /**
   * Nothing is lost: unread bytes wait in the kernel, and then the app waits.
   * @param {number} ms
   */
  function rest(ms) {
    if (ms === 0 || isResting) return;
    isResting = true;
    if (started.connected) channel.readStop();
    setTimeout(() => {
      isResting = false;
      work();
      if (!isResting && started.connected) channel.readStart();
    }, ms).unref();
  }

  let isSkipping = false;
  const buffered = findSymbol(channel, 'kJSONBuffer');

  function isTooLong() {
    return buffered !== undefined && channel[buffered].length > LINE_MAX_CHARS;
  }

  function forgetLine() {
    channel[buffered ?? ''] = '';
    channel.buffering = false;
    // Empties the decoder, because it may hold the first bytes of a character of the dropped line.
    internalOf(channel, 'kStringDecoder')?.end();
  }

  /**
   * Replaces skipped bytes by spaces, because Node.js needs the number of bytes that it has read.
   * @param {Uint8Array} bytes
   * @returns {boolean}  Whether all bytes were skipped.
   */
  function blankSkipped(bytes) {
    const at = bytes.indexOf(NEWLINE);
    isSkipping = at === -1;
    const count = isSkipping ? bytes.length : at + 1;
    bytes.fill(SPACE, 0, count);
    return count === bytes.length;
  }

  const { onread } = channel;
  channel.onread = (/** @type {ArrayBuffer | undefined} */ bytes) => {
    budget.run(() => read(bytes));
    if (bytes && started.connected) pace(bytes.byteLength);
  };

  /** @param {ArrayBuffer | undefined} bytes */
  function read(bytes) {
    const isBlank = isSkipping && bytes && blankSkipped(new Uint8Array(bytes));
    const { pendingHandle } = channel;
    // Node.js in the app sends a handle only after the keeper has acknowledged the previous one. So
    // two handles at once break the protocol.
    const isTooMany = Boolean(coming && pendingHandle);
    if (pendingHandle || !bytes) coming?.close();
    coming = pendingHandle ?? (bytes ? coming : null);
    try {
      Reflect.apply(onread, channel, [bytes]);
    } catch (error) {
      return close(`not JSON: ${/** @type {Error} */ (error).message}`);
    }
    if (!bytes) return;
    if (isTooMany) return close('a socket without a message');
    if (!isSkipping && isTooLong()) {
      const isOfHandle = coming ?? (!sendsHandles && channel[buffered ?? ''].startsWith(HANDLE_BEGINS));
      if (isOfHandle) {
        // Closes and acknowledges the handle, because otherwise the app would send nothing more.
        coming?.close();
        coming = null;
        started.send({ cmd: 'NODE_HANDLE_ACK' }, () => {});
      }
      onDropped('a line of more than 1 MiB');
      isSkipping = true;
    }
    if (isSkipping || isBlank) forgetLine();
    const waiting = /** @type {any} */ (started)._handleQueue?.length ?? 0;
    if (channel.writeQueueSize > WAITING_MAX_BYTES || waiting > WAITING_MAX_MESSAGES)
      return close('requests of an app that does not read the answers');
  }
}

const ADDRESS_TYPES = new Set([4, 6, -1, 'udp4', 'udp6']);

/**
 * Checks requests to the primary of node:cluster. For TCP and paths the agent sends acts instead.
 * @param {string} scope
 */
function createClusterRule(scope) {
  /** @type {string[]} */
  const open = [];
  return {
    /**
     * @param {any} message
     * @returns {'EACCES' | 'EBADF' | 'EINVAL' | 'EMFILE' | null}
     */
    onQuestion(message) {
      const { act, key, address, port, addressType, fd, index } = message;
      if (act === 'close' && open.includes(key)) open.splice(open.indexOf(key), 1);
      if (act !== 'queryServer') return null;
      // Refuses a descriptor number, because `fd` would be a descriptor of the keeper, for example
      // the lock of the keeper.
      if (typeof fd === 'number' && fd >= 0) return 'EBADF';
      const isPlain = typeof (address ?? '') === 'string' && typeof (port ?? 0) !== 'object' && Number.isInteger(index);
      if (!isPlain || !ADDRESS_TYPES.has(addressType) || address?.length > ADDRESS_MAX_CHARS) return 'EINVAL';
      // Refuses a path, because the keeper would bind the path with its own rights. Refuses TCP,
      // because node:cluster would close the socket itself (close-shared.js).
      if (typeof addressType === 'number') return 'EACCES';
      if (open.length >= CLUSTER_SOCKETS_MAX) return 'EMFILE';
      // Sets the scope as fd, because node:cluster shares a socket between all workers with the
      // same address and fd. So two apps never share a socket.
      message.fd = scope;
      return null;
    },
    /** @param {any} message */
    onAnswer({ ack, errno, key }) {
      if (ack !== undefined && errno === 0 && typeof key === 'string') open.push(key);
    },
  };
}

/**
 * @param {object} owner
 * @param {string} name
 */
function findSymbol(owner, name) {
  return Object.getOwnPropertySymbols(owner).find(({ description }) => description === name);
}

/**
 * @param {object} owner
 * @param {string} name
 */
export function internalOf(owner, name) {
  const symbol = findSymbol(owner, name);
  return symbol ? /** @type {any} */ (owner)[symbol] : undefined;
}

/**
 * Logs the first dropped message of an instance at once, and the number of further dropped messages
 * a minute later.
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
    const write = (/** @type {number} */ count, /** @type {string} */ last) =>
      log('message-dropped', { app, instanceId, what: last.slice(0, LOG_MAX_CHARS), count });
    write(1, what);
    setTimeout(() => {
      open.delete(child);
      if (more.count > 0) write(more.count, more.what);
    }, LOG_EVERY_MS).unref();
  };
}
