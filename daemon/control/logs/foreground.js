import { writeSync } from 'node:fs';
import { connect } from 'node:net';
import { withDeadline } from '../../../lib/shared/deadline.js';
import { outputFrame, outputSocket } from '../../../lib/shared/wire/output-frame.js';
import { createLosses } from './write/log-file.js';

/** @import { Socket } from 'node:net' */
/** @import { LogStream } from '../../../lib/shared/wire/protocol.js' */
/** @import { Clock } from '../host/clock.js' */
/** @import { LogPlace } from './app-logs.js' */
/** @import { Losses } from './write/log-file.js' */

/** @typedef {Pick<LogPlace, 'instanceId' | 'id' | 'name' | 'isMuted' | 'overflow'>} Sender */

/** Limit of data that waits for the reader if the overflow of the app is "drop", in bytes. */
const PENDING_MAX_BYTES = 1024 * 1024;

/** Pause until the next attempt if the kernel accepts no more, in ms. It doubles each time. */
const PAUSE_MIN_MS = 1;
const PAUSE_MAX_MS = 20;

/** Before control exits, it waits at most this long for a reader that does not read, in ms. */
const PATIENCE_MS = 2_000;

/** Time limit of finish(), which blocks this process, in ms. */
const LAST_MOMENT_MS = 1_000;

/**
 * The `nclust run` that started this manager. It gets the lines of all apps that are not muted. An
 * app that writes faster than the run reads has to wait. If the overflow of the app is "drop", it
 * loses lines instead. When the run exits, the manager exits too.
 * @typedef {object} Foreground
 * @property {(place: Sender, stream: LogStream, chunk: Buffer) => Promise<void> | null} write
 *   Null: you may write more at once. A promise: await it before you write more. Never throws or
 *   rejects.
 * @property {(place: Sender, stream: LogStream) => void} end  No more output will come.
 * @property {(name: string) => Losses | null} lossesOf
 * @property {() => string[]} notices
 * @property {() => void} finish  Writes the waiting data before it returns, but stops after
 *   LAST_MOMENT_MS. Never throws.
 * @property {() => Promise<void>} close  Writes the waiting data while the reader reads.
 *   Idempotent.
 */

/** Used when the manager does not run in the foreground. @type {Foreground} */
export const NO_FOREGROUND = {
  write: () => null,
  end() {},
  lossesOf: () => null,
  notices: () => [],
  finish() {},
  close: async () => {},
};

/**
 * @param {string} run  The folder `run` in the home.
 * @param {object} o
 * @param {Clock} o.clock
 * @param {() => void} o.onGone  Called if the reader exits before close() is called.
 * @returns {Promise<Foreground>}  NO_FOREGROUND if there is no reader.
 */
export async function findForeground(run, { clock, onGone }) {
  const socket = connect(outputSocket(run));
  const isThere = await new Promise(
    (resolve) => void socket.once('connect', () => resolve(true)).once('error', () => resolve(false)),
  );
  return isThere ? createForeground(socket, { clock, onGone }) : NO_FOREGROUND;
}

/**
 * @param {Socket} socket
 * @param {{ clock: Clock, onGone: () => void }} o
 * @returns {Foreground}
 */
