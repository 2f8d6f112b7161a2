// An app of another user has a copy of each of its listening sockets. It can make a connection with
// SO_LINGER of a TCP socket, and put one into the queue of a Unix socket. The system blocks the
// process that closes the last copy of such a connection, for as long as the app likes. So keeper
// and control do not close these sockets in the usual way.
import { spawn } from 'node:child_process';

/**
 * @typedef {{ fd: number, close: () => void, reset?: () => number }} Shared  A handle of Node.js.
 * @typedef {{ handle: Shared, close: () => void }} Waiting
 */

const BATCH_MAX = 256;

/** @type {Waiting[]} */
let waiting = [];
let isBusy = false;

/**
 * @param {Shared} handle
 * @param {object} [o]
 * @param {() => void} [o.close]  Closes the handle. Default: its method.
 * @param {boolean} [o.isInUse]  Other processes may accept connections from the socket.
 */
export function closeShared(handle, { close = () => handle.close(), isInUse = false } = {}) {
  // Sets SO_LINGER to 0 before it closes the handle. New connections would inherit that.
  if (handle.reset && !isInUse) return void handle.reset();
  waiting.push({ handle, close });
  closeWaiting();
}

/**
 * The system does not block a process that exits. So another process has the last copies. There is
 * one such process at a time, because an app may cause many of these calls.
 */
function closeWaiting() {
  if (isBusy || waiting.length === 0) return;
  isBusy = true;
  const batch = waiting.slice(0, BATCH_MAX);
  waiting = waiting.slice(BATCH_MAX);
  const holder = spawn(process.execPath, ['-e', 'process.stdin.resume()'], {
    env: {},
    stdio: ['pipe', 'ignore', 'ignore', ...batch.map(({ handle }) => handle.fd)],
  });
  const next = () => {
    isBusy = false;
    closeWaiting();
  };
  // On an error, for example without memory, there is no other process, and this one may block.
  holder.once('error', next).once('exit', next);
  for (const { close } of batch) close();
  holder.stdin?.on('error', () => {}).end();
}
