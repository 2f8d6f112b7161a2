import { withDeadline } from '../shared/deadline.js';

/** @import { Writable } from 'node:stream' */

const LINE_END = Buffer.from('\n');
const NEWLINE = 0x0a;

/** How long flush() waits while the reader reads nothing, in ms. */
const PATIENCE_MS = 2_000;

/**
 * Standard output or standard error. The reader may be slow, or may have exited.
 * @typedef {object} Sink
 * @property {(from: string, bytes: Buffer) => Promise<void> | null} write  Wait for the promise
 *   before the next write. Null: no wait is needed. Lines of two writers never mix. Never throws or
 *   rejects.
 * @property {(sentence: string) => void} printMessage  Writes a message of nclust on its own line.
 * @property {() => Promise<boolean>} flush  Waits for the reader. False: bytes are left.
 */

/**
 * @param {Writable} stream
 * @param {() => void} onClosed  Called when the reader has exited. Later writes are dropped.
 * @returns {Sink}
 */
export function createSink(stream, onClosed) {
  let isClosed = false;
  /** The writer of an unfinished line. Empty: all lines are finished. */
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
    printMessage(sentence) {
      void put(Buffer.from(`${inside === '' ? '' : '\n'}nclust: ${sentence}\n`));
      inside = '';
    },
    async flush() {
      while (!isClosed && stream.writableLength > 0) {
        const left = stream.writableLength;
        // The callback runs when all bytes that were queued before are written.
        const taken = new Promise((resolve) => void stream.write('', () => resolve(undefined)));
        await withDeadline(PATIENCE_MS, taken, () => {});
        if (stream.writableLength >= left) return false;
      }
      return true;
    },
  };
}
