import { connect } from 'node:net';
import { within } from './wait-for.js';

/** @import { Socket } from 'node:net' */

/**
 * A client of nclust.sock that shares no code with the product.
 * @typedef {object} Wire
 * @property {(method: string, params?: object) => Promise<any>} request  Rejects with the `code`
 *   and `data` of an error answer, or with another error if no answer arrives.
 * @property {(bytes: string | Uint8Array) => void} write
 * @property {() => Promise<string | null>} nextLine  The next line that is not an answer to
 *   request(). Null: the connection is closed.
 * @property {() => void} stopReading  From then on, the buffers of the kernel fill up.
 * @property {Promise<void>} closed  By either side.
 * @property {() => void} close
 */

/**
 * @param {string} sock
 * @returns {Promise<Wire>}  A client that the caller closes.
 */
export async function openWire(sock) {
  const socket = connect(sock);
  await new Promise((resolve, reject) => {
    socket.once('connect', resolve);
    socket.once('error', reject);
  });
  return createWire(socket);
}

/**
 * @param {Socket} socket
 * @returns {Wire}
 */
function createWire(socket) {
  /** @type {Map<number, { resolve: (value: any) => void, reject: (error: Error) => void }>} */
  const waiting = new Map();
  /** @type {string[]} */
  const lines = [];
  /** @type {((line: string | null) => void)[]} */
  const readers = [];
  let isClosed = false;
  let nextId = 1;
  let held = '';

  socket.setEncoding('utf8');
  socket.on('error', () => socket.destroy());
  socket.on('data', (/** @type {string} */ chunk) => {
    const parts = (held + chunk).split('\n');
    held = parts.pop() ?? '';
    parts.forEach(take);
  });
  const closed = new Promise((resolve) => {
    socket.once('close', () => {
      isClosed = true;
      for (const { reject } of waiting.values()) reject(new Error('The connection was closed before the answer.'));
      for (const reader of readers) reader(null);
      resolve(undefined);
    });
  });

  /** @param {string} line */
  function take(line) {
    const message = parse(line);
    const request = waiting.get(message?.id);
    if (!request) {
      const reader = readers.shift();
      if (reader) reader(line);
      else lines.push(line);
      return;
    }
    waiting.delete(message.id);
    if (message.error)
      request.reject(
        Object.assign(new Error(message.error.message), { code: message.error.code, data: message.error.data }),
      );
    else request.resolve(message.result);
  }

  return {
    closed: /** @type {Promise<void>} */ (closed),
    request(method, params = {}) {
      const id = nextId++;
      const answer = new Promise((resolve, reject) => waiting.set(id, { resolve, reject }));
      if (isClosed) return Promise.reject(new Error('The connection is closed.'));
      socket.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`);
      return within(`the answer to "${method}"`, answer, 60_000);
    },
    write: (bytes) => void socket.write(bytes),
    nextLine() {
      const line = lines.shift();
      if (line !== undefined || isClosed) return Promise.resolve(line ?? null);
      return new Promise((resolve) => readers.push(resolve));
    },
    stopReading: () => void socket.pause(),
    close: () => void socket.destroy(),
  };
}

/** @param {string} line */
function parse(line) {
  try {
    return JSON.parse(line);
  } catch {
    return null;
  }
}
