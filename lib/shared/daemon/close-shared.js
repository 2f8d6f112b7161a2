// An app of another user has a copy of each of its sockets. It can make a connection with SO_LINGER
// of a TCP socket, also of a listening one, and put one into the queue of a Unix socket. The system
// blocks the process that closes the last copy of such a connection, for as long as the app likes.
// So keeper and control do not close these sockets in the usual way.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { tryTo } from './files.js';

/**
 * @typedef {{ fd: number, close: () => void }} Shared  A handle of Node.js.
 * @typedef {{ handle: Shared, close: () => void }} Waiting
 */

const BATCH_MAX = 256;
/** Between two batches, because an app may cause any number of these calls. */
const PAUSE_MS = 100;

/** @type {Waiting[]} */
let waiting = [];
let isBusy = false;

/**
 * Closes the handle later, if there are many. Until then, its address is in use.
 * @param {Shared} handle
 * @param {() => void} [close]  Closes the handle. Default: its method.
 */
export function closeShared(handle, close = () => handle.close()) {
  // The handle may be closed already.
  if (!(handle.fd >= 0)) return close();
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
  const next = () => {
    setTimeout(() => {
      isBusy = false;
      closeWaiting();
    }, PAUSE_MS).unref();
  };
  const fds = batch.map(({ handle }) => handle.fd);
  // If memory is full, for example, then this process has the last copies, and may block.
  const holder = tryTo(() => spawn(PROGRAM, ARGS, { env: {}, stdio: ['pipe', 'ignore', 'ignore', ...fds] }), null);
  for (const { close } of batch) close();
  if (!holder) return next();
  holder.once('error', next).once('exit', next);
  holder.stdin?.on('error', () => {}).end();
}

/** Waits until its input ends. A container may have no cat. */
const [PROGRAM, ...ARGS] = existsSync('/bin/cat') ? ['/bin/cat'] : [process.execPath, '-e', 'process.stdin.resume()'];
