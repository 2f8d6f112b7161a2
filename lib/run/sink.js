/** @import { Writable } from 'node:stream' */

const LINE_END = Buffer.from('\n');
const NEWLINE = 0x0a;

/** How long the end waits for a reader that takes nothing, in ms. */
const PATIENCE_MS = 2_000;

/**
 * Standard output or error, which somebody reads slowly, or not any more.
 * @typedef {object} Sink
 * @property {(from: string, bytes: Buffer) => Promise<void> | null} write  Null: it is taken. A
 *   promise: it will be, and there should be no more before. Lines of two who write never mix.
 *   Never throws, never rejects.
 * @property {(sentence: string) => void} say  Words of our own, on a line of their own.
 * @property {() => Promise<boolean>} flush  Waits as long as somebody reads. Resolves with whether
 *   everything has been taken.
 */

/**
 * @param {Writable} stream
 * @param {() => void} onClosed  Nobody can read it any more; what comes is thrown away.
 * @returns {Sink}
 */
export function createSink(stream, onClosed) {
  let isClosed = false;
  /** Who has written a part of a line. */
  let inside = '';
  stream.on('error', () => {
    if (isClosed) return;
    isClosed = true;
    onClosed();
  });

  /** @param {Buffer} bytes */
  function put(bytes) {
    if (isClosed || bytes.length === 0) return null;
    const taken = new Promise((resolve) => void stream.write(bytes, () => resolve(undefined)));
    return stream.writableLength === 0 ? null : /** @type {Promise<void>} */ (taken);
  }

  return {
    write(from, bytes) {
      if (bytes.length === 0) return null;
      if (inside !== '' && inside !== from) void put(LINE_END);
      inside = bytes[bytes.length - 1] === NEWLINE ? '' : from;
      return put(bytes);
    },
    say(sentence) {
      void put(Buffer.from(`${inside === '' ? '' : '\n'}nclust: ${sentence}\n`));
      inside = '';
    },
    async flush() {
      while (!isClosed && stream.writableLength > 0) {
        const left = stream.writableLength;
        await takenWithin(stream, PATIENCE_MS);
        if (stream.writableLength >= left) return false;
      }
      return true;
    },
  };
}

/**
 * @param {Writable} stream
 * @param {number} ms
 * @returns {Promise<void>}
 */
function takenWithin(stream, ms) {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    // Behind everything that waits.
    stream.write('', () => {
      clearTimeout(timer);
      resolve();
    });
  });
}
