import { fromWire, NclustError, toWire } from '../shared/errors.js';
import { PROTOCOL, TO_CLIENT_MAX_BYTES } from '../shared/wire/protocol.js';
import { createLineReader, parseLine, requestLine } from '../shared/wire/rpc.js';
import { createInbox } from './notification-queue.js';

/** @import { Socket } from 'node:net' */
/** @import { WireError } from '../shared/errors.js' */
/** @import { Hello, Method } from '../shared/wire/protocol.js' */
/** @import { RpcMessage } from '../shared/wire/rpc.js' */

/**
 * @typedef {(signal?: AbortSignal) => Promise<Socket | null>} Reach  Makes a connection; null when
 *   there is nobody to connect to. The signal ends the attempt: it rejects then.
 */

/**
 * @typedef {object} Pending
 * @property {string} line  Kept, to be sent again word for word.
 * @property {number} sent  How many times.
 * @property {number} maxSends
 * @property {(result: any) => void} resolve
 * @property {(error: unknown) => void} reject
 */

/** A request that meets so many dying controls in a row is probably what kills them. */
const MAX_SENDS = 5;

/**
 * But an update is meant to outlive controls: the one that is replaced, and three that crash before
 * that is taken back. A dying one may be met twice.
 */
const MAX_SENDS_OF_UPDATE = 10;

/**
 * These are answered from memory. A control that takes longer hangs, and a command must not hang
 * with it.
 */
const ANSWERED_AT_ONCE = new Set(['hello', 'list', 'reset', 'unsubscribe']);
const ANSWER_DEADLINE_MS = 10_000;

