import { fromWire, NclustError } from '../shared/errors.js';

/** @import { Socket } from 'node:net' */
/** @import { Method } from '../shared/wire/protocol.js' */
/** @import { RpcMessage } from '../shared/wire/rpc.js' */

/** If this many controls in a row die during a request, the request probably kills them. */
const MAX_SENDS = 5;

/**
 * An update needs more attempts, because it replaces control: three new controls may crash before
 * the keeper starts the old version again, and a dying control may get the request twice.
 */
const MAX_SENDS_OF_UPDATE = 10;

/**
 * Control answers these methods from memory. If control does not answer within ANSWER_DEADLINE_MS,
 * it hangs. Then the request fails, so that the command does not hang, too.
 */
const ANSWERED_AT_ONCE = new Set(['hello', 'list', 'reset', 'unsubscribe']);
const ANSWER_DEADLINE_MS = 10_000;

/**
 * @typedef {object} Pending
 * @property {string} line  Sent again after a broken connection, without a change.
 * @property {number} sent
 * @property {number} maxSends
 * @property {(result: any) => void} resolve
 * @property {(error: unknown) => void} reject
 */

/** Requests that wait for an answer. After a broken connection, the client sends them again. */
export class PendingRequests {
  /** @type {Map<string | number, Pending>} */
  #pending = new Map();
  #onChange;
  #onAbandoned;

  /**
   * @param {object} o
   * @param {() => void} o.onChange  The number of requests may have changed.
   * @param {() => void} o.onAbandoned  The last request was aborted, or reached its time limit.
   */
  constructor({ onChange, onAbandoned }) {
    this.#onChange = onChange;
    this.#onAbandoned = onAbandoned;
  }

  get size() {
    return this.#pending.size;
  }

  /**
   * Stores a request; the caller sends it.
   * @param {number} id
   * @param {Method} method
   * @param {object} o
   * @param {string} o.line
   * @param {AbortSignal} [o.signal]
   * @returns {Promise<any>}
   */
  add(id, method, { line, signal }) {
    /** @type {Promise<any>} */
    const answer = new Promise((resolve, reject) => {
      const maxSends = method === 'update' ? MAX_SENDS_OF_UPDATE : MAX_SENDS;
      this.#pending.set(id, { line, sent: 0, maxSends, resolve, reject });
    });
    this.#onChange();
    const abortable = signal ? this.#rejectOnAbort(signal, id, answer) : answer;
    return ANSWERED_AT_ONCE.has(method) ? this.#rejectWhenLate(ANSWER_DEADLINE_MS, id, abortable) : abortable;
  }

  /**
   * Sends a request, or rejects it after too many attempts.
   * @param {string | number} id
   * @param {Socket} socket
   */
  send(id, socket) {
    const pending = this.#pending.get(id);
    if (!pending) return;
    if (pending.sent === pending.maxSends) return this.#take(id)?.reject(connectionLostError());
    pending.sent += 1;
    socket.write(pending.line);
  }

  /** @param {Socket} socket */
  sendAll(socket) {
    for (const id of this.#pending.keys()) this.send(id, socket);
  }

  /**
   * Passes an answer to its caller, or drops it if the caller does not wait any more.
   * @param {string | number} id
   * @param {RpcMessage} answer
   */
  resolve(id, { error, result }) {
    const pending = this.#take(id);
    if (error) pending?.reject(fromWire(error));
    else pending?.resolve(result);
  }

  /** @param {unknown} error */
  failAll(error) {
    const all = [...this.#pending.values()];
    this.#pending.clear();
    this.#onChange();
    for (const { reject } of all) reject(error);
  }

  /**
   * @param {number} ms
   * @param {number} id
   * @param {Promise<any>} answer
   */
  async #rejectWhenLate(ms, id, answer) {
    const timer = setTimeout(() => this.#abandon(id, noAnswer(ms)), ms);
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
  async #rejectOnAbort(signal, id, answer) {
    const onAbort = () => this.#abandon(id, signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    try {
      return await answer;
    } finally {
      signal.removeEventListener('abort', onAbort);
    }
  }

  /**
   * @param {number} id
   * @param {unknown} error
   */
  #abandon(id, error) {
    this.#take(id)?.reject(error);
    if (this.#pending.size === 0) this.#onAbandoned();
  }

  /** @param {string | number} id */
  #take(id) {
    const pending = this.#pending.get(id);
    this.#pending.delete(id);
    this.#onChange();
    return pending;
  }
}

/** @returns {NclustError} */
export function connectionLostError() {
  return new NclustError('ERR_NCLUST_CONNECTION_LOST', 'The manager closed the connection before it answered.', {
    hint: 'Run the command again.',
  });
}

/** @param {number} ms */
function noAnswer(ms) {
  return new NclustError(
    'ERR_NCLUST_DAEMON_UNREACHABLE',
    `The manager runs, but did not answer within ${ms / 1_000}s.`,
    {
      hint:
        'Its log is nclust.log in the home. You can kill the process "nclust control" safely: the keeper ' +
        'restarts it, and no app is affected.',
    },
  );
}
