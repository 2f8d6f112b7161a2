import { closeSync, constants, createReadStream, fstatSync, openSync, readSync } from 'node:fs';
import * as zlib from 'node:zlib';

/** @import { Content } from './contents.js' */

export const CHUNK_BYTES = 64 * 1024;

const NEWLINE = 0x0a;

/** Many segments may be decompressed at the same time. */
const STREAM_BYTES = 16 * 1024;

/** Not blocking: where somebody has put a pipe, open(2) would wait for a writer and all of control with it. */
const FLAGS = constants.O_RDONLY | constants.O_NONBLOCK;

/** @type {Record<string, (() => import('node:stream').Transform)|undefined>} */
const DECOMPRESSORS = { gzip: () => zlib.createGunzip({ chunkSize: STREAM_BYTES }), zstd: /** @type {any} */ (zlib).createZstdDecompress };

/**
 * Reads a content forward, in chunks of at most 64 KiB.
 * @typedef {object} ContentReader
 * @property {(maxBytes: number) => Promise<Buffer|null>|Buffer|null} read  At most so many; valid until the next read. Null: there is no more now, and of a segment, never.
 * @property {() => boolean} isTorn  What there is ended before it should.
 * @property {() => import('node:fs').Stats} stat  Of the file, under whatever name it is now.
 * @property {(into: Buffer, at: number) => Buffer} readAt  Of a plain file: what there is of so many bytes, in this turn.
 * @property {() => void} close  Idempotent.
 */

/**
 * @param {Content} content
 * @param {number} offset  In what the app wrote, compressed or not.
 * @returns {ContentReader}  Throws what open(2) says.
 */
export function openContent({ file, compression }, offset) {
  return compression ? openCompressed(file, compression, offset) : openPlain(file, offset);
}

/**
 * @param {Content} content
 * @param {number} offset
 * @returns {ContentReader|null}  Null when it is not there any more, or not for us.
 */
export function tryOpenContent(content, offset) {
  try {
    return openContent(content, offset);
  } catch {
    return null;
  }
}

/**
 * @param {ContentReader} reader
 * @param {number} offset
 * @returns {boolean}  Whether a line goes on there. Of a compressed content nobody knows: no.
 */
export function isInsideLine(reader, offset) {
  const before = offset === 0 ? null : reader.readAt(Buffer.allocUnsafe(1), offset - 1);
  return before !== null && before.length === 1 && before[0] !== NEWLINE;
}

/**
 * Reads at once: what was written a moment ago comes from memory.
 * @param {string} file
 * @param {number} offset
 * @returns {ContentReader}
 */
export function openPlain(file, offset) {
  const fd = openSync(file, FLAGS);
  const buffer = Buffer.allocUnsafe(CHUNK_BYTES);
  let at = offset;
  let isOpen = true;
  return {
    read(maxBytes) {
      const bytes = readSync(fd, buffer, 0, Math.min(maxBytes, CHUNK_BYTES), at);
      at += bytes;
      return bytes === 0 ? null : buffer.subarray(0, bytes);
    },
    isTorn: () => false,
    readAt(into, from) {
      let bytes = 0;
      for (let more = -1; more !== 0 && bytes < into.length; bytes += more) more = readSync(fd, into, bytes, into.length - bytes, from + bytes);
      return into.subarray(0, bytes);
    },
    stat: () => fstatSync(fd),
    close() {
      if (isOpen) closeSync(fd);
      isOpen = false;
    },
  };
}

/**
 * Decompresses as it reads. What is torn or garbage ends where it is no longer right.
 * @param {string} file
 * @param {string} compression
 * @param {number} offset
 * @returns {ContentReader}
 */
function openCompressed(file, compression, offset) {
  const create = DECOMPRESSORS[compression];
  if (!create) throw new Error(`This Node.js cannot read ${compression}.`);
  const fd = openSync(file, FLAGS);
  const source = createReadStream(file, { fd, highWaterMark: STREAM_BYTES });
  const plain = source.pipe(create());
  source.on('error', (error) => plain.destroy(error));
  plain.on('error', () => {}); // The iterator says so, once it is asked.
  const chunks = plain[Symbol.asyncIterator]();
  let skipBytes = offset;
  let isTorn = false;
  /** @type {Buffer|null} */
  let rest = null;

  /** @returns {Promise<Buffer|null>} */
  async function next() {
    try {
      const { value, done } = await chunks.next();
      return done ? null : value;
    } catch {
      isTorn = true; // Or garbage: what was right has been read.
      return null;
    }
  }

  return {
    async read(maxBytes) {
      while (!rest) {
        const chunk = await next();
        if (!chunk) return null;
        const skipped = Math.min(skipBytes, chunk.length);
        skipBytes -= skipped;
        if (skipped < chunk.length) rest = chunk.subarray(skipped);
      }
      const taken = rest.subarray(0, maxBytes);
      rest = taken.length < rest.length ? rest.subarray(taken.length) : null;
      return taken;
    },
    isTorn: () => isTorn,
    readAt: (into) => into.subarray(0, 0),
    stat: () => fstatSync(fd),
    close() {
      source.destroy();
      plain.destroy();
    },
  };
}
