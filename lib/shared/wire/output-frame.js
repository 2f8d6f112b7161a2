// Frames from control to a foreground run: a JSON line about the source, then a chunk of output.
import { join } from 'node:path';

/** @import { LogStream } from './protocol.js' */

const NEWLINE = 0x0a;

/** Limit for a head, which usually has a few hundred bytes. */
const HEAD_MAX_BYTES = 64 * 1024;

/**
 * @typedef {object} FrameHead
 * @property {string} instanceId
 * @property {number} id  Id of the slot.
 * @property {string} name
 * @property {LogStream} stream
 * @property {number} atMs
 * @property {boolean} [isEnd]
 */

/** @param {string} run */
export function outputSocket(run) {
  return join(run, 'output.sock');
}

/**
 * @param {FrameHead} head
 * @param {Uint8Array} bytes
 * @returns {Buffer}
 */
export function outputFrame(head, bytes) {
  return Buffer.concat([Buffer.from(`${JSON.stringify({ ...head, bytes: bytes.length })}\n`), bytes]);
}

/**
 * Passes on each piece of a frame at once, so that no received output is lost if the sender is
 * killed in the middle of a frame.
 * @param {(head: FrameHead, bytes: Buffer) => void} onPiece  The bytes are valid until
 *   onPiece returns.
 * @returns {(chunk: Buffer) => void}  Throws if the data are not a frame.
 */
export function createFrameReader(onPiece) {
  let held = Buffer.alloc(0);
  /** @type {FrameHead | null} */
  let head = null;
  let missing = 0;

  return (chunk) => {
    let rest = held.length === 0 ? chunk : Buffer.concat([held, chunk]);
    held = Buffer.alloc(0);
    while (head || rest.length > 0) {
      if (!head) {
        const at = rest.indexOf(NEWLINE);
        if (at === -1) {
          if (rest.length > HEAD_MAX_BYTES) throw new Error('This is not output of nclust.');
          held = Buffer.from(rest);
          return;
        }
        const { bytes, ...said } = JSON.parse(rest.toString('utf8', 0, at));
        head = /** @type {FrameHead} */ (said);
        missing = bytes;
        rest = rest.subarray(at + 1);
      }
      if (missing > 0 && rest.length === 0) return;
      const piece = rest.subarray(0, missing);
      onPiece(head, piece);
      missing -= piece.length;
      rest = rest.subarray(piece.length);
      if (missing === 0) head = null;
    }
  };
}
