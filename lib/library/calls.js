import { newToken, openClient } from '../client/client.js';
import { connectOnly, connectOrLaunch } from '../client/connect.js';
import { notRunningError } from '../client/not-running.js';
import { rejectOnAbort } from '../shared/deadline.js';
import { toNclustError, NclustError } from '../shared/errors.js';

/** @import { Client } from '../client/client.js' */
/** @import { Method, Progress } from '../shared/wire/protocol.js' */
/** @import { Ask } from './changes.js' */

/**
 * @typedef {object} CallOptions
 * @property {number} [timeoutMs]  After this time, the call rejects with ERR_NCLUST_TIMEOUT.
 *   Infinity: no limit.
 * @property {AbortSignal} [signal]  If it aborts, the call rejects with ERR_NCLUST_INTERRUPTED. The
 *   manager may still complete the change.
 */

/**
 * @typedef {CallOptions & { wait?: boolean, onProgress?: (progress: Progress) => void }}
 *   ChangeOptions  Default of `wait`: true.
 */

/** Time limit for a question. Control answers from memory, but may have to restart before that. */
const QUESTION_MS = 15_000;

/** Time limit for connect(), which may have to start a manager. */
const CONNECT_MS = 30_000;

/**
 * Time limit for a change. It is long, because a rollout replaces workers one after the other, and
 * each worker may start slowly.
 */
const CHANGE_MS = 600_000;

/** The maximum of setTimeout(). */
const LONGEST_MS = 2 ** 31 - 1;

const QUESTIONS = new Set(['hello', 'list', 'troubles', 'settings', 'logs', 'unsubscribe']);

const NODE = { file: process.execPath, version: process.version };

/** @typedef {Awaited<ReturnType<typeof openCalls>>} Calls */

/**
 * Each call settles within its time limit, even if the manager dies.
 * @param {object} o
 * @param {string} o.home
 * @param {boolean} o.launch  Whether connect() and changes start the manager if it does not run.
 * @param {string | undefined} o.cwd  Base of relative paths. Default: process.cwd() at each call.
 * @param {number | undefined} o.timeoutMs
 * @param {(sentence: string) => void} o.onWarning
 * @param {AbortSignal} [o.signal]
 */