/**
 * Opens a client and greets the server.
 * @param {Reach} reach
 * @param {Reach} [reachAgain]  For a connection that broke. Default: the same.
 * @param {object} [o]
 * @param {boolean} [o.isAnyVersion]  Whether a server with another protocol will do.
 * @param {boolean} [o.isHeld]  Whether the connection alone keeps this process alive. Default:
 *   true.
 * @param {AbortSignal} [o.signal]  Ends the opening; it rejects with its reason.
 * @returns {Promise<Client | null>}  Null when nobody was there. The caller closes it. Throws
 *   ERR_NCLUST_PROTOCOL_VERSION and what `reach` throws.
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
 * One conversation with control. It survives control: a broken connection is made again and what is
 * unanswered is asked again, with the same token, so that nothing is done twice.
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

  /** @type {Map<string | number, Pending>} */
  #pending = new Map();

  #inbox = createInbox();

  /**
   * Requests whose answer is handed out in its place among the notifications.
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
   * @param {AbortSignal} [o.signal]  Ends the waiting, and not the change; the promise rejects with
   *   its reason.
   * @returns {Promise<any>}  The result. Rejects with the server's NclustError,
   *   ERR_NCLUST_CONNECTION_LOST, or ERR_NCLUST_DAEMON_UNREACHABLE when a question is not answered
   *   within 10 s; what changes something may take as long as it needs.
   */
  request(method, params = {}, { signal } = {}) {
    if (this.#state === 'closed') return Promise.reject(lost());
    if (signal?.aborted) return Promise.reject(signal.reason);
    const id = this.#nextId++;
    /** @type {Promise<any>} */
    const answer = new Promise((resolve, reject) => {
      this.#pending.set(id, {
        line: requestLine(id, method, params),
        sent: 0,
        maxSends: method === 'update' ? MAX_SENDS_OF_UPDATE : MAX_SENDS,
        resolve,
        reject,
      });
      if (this.#state === 'open') this.#send(id);
      else void this.#reconnect(); // Settles every pending request itself.
    });
    this.#rest();
    const settled = signal ? this.#until(signal, id, answer) : answer;
    return ANSWERED_AT_ONCE.has(method) ? this.#within(ANSWER_DEADLINE_MS, id, settled) : settled;
  }

  /**
   * Says whether the connection alone keeps this process alive. One that does not still does while
   * a request is unanswered.
   * @param {boolean} isHeld
   */
  hold(isHeld) {
    this.#isHeld = isHeld;
    this.#rest();
  }

  /**
   * What the server says unasked, in order, until the connection breaks or closes. One reader at a
   * time.
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
   * Asks what is answered in many pieces: notifications, the answer in its place among them, and
   * more notifications, until the connection breaks or closes. It is not asked again then: the
   * caller knows what it has got already. One reader at a time.
   * @param {Method} method
   * @param {object} [params]
   * @returns {AsyncGenerator<RpcMessage, void, void>}  Ends at once on a connection that is broken.
   *   Throws the server's NclustError.
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
   * Hands what the server says unasked to a listener, in place of keeping it for notifications().
   * One at a time.
   * @param {(message: RpcMessage) => void} listener
   * @returns {() => void}  Ends that.
   */
  onNotification(listener) {
    this.#listener = listener;
    return () => {
      this.#listener = null;
    };
  }

  /**
   * @returns {Promise<void>}  Idempotent. Unanswered requests reject with
   *   ERR_NCLUST_CONNECTION_LOST.
   */
  async close() {
    if (this.#state === 'closed') return;
    this.#state = 'closed';
    this.#socket.destroy();
    this.#failAll(lost());
    this.#reaching?.abort();
    this.#inbox.wake();
  }

  /**
   * @param {number} ms
   * @param {number} id
   * @param {Promise<any>} answer
   */
  async #within(ms, id, answer) {
    const timer = setTimeout(() => {
      const error = new NclustError(
        'ERR_NCLUST_DAEMON_UNREACHABLE',
        `The manager is there and did not answer within ${ms / 1_000}s.`,
        {
          hint:
            'Its log is nclust.log in the home. Ending the process "nclust control" is safe: the keeper ' +
            'starts it again, and no app notices.',
        },
      );
      this.#forget(id, error);
    }, ms);
    try {
      return await answer;
    } finally {
      clearTimeout(timer);
    }
  }

  /**
   * @param {AbortSignal} signal
   * @param {number} id
   * @param {Promise<any>} answer
   */
  async #until(signal, id, answer) {
    const onAbort = () => this.#forget(id, signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    try {
      return await answer;
    } finally {
      signal.removeEventListener('abort', onAbort);
    }
  }

  /**
   * Nobody waits for this request any more: it is not asked again.
   * @param {number} id
   * @param {unknown} error
   */
  #forget(id, error) {
    this.#take(id)?.reject(error);
    if (this.#pending.size === 0) this.#reaching?.abort();
  }

  /** @param {string | number} id */
  #take(id) {
    const pending = this.#pending.get(id);
    this.#pending.delete(id);
    this.#rest();
    return pending;
  }

  #rest() {
    if (this.#isHeld || this.#pending.size > 0) this.#socket.ref();
    else this.#socket.unref();
  }

  /** @param {Socket} socket */
  #listen(socket) {
    const reader = createLineReader({
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
    socket.on('data', reader.push);
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
    // An error without an id is about the connection: the server did not understand what it was
    // sent.
    if (message.id === undefined || message.id === null)
      return message.error ? this.#onFault(message.error) : undefined;
    const pending = this.#take(message.id);
    if (!pending) return undefined; // Nobody waits for it any more.
    if (message.error) pending.reject(fromWire(message.error));
    else pending.resolve(message.result);
  }

  /**
   * What concerns the connection and no request of its own.
   * @param {WireError} error
   */
  #onFault(error) {
    this.#failAll(fromWire(error));
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
    if (this.#pending.size > 0) void this.#reconnect();
  }

  /** @type {AbortController | null} */
  #reaching = null;

  /** Never rejects: what goes wrong is told to the pending requests. */
  async #reconnect() {
    if (this.#reaching) return;
    const { signal } = (this.#reaching = new AbortController());
    try {
      const socket = await this.#reachAgain(signal);
      if (!socket) return this.#failAll(lost());
      if (this.#state === 'closed') return socket.destroy();
      this.#socket = socket;
      this.#state = 'open';
      this.#listen(socket);
      this.#rest();
      for (const id of this.#pending.keys()) this.#send(id);
    } catch (error) {
      if (!signal.aborted) this.#failAll(error);
    } finally {
      this.#reaching = null;
      // Given up because nobody waited, and since then somebody does.
      if (this.#state === 'broken' && this.#pending.size > 0) void this.#reconnect();
    }
  }

  /** @param {string | number} id */
  #send(id) {
    const pending = this.#pending.get(id);
    if (!pending) return;
    if (pending.sent === pending.maxSends) return this.#take(id)?.reject(lost());
    pending.sent += 1;
    this.#socket.write(pending.line);
  }

  /** @param {unknown} error */
  #failAll(error) {
    const all = [...this.#pending.values()];
    this.#pending.clear();
    this.#rest();
    for (const { reject } of all) reject(error);
  }
}

function lost() {
  return new NclustError('ERR_NCLUST_CONNECTION_LOST', 'The manager went away before it answered.', {
    hint: 'Run the command again.',
  });
}

/** @param {Hello} hello */
function checkProtocol({ protocol, version }) {
  if (protocol === PROTOCOL) return;
  throw new NclustError(
    'ERR_NCLUST_PROTOCOL_VERSION',
    `The running manager (nclust ${version}) speaks protocol ${protocol}, this command speaks ${PROTOCOL}.`,
    {
      hint: 'Use the nclust that started it, or end it with that one\'s "nclust kill".',
    },
  );
}
