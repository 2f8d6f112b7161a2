// Knows: how to find control, start it, send requests, and send them again if control dies.
// Must not: know what a method does, or print.
// Start at: openClient(), then connect.js; log-stream.js and event-tail.js follow.
import { createLineReader } from '../shared/daemon/lines.js';
import { fromWire, NclustError, toWire } from '../shared/errors.js';
import { PROTOCOL, TO_CLIENT_MAX_BYTES } from '../shared/wire/protocol.js';
import { parseLine, requestLine } from '../shared/wire/rpc.js';
import { createInbox } from './notification-queue.js';
import { connectionLostError, PendingRequests } from './pending-requests.js';

/** @import { Socket } from 'node:net' */
/** @import { Hello, Method } from '../shared/wire/protocol.js' */
/** @import { RpcMessage, WireError } from '../shared/wire/rpc.js' */

/**
 * @typedef {(signal?: AbortSignal) => Promise<Socket | null>} Reach  Makes a connection. Null: no
 *   manager runs. If the signal is aborted, the promise rejects.
 */

/**
 * @param {Reach} reach
 * @param {Reach} [reachAgain]  Used when a connection is broken. Default: `reach`.
 * @param {object} [o]
 * @param {boolean} [o.isAnyVersion]  Accepts a server with another protocol.
 * @param {boolean} [o.isHeld]  The connection alone keeps this process alive.
 * @param {AbortSignal} [o.signal]  Aborts openClient(), which rejects with the reason.
 * @returns {Promise<Client | null>}  Null if no manager runs. The caller closes the client.
 */
export async function openClient(reach, reachAgain = reach, { isAnyVersion = false, isHeld = true, signal } = {}) {
  const socket = await reach(signal);
  if (!socket) return null;
  const client = new Client(socket, reachAgain);
  client.hold(isHeld);
  try {
    client.hello = /** @type {Hello} */ (await client.request('hello', {}, { signal }));
    if (!isAnyVersion) checkProtocol(client.hello);
    return client;
  } catch (error) {
    await client.close();
    throw error;
  }
}

/**
 * Reconnects after a broken connection, and repeats unanswered requests. A repeated mutation has
 * the same token, so control performs it only once.
 */
export class Client {
  /** @type {Hello | null} */
  hello = null;

  /** @type {'open' | 'broken' | 'closed'} */
  #state = 'open';

  #nextId = 1;
  #isHeld = true;
  #reachAgain;
  #socket;

  #requests = new PendingRequests({ onChange: () => this.#updateRef(), onAbandoned: () => this.#reaching?.abort() });

  #inbox = createInbox();

  /**
   * Requests whose answers go to the reader of the notifications, in order.
   * @type {Set<string | number>}
   */
  #conversations = new Set();

  /** @type {((message: RpcMessage) => void) | null} */
  #listener = null;

  /**
   * @param {Socket} socket
   * @param {Reach} reachAgain
   */
  constructor(socket, reachAgain) {
    this.#socket = socket;
    this.#reachAgain = reachAgain;
    this.#listen(socket);
  }

