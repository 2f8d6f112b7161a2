import { createLineReader } from '../../../lib/shared/daemon/lines.js';
import { toWire } from '../../../lib/shared/errors.js';
import { TO_SERVER_MAX_BYTES } from '../../../lib/shared/wire/protocol.js';
import { errorLine, notificationLine, parseLine, resultLine, RPC_ERROR } from '../../../lib/shared/wire/rpc.js';
import { BadParams } from './params.js';

/** @import { Duplex } from 'node:stream' */
/** @import { LogEntry } from '../../../lib/shared/wire/protocol.js' */
/** @import { RpcMessage, WireError } from '../../../lib/shared/wire/rpc.js' */
/** @import { Client } from '../context.js' */
/** @import { Clock } from '../host/clock.js' */
/** @import { Cursor } from '../logs/history/contents.js' */
/** @import { Page } from '../logs/history/history.js' */

const QUEUE_MAX_BYTES = 4 * 1024 * 1024;

/** While more bytes than this wait for a client, control sends the client no more log history. */
const HISTORY_MAX_BYTES = 512 * 1024;

/** Limit of unanswered requests of one client. */
const OPEN_MAX = 1_000;

/** Time for a rejected client to read the reason. */
const FAREWELL_MS = 1_000;

/**
 * @typedef {(method: string, params: Record<string, unknown>, client: Client) => Promise<unknown>} Answer
 */

/** @typedef {{ method: 'log' | 'event', missed: number, of: Map<string, number> }} LeftOut */

export class UnknownMethod extends Error {
  /** @param {string} method */
  constructor(method) {
    super(`There is no method ${JSON.stringify(method.slice(0, 100))}.`);
    this.name = 'UnknownMethod';
    this.code = RPC_ERROR.methodNotFound;
  }
}

/**
 * A client can harm only itself: its lines and its queue are limited, and no input is trusted.
 * @param {Duplex} socket
 * @param {{ answer: Answer, clock: Clock }} o
 * @returns {{ close: () => Promise<void> }}
 */
