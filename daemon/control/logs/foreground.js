import { writeSync } from 'node:fs';
import { connect } from 'node:net';
import { outputFrame, outputSocket } from '../../../lib/shared/wire/output-frame.js';
import { createLosses } from './write/log-file.js';

/** @import { Socket } from 'node:net' */
/** @import { LogStream } from '../../../lib/shared/wire/protocol.js' */
/** @import { Clock } from '../host/clock.js' */
/** @import { LogPlace } from './app-logs.js' */
/** @import { Losses } from './write/log-file.js' */

/** @typedef {Pick<LogPlace, 'instanceId' | 'id' | 'name' | 'isMuted' | 'overflow'>} Sender */

/** What waits for who reads, when the app is not to wait with it. */
const PENDING_MAX_BYTES = 1024 * 1024;

/** How soon it is tried again when the kernel takes no more, in ms. Doubles. */
const PAUSE_MIN_MS = 1;
const PAUSE_MAX_MS = 20;

/** How long the end waits for a reader that takes nothing, in ms. */
const PATIENCE_MS = 2_000;

/** The same when this process ends at once and can wait for nobody. */
const LAST_MOMENT_MS = 1_000;

/**
 * The foreground run that has started this manager, if one has. Unlike the targets of shipping it
 * gets everything: who writes more than it takes has to wait. Its end is ours.
 * @typedef {object} Foreground
 * @property {(place: Sender, stream: LogStream, chunk: Buffer) => Promise<void> | null} write  Null:
 *   the kernel has it. A promise: it will have, and there should be no more before. Never throws,
 *   never rejects.
 * @property {(place: Sender, stream: LogStream) => void} end  Nothing comes any more.
 * @property {(name: string) => Losses | null} lossesOf
 * @property {() => string[]} notices
 * @property {() => void} finish  Hands over what waits, at once: this process ends. Never throws.
 * @property {() => Promise<void>} close  Hands over what waits, as long as somebody takes it.
 *   Idempotent; never rejects.
 */

/** Nobody has started this manager in the foreground. @type {Foreground} */
export const NO_FOREGROUND = {
  write: () => null,
  end() {},
  lossesOf: () => null,
  notices: () => [],
  finish() {},
  close: async () => {},
};

/**
 * @param {string} run  The folder of the home.
 * @param {object} o
 * @param {Clock} o.clock
 * @param {() => void} o.onGone  It has ended before us.
 * @returns {Promise<Foreground>}  NO_FOREGROUND where nobody listens.
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
  // Written to by hand: of what a stream has in its queue nobody knows how much is gone when the
  // process has to end.
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
    settle();
    if (!closing) onGone();
  });
  socket.resume();

  function settle() {
    waiting?.done();
    waiting = null;
  }

  /** @returns {number}  How many bytes the kernel has taken. */
  function pump() {
    let taken = 0;
    // Not after 'close': the descriptor is somebody else's then.
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
    if (pending.length === 0) settle();
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
    const promise = /** @type {Promise<void>} */ (
      new Promise((resolve) => {
        done = resolve;
      })
    );
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
    lost.add(chunk, 'nobody reads the output of the foreground run');
  }

  async function part() {
    while (waiting && !socket.destroyed) {
      const left = pendingBytes;
      await Promise.race([
        waiting.promise,
        new Promise((resolve) => {
          clock.after(PATIENCE_MS, () => resolve(undefined));
        }),
      ]);
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
      const sent = send(outputFrame(headOf(place, stream, clock), chunk));
      return isDropping ? null : sent;
    },
    end(place, stream) {
      void send(outputFrame({ ...headOf(place, stream, clock), isEnd: true }, Buffer.alloc(0)));
    },
    lossesOf: (name) => losses.get(name) ?? null,
    notices: () =>
      [...losses].flatMap(([name, lost]) => {
        const told = lost.recent();
        return told
          ? [
              `${told.lines} lines (${told.bytes} bytes) of "${name}" could not be shown (${told.reason}) ` +
                `and are lost there.`,
            ]
          : [];
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
function headOf({ instanceId, id, name }, stream, clock) {
  return { instanceId, id, name, stream, atMs: clock.nowMs() };
}

/**
 * @param {number} fd
 * @param {Buffer} bytes
 * @returns {number}  0: it takes none now, or never again; the socket tells the latter by itself.
 */
function tryWrite(fd, bytes) {
  try {
    return writeSync(fd, bytes);
  } catch {
    return 0;
  }
}