  /**
   * @param {Method} method
   * @param {object} [params]  Mutations carry a `token`.
   * @param {object} [o]
   * @param {AbortSignal} [o.signal]  Ends the wait, not the change.
   * @returns {Promise<any>}  Rejects with an error of the server, of the connection, or of
   *   `reachAgain`; with the reason of `signal`; or with ERR_NCLUST_DAEMON_UNREACHABLE after a time
   *   limit that only a few methods have (pending-requests.js).
   */
  request(method, params = {}, { signal } = {}) {
    if (this.#state === 'closed') return Promise.reject(connectionLostError());
    if (signal?.aborted) return Promise.reject(signal.reason);
    const id = this.#nextId++;
    const answer = this.#requests.add(id, method, { line: requestLine(id, method, params), signal });
    if (this.#state === 'open') this.#requests.send(id, this.#socket);
    else void this.#reconnect(); // #reconnect() sends or rejects every pending request.
    return answer;
  }

  /**
   * Sets whether the connection alone keeps this process alive. An open request always does.
   * @param {boolean} isHeld
   */
  hold(isHeld) {
    this.#isHeld = isHeld;
    this.#updateRef();
  }

  /**
   * Yields notifications in order, until the connection breaks or closes. One reader may
   * read at a time.
   * @returns {AsyncGenerator<RpcMessage, void, void>}
   */
  async *notifications() {
    for (;;) {
      for (let next = this.#inbox.take(); next; next = this.#inbox.take()) yield next;
      if (this.#state !== 'open') return;
      this.#socket.resume();
      await this.#inbox.nudge();
    }
  }

  /**
   * Sends a request. Yields notifications and the answer, in order, until the connection breaks or
   * closes. Throws if the server answers with an error. Does not repeat the request after a broken
   * connection, because only the caller knows what arrived. Allows one reader at a time.
   * @param {Method} method
   * @param {object} [params]
   * @returns {AsyncGenerator<RpcMessage, void, void>}
   */
  async *converse(method, params = {}) {
    if (this.#state !== 'open') return;
    const id = this.#nextId++;
    this.#conversations.add(id);
    this.#socket.write(requestLine(id, method, params));
    try {
      for await (const message of this.notifications()) {
        if (message.error) throw fromWire(message.error);
        yield message;
      }
    } finally {
      this.#conversations.delete(id);
    }
  }

  /**
   * Passes notifications to a listener, instead of keeping them for notifications(). Allows one
   * listener at a time.
   * @param {(message: RpcMessage) => void} listener
   * @returns {() => void}
   */
  onNotification(listener) {
    this.#listener = listener;
    return () => {
      this.#listener = null;
    };
  }

  /** @returns {Promise<void>} */
  async close() {
    if (this.#state === 'closed') return;
    this.#state = 'closed';
    this.#socket.destroy();
    this.#requests.failAll(connectionLostError());
    this.#reaching?.abort();
    this.#inbox.wake();
  }

  #updateRef() {
    if (this.#isHeld || this.#requests.size > 0) this.#socket.ref();
    else this.#socket.unref();
  }

  /** @param {Socket} socket */
  #listen(socket) {
    const read = createLineReader({
      maxBytes: TO_CLIENT_MAX_BYTES,
      onLine: (line) => this.#onLine(line),
      onTooLong: () => {
        this.#onFault(
          toWire(
            new NclustError(
              'ERR_NCLUST_PROTOCOL',
              `The manager sent a message of more than ${TO_CLIENT_MAX_BYTES} bytes.`,
            ),
          ),
        );
        socket.destroy();
      },
    });
    socket.on('data', read);
    socket.on('error', () => {}); // 'close' follows.
    socket.on('close', () => this.#onBroken(socket));
  }

  /** @param {string} line */
  #onLine(line) {
    const parsed = parseLine(line);
    if ('fault' in parsed) return this.#onFault(parsed.fault);
    const { message } = parsed;
    if (message.method !== undefined || this.#conversations.has(message.id ?? ''))
      return this.#notify(message, line.length);
    // An error without an id is about the connection: the server did not understand a message.
    if (message.id === undefined || message.id === null)
      return message.error ? this.#onFault(message.error) : undefined;
    this.#requests.resolve(message.id, message);
  }

  /**
   * Handles an error that is about the connection and not about one request.
   * @param {WireError} error
   */
  #onFault(error) {
    this.#requests.failAll(fromWire(error));
    if (this.#conversations.size > 0) this.#notify({ jsonrpc: '2.0', error }, 0);
  }

  /**
   * @param {RpcMessage} message
   * @param {number} chars
   */
  #notify(message, chars) {
    if (this.#listener) return this.#listener(message);
    this.#inbox.push(message, chars);
    if (this.#inbox.isFull()) this.#socket.pause();
  }

  /** @param {Socket} socket */
  #onBroken(socket) {
    if (socket !== this.#socket || this.#state !== 'open') return;
    this.#state = 'broken';
    this.#inbox.wake();
    if (this.#requests.size > 0) void this.#reconnect();
  }

  /** @type {AbortController | null} */
  #reaching = null;

  /** Never rejects: a failure rejects the pending requests. */
  async #reconnect() {
    if (this.#reaching) return;
    const { signal } = (this.#reaching = new AbortController());
    try {
      const socket = await this.#reachAgain(signal);
      if (!socket) return this.#requests.failAll(connectionLostError());
      if (this.#state === 'closed') return socket.destroy();
      this.#socket = socket;
      this.#state = 'open';
      this.#listen(socket);
      this.#updateRef();
      this.#requests.sendAll(socket);
    } catch (error) {
      if (!signal.aborted) this.#requests.failAll(error);
    } finally {
      this.#reaching = null;
      // Tries again if requests wait: the attempt may have stopped because no request waited, and a
      // new request may have come since.
      if (this.#state === 'broken' && this.#requests.size > 0) void this.#reconnect();
    }
  }
}

/** @param {Hello} hello */
function checkProtocol({ protocol, version }) {
  if (protocol === PROTOCOL) return;
  throw new NclustError(
    'ERR_NCLUST_PROTOCOL_VERSION',
    `The running manager (nclust ${version}) speaks protocol ${protocol}, but this command speaks ${PROTOCOL}.`,
    { hint: 'Use the nclust that started it, or stop it with the "nclust kill" of that version.' },
  );
}

/**
 * Identifies a mutation, so that control carries it out once even if the client repeats it.
 * @returns {string}
 */
export function newToken() {
  return globalThis.crypto.randomUUID();
}
