import { createHash } from 'node:crypto';
import { closeSync, constants, openSync, readFileSync, readSync } from 'node:fs';
import { join, resolve } from 'node:path';

// A times file has one line of text, and then pairs of numbers. A pair has the difference to the
// previous pair in ms, and the difference in bytes.

const HEADER = /^nclust-times 1 (\d{1,15}) "/;

/** A path has at most 4096 bytes. In JSON, it can have six times as many bytes. */
const HEADER_MAX_BYTES = 32 * 1024;

const NEWLINE = 0x0a;

/** O_NONBLOCK, because otherwise a named pipe at the path would block control. */
const READ = constants.O_RDONLY | constants.O_NONBLOCK;

/**
 * @typedef {{ atMs: number, offset: number }} Moment  The bytes from `offset` up to the offset
 *   of the next moment were written at `atMs`.
 */

/**
 * @param {string} folder
 * @param {string} path  An active file, or the plain path of a segment.
 */
export function timesFilePath(folder, path) {
  return join(folder, createHash('sha1').update(resolve(path)).digest('hex').slice(0, 16));
}

/**
 * @param {number} startedAtMs
 * @param {string} path  Stored for people who find the file.
 * @returns {Buffer}
 */
export function formatHeader(startedAtMs, path) {
  return Buffer.from(`nclust-times 1 ${startedAtMs} ${JSON.stringify(path)}\n`);
}

/**
 * @param {Buffer} bytes
 * @returns {{ startedAtMs: number, headerBytes: number } | null}  Null if it is not a times file.
 */
export function parseHeader(bytes) {
  const end = bytes.subarray(0, HEADER_MAX_BYTES).indexOf(NEWLINE);
  const match = end === -1 ? null : HEADER.exec(bytes.toString('latin1', 0, end));
  return match ? { startedAtMs: Number(match[1]), headerBytes: end + 1 } : null;
}

/**
 * @param {string} file
 * @returns {Buffer | null}  Null if it cannot be read.
 */
export function readTimesFile(file) {
  try {
    return readFileSync(file);
  } catch {
    return null; // If the file cannot be read, the times are not known.
  }
}

/**
 * @param {string} file
 * @returns {number | null}  Null if the file cannot be read, or is not a times file.
 */
export function readStartedAt(file) {
  let fd = null;
  try {
    fd = openSync(file, READ);
    const head = Buffer.alloc(64);
    const bytes = readSync(fd, head, 0, head.length, 0);
    const match = HEADER.exec(head.toString('latin1', 0, bytes));
    return match ? Number(match[1]) : null;
  } catch {
    return null; // For example, the path is a folder.
  } finally {
    if (fd !== null) closeSync(fd);
  }
}

/**
 * Reads the moments of a times file. Skips an incomplete pair at the end.
 * @param {Buffer} bytes
 * @param {{ startedAtMs: number, headerBytes: number }} header
 */
export function createMoments(bytes, { startedAtMs, headerBytes }) {
  const reader = createVarintReader(bytes, headerBytes);
  let atMs = startedAtMs;
  let offset = 0;
  let wholeBytes = headerBytes;
  return {
    /** Size of the header and of the pairs that next() has read. */
    wholeBytes: () => wholeBytes,
    /** @returns {Moment | null} */
    next() {
      const deltaMs = reader.next();
      const deltaBytes = deltaMs === null ? null : reader.next();
      if (deltaMs === null || deltaBytes === null) return null;
      wholeBytes = reader.at();
      atMs += deltaMs;
      offset += deltaBytes;
      return { atMs, offset };
    },
  };
}

// A whole number has seven bits in each byte. The eighth bit is set in all bytes except the last.

const SEVEN_BITS = 0x80;

/** 8 bytes have room for numbers below 2^56. File sizes and times in ms are smaller. */
export const VARINT_MAX_BYTES = 8;

/**
 * @param {Buffer} into
 * @param {number} at
 * @param {number} value  0 or more.
 * @returns {number}  The offset after the number.
 */
export function writeVarint(into, at, value) {
  let rest = value;
  let to = at;
  while (rest >= SEVEN_BITS) {
    into[to++] = (rest % SEVEN_BITS) | SEVEN_BITS;
    rest = Math.floor(rest / SEVEN_BITS);
  }
  into[to++] = rest;
  return to;
}

/**
 * @param {Buffer} bytes
 * @param {number} [from]
 */
function createVarintReader(bytes, from = 0) {
  let at = from;
  return {
    /** The offset of the next number. */
    at: () => at,
    /** @returns {number | null}  Null: the next number is missing, incomplete or too large. */
    next() {
      let value = 0;
      let factor = 1;
      for (let to = at; to < bytes.length && to - at < VARINT_MAX_BYTES; to++) {
        value += (bytes[to] % SEVEN_BITS) * factor;
        factor *= SEVEN_BITS;
        if (bytes[to] >= SEVEN_BITS) continue;
        if (!Number.isSafeInteger(value)) return null;
        at = to + 1;
        return value;
      }
      return null;
    },
  };
}
