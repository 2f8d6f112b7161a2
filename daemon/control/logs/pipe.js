import { constants, openSync, readSync } from 'node:fs';
import { Socket } from 'node:net';

/** @import { SocketConstructorOpts } from 'node:net' */
/** @import { Clock } from '../host/clock.js' */

/** The kernel's buffer for a pipe has this size, so one read empties it. */
const BUFFER_BYTES = 64 * 1024;

/** A pipe is read at most this many times in a row, so that other pipes get their turn. */
const TURNS_MAX = 16;

/** Limit of drain(), because a child process that survives the app may write forever. */
const DRAIN_MAX_BYTES = 1024 * 1024;

/**
 * @typedef {(chunk: Buffer) => Promise<void> | null} Take  The reader waits for the promise. So
 *   if the disk is slow, the app waits, and the memory of control does not grow.
 */

/**
 * @typedef {object} PipeReader
 * @property {() => void} drain  Reads and passes on the bytes in the pipe before it returns.
 * @property {() => void} close  Idempotent. Unread bytes stay in the pipe.
 * @property {() => boolean} isOpen
 */

/**
 * All pipes share one buffer, so `take` must copy what it keeps.
 * @param {Clock} clock
 * @returns {(path: string, take: Take) => PipeReader}  Throws errors of open(2).
 */
export function createPipeOpener(clock) {
  const buffer = Buffer.allocUnsafeSlow(BUFFER_BYTES);

  return (path, take) => {
    const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    let cancelLook = () => {};
    const paceOf = createPace();

    /**
     * Passes the chunk on in the same turn, because the buffer has the only copy of the chunk.
     * @param {number} size
     * @returns {boolean}  Whether to read on at once. If not, the next read is scheduled.
     */
    const hand = (size) => {
      const written = take(buffer.subarray(0, size));
      if (written) {
        void written.then(look);
        return false;
      }
      const pauseMs = paceOf(size, performance.now());
      if (pauseMs > 0) cancelLook = clock.after(pauseMs, look);
      return pauseMs === 0;
    };
    const look = () => {
      for (let turn = 0; isOpen() && turn < TURNS_MAX; turn++) {
        const size = readNow(fd, buffer);
        if (size > 0 && !hand(size)) return;
        if (size === 0) break;
      }
      if (isOpen()) socket.resume();
    };
    const socket = new Socket(
      /** @type {SocketConstructorOpts} */ ({
        fd,
        readable: true,
        writable: false,
        onread: { buffer, callback: hand },
      }),
    );
    // The reader counts as closed from destroy() on, because at 'close' the descriptor may already
    // belong to a client.
    const isOpen = () => !socket.destroyed;
    // Keeper and app are gone, so there is nothing more to read.
    socket.on('error', () => socket.destroy());
    socket.on('close', () => cancelLook());
    return {
      drain() {
        for (let total = 0; isOpen() && total < DRAIN_MAX_BYTES;) {
          const size = readNow(fd, buffer);
          if (size === 0) return;
          total += size;
          take(buffer.subarray(0, size));
        }
      },
      close() {
        cancelLook();
        socket.destroy();
      },
      isOpen,
    };
  };
}

/**
 * @param {number} fd
 * @param {Buffer} buffer
 * @returns {number}  The number of bytes. 0: the pipe is empty or cannot be read.
 */
function readNow(fd, buffer) {
  try {
    return readSync(fd, buffer, 0, buffer.length, null);
  } catch {
    return 0; // Usually EAGAIN: the pipe is empty.
  }
}

/** A chunk of at least half the kernel's buffer shows that the writer is ahead of us. */
const LARGE_BYTES = 32 * 1024;

/** Output above this rate counts as a flood, in bytes per ms. */
const FLOOD_RATE = 1024;

/** After this long without output, in ms, a line is shown at once. */
const SILENCE_MS = 100;

/** Pause in a flood, in ms. A longer pause makes 300,000 lines two to three times slower. */
const PAUSE_MIN_MS = 1;

/** Longest pause between two reads, in ms. The first pause of a trickle is half as long. */
const PAUSE_MAX_MS = 20;

/**
 * Computes pauses between reads, so that each read finds many lines. A flood that is read line by
 * line costs 25 ms of CPU per MB; with pauses, it costs 4 ms. A SIGKILL of this process loses bytes
 * that are read but not written; pauses shorten the time in which there are such bytes.
 * @returns {(sizeBytes: number, nowMs: number) => number}
 *   Call this after each read. Returns the pause in ms. 0: no pause.
 */
export function createPace() {
  let lastMs = -Infinity;
  let pauseMs = PAUSE_MIN_MS;

  return (sizeBytes, nowMs) => {
    const sinceMs = nowMs - lastMs;
    lastMs = nowMs;
    const isFlood = sizeBytes > FLOOD_RATE * sinceMs;
    if (isFlood || sinceMs > SILENCE_MS) pauseMs = PAUSE_MIN_MS;
    else pauseMs = pauseMs === PAUSE_MIN_MS ? PAUSE_MAX_MS / 2 : PAUSE_MAX_MS;
    return sizeBytes >= LARGE_BYTES || sinceMs > SILENCE_MS ? 0 : pauseMs;
  };
}