export function serveConnection(socket, { answer, clock }) {
  const gone = new AbortController();
  /** @type {Set<Promise<void>>} */
  const open = new Set();
  let isClosing = false;
  /**
   * Lines and events that were not sent, by subscription. Lines are also counted by app.
   * @type {Map<string, LeftOut>}
   */
  const leftOut = new Map();
  /** @type {Set<() => void>} */
  const waiting = new Set();

  /** @type {Client} */
  const client = {
    signal: gone.signal,
    notify,
    notifyLog,
    notifyEvent,
    sendLogPaced,
    sendLogNow,
    subscriptions: new Map(),
  };
  const read = createLineReader({
    maxBytes: TO_SERVER_MAX_BYTES,
    onLine,
    onTooLong: () =>
      sendAway(null, {
        code: RPC_ERROR.invalidRequest,
        message: `A line may have at most ${TO_SERVER_MAX_BYTES} bytes.`,
      }),
  });

  /** @param {string} line */
  function onLine(line) {
    if (isClosing) return;
    const parsed = parseLine(line);
    if ('fault' in parsed)
      return parsed.fault.code === RPC_ERROR.parse
        ? sendAway(parsed.id, parsed.fault)
        : send(errorLine(parsed.id, parsed.fault));
    // Ignores an answer, because control sends no requests.
    if (typeof parsed.message.method !== 'string') return;
    if (open.size >= OPEN_MAX)
      return sendAway(parsed.message.id ?? null, {
        code: RPC_ERROR.invalidRequest,
        message: `This connection already has ${OPEN_MAX} unanswered requests.`,
      });
    const work = respond(parsed.message).finally(() => open.delete(work));
    open.add(work);
  }

  /** @param {RpcMessage} message */
  async function respond({ id = null, method = '', params = {} }) {
    const isNotification = id === null;
    try {
      const result = await answer(method, params, client);
      if (!isNotification) send(resultLine(id, result));
    } catch (error) {
      if (isNotification || gone.signal.aborted) return;
      const isProtocol = error instanceof BadParams || error instanceof UnknownMethod;
      send(errorLine(id, isProtocol ? { code: error.code, message: error.message } : toWire(error)));
    }
  }

  /** @param {string} line */
  function send(line) {
    if (socket.destroyed || socket.writableEnded) return;
    // Checks the queue before it adds the line, so that one large answer is allowed.
    if (socket.writableLength > QUEUE_MAX_BYTES) return void socket.destroy();
    socket.write(line);
  }

  /**
   * @param {string | number | null} id
   * @param {WireError} error
   */
  function sendAway(id, error) {
    if (isClosing) return;
    isClosing = true;
    send(errorLine(id, error));
    leave();
  }

  function leave() {
    socket.end();
    socket.off('data', onData);
    socket.resume();
    const cancel = clock.after(FAREWELL_MS, () => socket.destroy());
    socket.once('close', cancel);
  }

  /**
   * @param {string} method
   * @param {object} params
   */
  function notify(method, params) {
    if (socket.writableLength <= QUEUE_MAX_BYTES / 2) send(notificationLine(method, params));
  }

  /**
   * @param {string} subscription
   * @param {LogEntry[]} entries
   * @param {Cursor} [cursor]
   * @param {LogEntry[]} [missed]
   */
  function notifyLog(subscription, entries, cursor, missed = []) {
    if (missed.length > 0) leaveOut('log', subscription, missed.length, missed);
    notifyLive('log', subscription, { entries, cursor }, entries.length, entries);
  }

  /**
   * @param {string} subscription
   * @param {object} event
   */
  function notifyEvent(subscription, event) {
    notifyLive('event', subscription, { events: [event] }, 1);
  }

  /**
   * @param {'log' | 'event'} method
   * @param {string} subscription
   * @param {object} content
   * @param {number} count
   * @param {LogEntry[]} [entries]
   */
  function notifyLive(method, subscription, content, count, entries = []) {
    if (socket.writableLength > QUEUE_MAX_BYTES / 2) return leaveOut(method, subscription, count, entries);
    const before = leftOut.get(subscription);
    leftOut.delete(subscription);
    send(notificationLine(method, { subscription, ...content, ...(before && dropFields(before)) }));
  }

  /**
   * @param {'log' | 'event'} method
   * @param {string} subscription
   * @param {number} count
   * @param {LogEntry[]} entries
   */
  function leaveOut(method, subscription, count, entries) {
    const before = leftOut.get(subscription) ?? { method, missed: 0, of: new Map() };
    before.missed += count;
    for (const { name } of entries) before.of.set(name, (before.of.get(name) ?? 0) + 1);
    leftOut.set(subscription, before);
  }

  /**
   * @param {string} subscription
   * @param {Page} page
   */
  function sendLogNow(subscription, page) {
    send(notificationLine('log', { subscription, ...page }));
  }

  /**
   * @param {string} subscription
   * @param {Page} page
   */
  async function sendLogPaced(subscription, page) {
    while (socket.writableLength > HISTORY_MAX_BYTES && !gone.signal.aborted && !isClosing)
      await new Promise((resolve) => waiting.add(() => resolve(undefined)));
    if (!isClosing) sendLogNow(subscription, page);
  }

  function wake() {
    for (const resume of waiting) resume();
    waiting.clear();
  }

  function onDrain() {
    socket.resume();
    for (const [subscription, out] of leftOut)
      send(
        notificationLine(out.method, {
          subscription,
          ...(out.method === 'log' ? { entries: [] } : { events: [] }),
          ...dropFields(out),
        }),
      );
    leftOut.clear();
    wake();
  }

  /** @param {Buffer} chunk */
  function onData(chunk) {
    read(chunk);
    // A client that does not read its answers may not send more requests.
    if (socket.writableLength > QUEUE_MAX_BYTES / 2) socket.pause();
  }

  socket.on('data', onData);
  socket.on('drain', onDrain);
  socket.on('error', () => socket.destroy());
  socket.on('close', () => {
    gone.abort();
    for (const end of client.subscriptions.values()) end();
    client.subscriptions.clear();
    wake();
  });

  return {
    async close() {
      isClosing = true;
      for (const end of client.subscriptions.values()) end();
      wake();
      await Promise.all(open);
      if (!socket.destroyed) leave();
      await describeClosed(socket);
    },
  };
}

/** @param {LeftOut} leftOut */
function dropFields({ method, missed, of }) {
  if (missed === 0) return {};
  return method === 'log' ? { missed, missedOf: Object.fromEntries(of) } : { missed };
}

/**
 * @param {Duplex} socket
 * @returns {Promise<void>}
 */
function describeClosed(socket) {
  return new Promise((resolve) => {
    if (socket.closed) resolve();
    else socket.once('close', () => resolve());
  });
}
