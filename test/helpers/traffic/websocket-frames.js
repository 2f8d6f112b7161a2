import { randomBytes } from 'node:crypto';

// A client with short messages needs only this part of RFC 6455.

export const TEXT = 1;
export const CLOSE = 8;

/**
 * @param {number} opcode
 * @param {Buffer} payload  At most 125 bytes.
 * @returns {Buffer}
 */
export function encodeFrame(opcode, payload) {
  const mask = randomBytes(4);
  return Buffer.concat([
    Buffer.from([0x80 | opcode, 0x80 | payload.length]),
    mask,
    Buffer.from(payload.map((byte, i) => byte ^ mask[i % 4])),
  ]);
}

/**
 * @param {Buffer} buffer  Frames of a server are not masked.
 * @returns {{ opcode: number, payload: Buffer, bytes: number } | null}  Null: the buffer does not
 *   contain a whole frame.
 */
export function decodeFrame(buffer) {
  if (buffer.length < 2) return null;
  const short = buffer[1] & 127;
  const head = short === 126 ? 4 : 2;
  if (short === 127) throw new Error('A frame longer than 64 KiB: nobody sends those here.');
  if (buffer.length < head) return null;
  const bytes = head + (short === 126 ? buffer.readUInt16BE(2) : short);
  return buffer.length < bytes ? null : { opcode: buffer[0] & 15, payload: buffer.subarray(head, bytes), bytes };
}
