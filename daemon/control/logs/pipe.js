import { constants, openSync, readSync } from 'node:fs';
import { Socket } from 'node:net';

/** @import { SocketConstructorOpts } from 'node:net' */
/** @import { Clock } from '../host/clock.js' */

/** As much as the kernel keeps for a pipe: one read empties it. */
const BUFFER_BYTES = 64 * 1024;

/** Then the others have their turn. */
const TURNS_MAX = 16;

/**
 * A child that survives its parent may write without end; what belongs to the parent is in the pipe
 * already.
 */
const DRAIN_MAX_BYTES = 1024 * 1024;

/**
 * Takes a chunk before the next one is read. What it returns is waited for: a disk that is slow
 * makes the writer wait, not our memory grow.
 * @typedef {(chunk: Buffer) => Promise<void> | null} Take
 */

/**
 * Reads one named pipe.
 * @typedef {object} PipeReader
 * @property {() => void} drain  Hands over what is in the pipe now, before it returns.
 * @property {() => void} close  Idempotent. What is unread stays in the pipe.
 * @property {() => boolean} isOpen
 */

/**
 * Opens pipes for reading. All of them share one buffer: who takes a chunk copies what it keeps.
 * @param {Clock} clock
 * @returns {(path: string, take: Take) => PipeReader}  Throws what open(2) says.
 */
export function createPipeOpener(clock) {
  const buffer = Buffer.allocUnsafeSlow(BUFFER_BYTES);

  return (path, take) => {
    const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    let cancelLook = () => {};
    const paceOf = createPace();

    /**
     * Without a word in between: what is read is nowhere but here until it is written.
     * @param {number} size
     * @returns {boolean}  Whether to go on at once. If not, it looks again by itself.
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
    // And not until 'close': the descriptor is free before that comes, and may be that of the next
    // client, whose request would be read here.
    const isOpen = () => !socket.destroyed;
    // The end of a pipe: keeper and app are gone. Either way there is nothing more to read.
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
 * @returns {number}  0 when there is nothing.
 */
function readNow(fd, buffer) {
  try {
    return readSync(fd, buffer, 0, buffer.length, null);
  } catch {
    return 0; // EAGAIN: empty.
  }
}

/**
 * A chunk of this size, half of what the kernel keeps for a pipe, says that the writer is ahead of
 * us.
 */
const LARGE_BYTES = 32 * 1024;

/** Above this it is a flood, in bytes per ms. */
const FLOOD_RATE = 1024;

/** After a silence as long as this, in ms, a line is shown at once. */
const SILENCE_MS = 100;

/**
 * In a flood, in ms. Longer, and the writer fills the pipe and waits: two to three times as long,
 * for 300,000 lines.
 */
const PAUSE_MIN_MS = 1;

/** How long a line may wait in the pipe, in ms; the first of a trickle half as long. */
const PAUSE_MAX_MS = 20;

/**
 * How long to leave a pipe alone, so that the next read finds many lines and not one. Read line by
 * line, a flood of 300,000 lines costs 25 ms of CPU per MB; with these pauses 4, and the app is
 * done sooner. They also make those moments rare in which something has been read and is not
 * written yet: what a SIGKILL of this process can cost.
 * @returns {(sizeBytes: number, nowMs: number) => number}  After each read: the pause in ms, 0 for
 *   none.
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
