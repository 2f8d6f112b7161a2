// What control sends to a foreground run: chunks of output, each behind a line of JSON that says
// whose it is. Both ends import this file.
import { join } from 'node:path';

/** @import { LogStream } from './protocol.js' */

const NEWLINE = 0x0a;

/** A head is a few hundred bytes; anything much longer is none. */
const HEAD_MAX_BYTES = 64 * 1024;

/**
 * Whose output follows.
 * @typedef {object} FrameHead
 * @property {string} instanceId
 * @property {number} id  Of the slot.
 * @property {string} name
 * @property {LogStream} stream
 * @property {number} atMs
 * @property {boolean} [isEnd]  Nothing comes after it.
 */

/**
 * Where a foreground run listens for the output of its apps.
 * @param {string} run  The folder of the home.
 */
export function outputSocket(run) {
  return join(run, 'output.sock');
}

/**
 * @param {FrameHead} head
 * @param {Uint8Array} bytes
 * @returns {Buffer}  A copy of its own.
 */
export function outputFrame(head, bytes) {
  return Buffer.concat([Buffer.from(`${JSON.stringify({ ...head, bytes: bytes.length })}\n`), bytes]);
}

/**
 * Reads frames from a connection. What has come of a frame is handed over at once, in as many
 * pieces as it came in: a sender that is killed in the middle of one takes nothing along.
 * @param {(head: FrameHead, bytes: Buffer) => void} onPiece  The bytes are good until it returns.
 * @returns {(chunk: Buffer) => void}  Throws when that is no frame.
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
          if (rest.length > HEAD_MAX_BYTES) throw new Error('This is no output of nclust.');
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
