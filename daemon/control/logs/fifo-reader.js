import { constants, openSync, readSync } from 'node:fs';
import { Socket } from 'node:net';

/** As much as the kernel keeps for a pipe: one read empties it. */
const BUFFER_BYTES = 64 * 1024;

/** A child that survives its parent may write without end; what belongs to the parent is in the pipe already. */
const DRAIN_MAX_BYTES = 1024 * 1024;

/**
 * Reads one named pipe.
 * @typedef {object} FifoReader
 * @property {() => void} drain  Hands over what is in the pipe now, before it returns.
 * @property {() => void} close  Idempotent. What is unread stays in the pipe.
 * @property {() => boolean} isOpen
 */

/**
 * Opens pipes for reading. All of them share one buffer: a chunk is consumed before the next read.
 * @returns {(path: string, onChunk: (chunk: Buffer) => void) => FifoReader}  Throws what open(2) says.
 */
export function createFifoOpener() {
  const buffer = Buffer.allocUnsafeSlow(BUFFER_BYTES);

  return (path, onChunk) => {
    const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    let isOpen = true;
    const take = (/** @type {number} */ size) => {
      onChunk(buffer.subarray(0, size));
      return true;
    };
    const socket = new Socket(/** @type {import('node:net').SocketConstructorOpts} */ ({ fd, readable: true, writable: false, onread: { buffer, callback: take } }));
    // The end of a pipe: keeper and app are gone. Either way there is nothing more to read.
    socket.on('error', () => socket.destroy());
    socket.on('close', () => {
      isOpen = false;
    });
    return {
      drain() {
        for (let total = 0; isOpen && total < DRAIN_MAX_BYTES; ) {
          const size = readNow(fd, buffer);
          if (size === 0) return;
          total += size;
          take(size);
        }
      },
      close() {
        isOpen = false;
        socket.destroy();
      },
      isOpen: () => isOpen,
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
