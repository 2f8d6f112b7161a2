import { connect } from 'node:net';
import { createLineReader } from '../shared/daemon/lines.js';
import { NclustError } from '../shared/errors.js';

/** @import { Socket } from 'node:net' */

/** No process listens. ECONNRESET: the listener exited while this connection was in the queue. */
const NOT_LISTENING = new Set(['ECONNREFUSED', 'ECONNRESET', 'ENOENT', 'ENOTDIR']);

/**
 * Connects to a Unix socket. Null: the socket is missing, or no process listens.
 * @param {string} path
 * @param {AbortSignal} signal
 * @returns {Promise<Socket | 'busy' | null>}  busy: there is a listener, and its queue is full. The
 *   caller destroys the socket. Rejects if the signal aborts, and with
 *   ERR_NCLUST_DAEMON_UNREACHABLE after any other error.
 */
export function tryConnect(path, signal) {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    const socket = connect({ path });
    const onAbort = () => {
      socket.destroy();
      reject(signal.reason);
    };
    signal.addEventListener('abort', onAbort, { once: true });
    socket.once('connect', () => {
      signal.removeEventListener('abort', onAbort);
      socket.removeAllListeners('error');
      resolve(socket);
    });
    socket.once('error', (/** @type {NodeJS.ErrnoException} */ error) => {
      signal.removeEventListener('abort', onAbort);
      if (NOT_LISTENING.has(error.code ?? '')) return resolve(null);
      if (error.code === 'EAGAIN') return resolve('busy');
      reject(
        new NclustError(
          'ERR_NCLUST_DAEMON_UNREACHABLE',
          `The connection to the socket "${path}" failed (${error.code}).`,
          {
            hint:
              error.code === 'EACCES' || error.code === 'EPERM'
                ? 'It belongs to another user: run the command as its owner, or set NCLUST_HOME.'
                : null,
            cause: error,
          },
        ),
      );
    });
  });
}

/**
 * Reads lines until one of them has a result. Destroys the socket.
 * @template T
 * @param {Socket} socket
 * @param {AbortSignal} signal
 * @param {number} maxBytes
 * @param {(line: string) => T | undefined} onLine  Undefined: no result yet.
 * @returns {Promise<T | null>}  Null: the connection ended first, or a line was too long. Rejects if
 *   the signal aborts.
 */
export function readUntil(socket, signal, maxBytes, onLine) {
  return new Promise((resolve, reject) => {
    const onAbort = () => {
      socket.destroy();
      reject(signal.reason);
    };
    const finish = (/** @type {T | null} */ result) => {
      signal.removeEventListener('abort', onAbort);
      socket.destroy();
      resolve(result);
    };
    const read = createLineReader({
      maxBytes,
      onTooLong: () => finish(null),
      onLine: (line) => {
        const result = onLine(line);
        if (result !== undefined) finish(result);
      },
    });
    signal.addEventListener('abort', onAbort, { once: true });
    socket.on('data', read);
    socket.on('error', () => {}); // 'close' follows.
    socket.on('close', () => finish(null));
    if (signal.aborted) onAbort();
  });
}
