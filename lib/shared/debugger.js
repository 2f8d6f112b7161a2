import { WebSocket } from 'ws';
import { withDeadline } from './deadline.js';

/** Limit for an answer. It is large, because the answer with a profile is one message. */
const ANSWER_MAX_BYTES = 128 * 1024 ** 2;

/** Limit for all messages together, as a multiple of the limit for one. */
const ANSWERS_MAX = 2;

/** An error of the process. Code of the app may answer in place of the inspector. */
const ERROR_MAX_CHARS = 500;

const SHUT_MS = 2_000;

/**
 * A connection to the inspector of a process, in the protocol of Chrome DevTools.
 * @typedef {object} Debugger
 * @property {(method: string, params?: object, timeoutMs?: number) => Promise<any>} ask
 * @property {(method: string, listener: (params: any) => void) => void} on
 * @property {() => Promise<void>} shut  Closes the inspector of the process. Never rejects.
 */

/**
 * An expression that loads a module of Node.js inside the process. Old versions of Node.js do not
 * have getBuiltinModule(), but give `require` to debuggers.
 * @param {string} name
 */
export function builtin(name) {
  return `(process.getBuiltinModule ?? require)('${name}')`;
}

/** The process did not answer the debugger in time, probably because it runs no JavaScript. */
export class SilentProcess extends Error {}

/**
 * @param {string} url
 * @param {number} [maxBytes]  Limit for an answer.
 * @returns {Promise<Debugger>}
 */
export async function openDebugger(url, maxBytes = ANSWER_MAX_BYTES) {
  const socket = new WebSocket(url, {
    perMessageDeflate: false,
    maxPayload: maxBytes,
    handshakeTimeout: SHUT_MS,
  });
  /** @type {Map<number, { resolve: (result: any) => void, reject: (error: Error) => void }>} */
  const waiting = new Map();
  /** @type {Map<string, (params: any) => void>} */
  const listeners = new Map();
  let lastId = 0;
  let receivedBytes = 0;

  /** @param {import('ws').RawData} data */
  function receive(data) {
    const text = String(data);
    receivedBytes += text.length;
    if (receivedBytes > ANSWERS_MAX * maxBytes) throw new Error('it sends too much');
    const { id, method, params, result, error } = Object(JSON.parse(text));
    if (method) return void listeners.get(method)?.(Object(params));
    const pending = waiting.get(id);
    waiting.delete(id);
    if (error) pending?.reject(new Error(String(error.message).slice(0, ERROR_MAX_CHARS)));
    else pending?.resolve(Object(result));
  }

  /** @param {Error} error */
  function fail(error) {
    for (const { reject } of waiting.values()) reject(error);
    waiting.clear();
    socket.terminate();
  }

  socket.on('message', (data) => {
    try {
      receive(data);
    } catch (error) {
      const why = /** @type {Error} */ (error).message.slice(0, ERROR_MAX_CHARS);
      fail(new Error(`its message is not one of the inspector of Node.js (${why})`));
    }
  });
  const closed = new Promise((resolve) => {
    socket.once('close', resolve);
  });
  await new Promise((resolve, reject) => {
    socket.once('open', resolve);
    socket.once('error', reject);
  });
  socket.on('error', (error) => fail(error)); // A message is too long, for example.
  void closed.then(() => fail(new Error('the process has exited, or its inspector was closed')));

  /** @type {Debugger['ask']} */
  function ask(method, params = {}, timeoutMs = 0) {
    lastId += 1;
    const id = lastId;
    /** @type {Promise<any>} */
    const answer = new Promise((resolve, reject) => {
      waiting.set(id, { resolve, reject });
    });
    // Ignores an error here, because the socket then closes, and `closed` rejects the answer.
    socket.send(JSON.stringify({ id, method, params }), () => {});
    return timeoutMs > 0 ? withTimeout(timeoutMs, answer) : answer;
  }

  return {
    ask,
    on: (method, listener) => void listeners.set(method, listener),
    async shut() {
      if (socket.readyState === WebSocket.OPEN) {
        const said = ask('Runtime.evaluate', {
          expression: `${builtin('node:inspector')}.close()`,
          includeCommandLineAPI: true,
        }).catch(() => {}); // Ignores a lost answer, because close() also ends this connection.
        await withTimeout(SHUT_MS, Promise.race([closed, said.then(() => closed)])).catch(() => {});
      }
      socket.terminate();
    },
  };
}

/**
 * @template T
 * @param {number} ms
 * @param {Promise<T>} answer
 * @returns {Promise<T>}
 */
export function withTimeout(ms, answer) {
  return withDeadline(ms, answer, () => {
    throw new SilentProcess(`no answer in ${ms} ms`);
  });
}