function createForeground(socket, { clock, onGone }) {
  // Writes directly to the descriptor, because the queue of a stream would hide how much was
  // written before an exit.
  const { fd } = /** @type {any} */ (socket)._handle;
  /** @type {Buffer[]} */
  const pending = [];
  let pendingBytes = 0;
  let pauseMs = PAUSE_MIN_MS;
  let cancelRetry = () => {};
  /** @type {{ promise: Promise<void>, done: () => void } | null} */
  let waiting = null;
  /** @type {Promise<void> | null} */
  let closing = null;
  /** @type {Map<string, Losses>} */
  const losses = new Map();

  socket.on('error', () => {}); // 'close' follows.
  socket.on('close', () => {
    cancelRetry();
    pending.length = 0;
    finishClosing();
    if (!closing) onGone();
  });
  socket.resume();

  function finishClosing() {
    waiting?.done();
    waiting = null;
  }

  /** @returns {number}  The number of bytes that the kernel has accepted. */
  function pump() {
    let taken = 0;
    // Stops at 'close', because the descriptor may belong to another file after that.
    while (pending.length > 0 && !socket.destroyed) {
      const bytes = tryWrite(fd, pending[0]);
      if (bytes === 0) break;
      taken += bytes;
      if (bytes === pending[0].length) pending.shift();
      else pending[0] = pending[0].subarray(bytes);
    }
    pendingBytes -= taken;
    return taken;
  }

  function tryAgain() {
    pauseMs = pump() > 0 ? PAUSE_MIN_MS : Math.min(PAUSE_MAX_MS, 2 * pauseMs);
    if (pending.length === 0) finishClosing();
    else cancelRetry = clock.after(pauseMs, tryAgain);
  }

  /** @param {Buffer} frame */
  function send(frame) {
    if (socket.destroyed) return null;
    pending.push(frame);
    pendingBytes += frame.length;
    if (waiting) return waiting.promise;
    pump();
    if (pending.length === 0) return null;
    let done = () => {};
    /** @type {Promise<void>} */
    const promise = new Promise((resolve) => {
      done = resolve;
    });
    waiting = { promise, done };
    cancelRetry = clock.after(pauseMs, tryAgain);
    return promise;
  }

  /**
   * @param {string} name
   * @param {Buffer} chunk
   */
  function lose(name, chunk) {
    const lost = losses.get(name) ?? createLosses(clock.nowMs);
    losses.set(name, lost);
    lost.add(chunk, 'the output of the foreground run is not read');
  }

  async function part() {
    while (waiting && !socket.destroyed) {
      const left = pendingBytes;
      await withDeadline(PATIENCE_MS, waiting.promise, () => {}, clock.after);
      if (pendingBytes >= left) break;
    }
    socket.destroy();
  }

  return {
    write(place, stream, chunk) {
      if (place.isMuted || chunk.length === 0) return null;
      const isDropping = place.overflow === 'drop';
      if (isDropping && pendingBytes > PENDING_MAX_BYTES) {
        lose(place.name, chunk);
        return null;
      }
      const sent = send(outputFrame(formatHead(place, stream, clock), chunk));
      return isDropping ? null : sent;
    },
    end(place, stream) {
      void send(outputFrame({ ...formatHead(place, stream, clock), isEnd: true }, Buffer.alloc(0)));
    },
    lossesOf: (name) => losses.get(name) ?? null,
    notices: () =>
      [...losses].flatMap(([name, lost]) => {
        const recent = lost.recent();
        if (!recent) return [];
        const { lines, bytes, reason } = recent;
        return `${lines} lines (${bytes} bytes) of "${name}" could not be shown (${reason}) and are missing there.`;
      }),
    finish() {
      const nap = new Int32Array(new SharedArrayBuffer(4));
      for (
        const endMono = performance.now() + LAST_MOMENT_MS;
        pending.length > 0 && !socket.destroyed && performance.now() < endMono;
      ) {
        if (pump() === 0) Atomics.wait(nap, 0, 0, PAUSE_MIN_MS);
      }
    },
    close: () => (closing ??= part()),
  };
}

/**
 * @param {Sender} place
 * @param {LogStream} stream
 * @param {Clock} clock
 */
function formatHead({ instanceId, id, name }, stream, clock) {
  return { instanceId, id, name, stream, atMs: clock.nowMs() };
}

/**
 * @param {number} fd
 * @param {Buffer} bytes
 * @returns {number}  The number of bytes that the kernel has accepted. 0 also after an error,
 *   because a failed socket emits 'close'.
 */
function tryWrite(fd, bytes) {
  try {
    return writeSync(fd, bytes);
  } catch {
    return 0;
  }
}