export async function openCalls({ home, launch, cwd, timeoutMs: usualMs, signal: opening, onWarning }) {
  /** @type {Client | null} */
  let client = null;
  let [isOpening, isClosed] = [true, false];
  let changing = 0;
  /** @type {Set<AbortController>} */
  const under = new Set();
  /** By token. @type {Map<string, (progress: Progress) => void>} */
  const watchers = new Map();

  const cwdNow = () => cwd ?? process.cwd();

  /** @param {AbortSignal} [signal] */
  async function reconnect(signal) {
    const socket = await connectOnly(home, signal);
    // A question must not start a manager, because the user may have stopped it.
    if (!socket && !(launch && (isOpening || changing > 0))) throw notRunningError({ home });
    return socket ?? connectOrLaunch(home, signal);
  }

  /** @param {AbortSignal} signal */
  async function open(signal) {
    const opened = await openClient(
      (one) => (launch ? connectOrLaunch(home, one) : connectOnly(home, one)),
      reconnect,
      { isHeld: false, signal },
    );
    if (!opened) throw notRunningError({ home });
    client = opened;
    opened.onNotification(({ method, params }) => {
      if (method === 'progress')
        watchers.get(String(params?.token))?.(/** @type {Progress} */ (/** @type {unknown} */ (params)));
    });
  }

  /**
   * @template T
   * @param {string} doing  Name of the call in errors: "restart".
   * @param {ChangeOptions} o
   * @param {(ask: Ask, signal: AbortSignal) => Promise<T>} work  `signal` aborts when the
   *   call settles.
   * @param {number} [defaultMs]
   * @returns {Promise<T>}
   */
  async function call(doing, { timeoutMs = usualMs, signal, wait, onProgress }, work, defaultMs = CHANGE_MS) {
    if (isClosed) throw closedError();
    const allowedMs = readTimeout(timeoutMs ?? defaultMs);
    const over = new AbortController();
    const timer =
      allowedMs === Infinity ? undefined : setTimeout(() => over.abort(timeoutError(doing, allowedMs)), allowedMs);
    const onAbort = () => over.abort(interruptedError(doing, signal?.reason));
    signal?.addEventListener('abort', onAbort, { once: true });
    if (signal?.aborted) onAbort();
    under.add(over);
    try {
      /** @type {Ask} */
      const asking = Object.assign(
        (/** @type {Method} */ method, /** @type {Record<string, unknown> | undefined} */ params) =>
          ask(method, params, { wait, onProgress, signal: over.signal }),
        { cwd: cwdNow(), env: process.env, node: NODE, warn: onWarning },
      );
      return await Promise.race([work(asking, over.signal), rejectOnAbort(over.signal)]);
    } catch (error) {
      throw over.signal.aborted ? over.signal.reason : toNclustError(error);
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener('abort', onAbort);
      under.delete(over);
      over.abort(); // Cancels pending requests of this call.
    }
  }

  /**
   * Each change has a token, so that the manager makes the change only once, even if the client
   * sends the request again.
   * @param {Method} method
   * @param {Record<string, unknown>} [params]
   * @param {{ wait?: boolean, onProgress?: (progress: Progress) => void, signal?: AbortSignal }}
   *   [o]
   */
  async function ask(method, params = {}, { wait, onProgress, signal } = {}) {
    signal?.throwIfAborted();
    const request = (/** @type {object} */ all) => /** @type {Client} */ (client).request(method, all, { signal });
    if (QUESTIONS.has(method)) return request(params);
    const token = String(params.token ?? newToken());
    // Runs onProgress() in a microtask, so that an error in it does not break the connection.
    if (onProgress) watchers.set(token, (progress) => queueMicrotask(() => onProgress(progress)));
    changing += 1;
    try {
      return await request({
        ...params,
        token,
        ...(wait === false ? { wait } : {}),
        ...(onProgress ? { progress: true } : {}),
      });
    } finally {
      changing -= 1;
      watchers.delete(token);
    }
  }

  async function close() {
    isClosed = true;
    for (const over of under) over.abort(closedError());
    await client?.close();
  }

  await call('connect', { signal: opening }, (_, signal) => open(signal), CONNECT_MS);
  isOpening = false;

  return {
    home,
    get cwd() {
      return cwdNow();
    },
    call,
    /**
     * @template T
     * @param {string} doing
     * @param {CallOptions} o
     * @param {(ask: Ask, signal: AbortSignal) => Promise<T>} work
     */
    question: (doing, o, work) => call(doing, o, work, QUESTION_MS),
    close,
  };
}

/** @param {unknown} timeoutMs */
function readTimeout(timeoutMs) {
  if (typeof timeoutMs === 'number' && timeoutMs >= 0 && (timeoutMs <= LONGEST_MS || timeoutMs === Infinity))
    return timeoutMs;
  throw new NclustError(
    'ERR_NCLUST_USAGE',
    `timeoutMs is ${JSON.stringify(timeoutMs) ?? String(timeoutMs)}; accepted: milliseconds from 0 to ` +
      `${LONGEST_MS}, or Infinity.`,
  );
}

/**
 * @param {string} doing
 * @param {number} ms
 */
function timeoutError(doing, ms) {
  return new NclustError('ERR_NCLUST_TIMEOUT', `${doing}() was not answered within ${ms} ms.`, {
    hint: 'The manager may still do it; list() shows the present state.',
  });
}

/**
 * @param {string} doing
 * @param {unknown} cause
 */
function interruptedError(doing, cause) {
  return new NclustError(
    'ERR_NCLUST_INTERRUPTED',
    `${doing}() was aborted by its signal; the manager may still do it.`,
    { cause },
  );
}

function closedError() {
  return new NclustError('ERR_NCLUST_CLOSED', 'The connection was closed by this program.', {
    hint: 'Call close() last; connect() opens a new one.',
  });
}
