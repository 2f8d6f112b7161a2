// Knows: how the bytes of one content are read, plain or compressed, and when they were written.
// Must not: know which contents a path has; contents.js does.
// Start at: openContent(), then openPlain() and openCompressed().
import { closeSync, constants, createReadStream, fstatSync, readSync } from 'node:fs';
import * as zlib from 'node:zlib';
import { openAsUser } from '../../../../lib/shared/host/as-user.js';
import { readTimes } from '../times/times.js';

/** @import { Stats } from 'node:fs' */
/** @import { Transform } from 'node:stream' */
/** @import { Content } from './contents.js' */

const BLOCK_BYTES = 64 * 1024;

const NEWLINE = 0x0a;

/** Small, because many segments may be decompressed at the same time. */
const STREAM_BYTES = 16 * 1024;

/** Not blocking, because open(2) of a pipe that a user put there would block all of control. */
const FLAGS = constants.O_RDONLY | constants.O_NONBLOCK;

/** @type {Record<string, (() => Transform) | undefined>} */
const DECOMPRESSORS = {
  gzip: () => zlib.createGunzip({ chunkSize: STREAM_BYTES }),
  zstd: /** @type {any} */ (zlib).createZstdDecompress,
};

/**
 * @typedef {object} ContentReader
 * @property {(maxBytes: number) => Promise<Buffer | null>} read
 *   Reads the next block, which is valid until the next read. Null: there are no bytes now; in a
 *   segment, no bytes will come later either.
 * @property {((maxBytes: number) => Buffer | null) | null} readNow
 *   Like read(), but in this turn of the event loop. Null for a compressed content.
 * @property {() => boolean} isTorn  Whether a read has found that the compressed file is
 *   incomplete or damaged.
 * @property {() => Stats} stat  Reads the state of the open file, even after a rename.
 * @property {(into: Buffer, at: number) => Buffer} readAt
 *   Fills the buffer in this turn with the available bytes. Empty for a compressed content.
 * @property {() => void} close  Idempotent.
 */

/**
 * @typedef {{ atMs: number | null, sortMs: number }} WrittenAt  When a line was written. `sortMs`:
 *   the same time. If the time is not known: when the file was rotated or last changed.
 */

/**
 * @param {Content} content
 * @param {number} offset  Counts the bytes that the app wrote, even if the file is compressed.
 * @returns {ContentReader | null}  Null: the file is gone or not readable, or this Node.js cannot
 *   decompress it.
 */
export function openContent({ file, user, compression }, offset) {
  const create = compression === null ? null : DECOMPRESSORS[compression];
  if (create === undefined) return null; // This Node.js cannot decompress it.
  try {
    const fd = openAsUser(user, file, FLAGS);
    return create ? openCompressed(fd, create, offset) : openPlain(fd, offset);
  } catch {
    return null;
  }
}

/**
 * @param {Content} content
 * @param {ContentReader} reader
 * @param {string} timesFolder
 * @returns {(offset: number) => WrittenAt}
 */
export function readLineTimes({ plainPath, startedAtMs, endedAtMs }, reader, timesFolder) {
  const found = readTimes(timesFolder, plainPath);
  const times = found?.startedAtMs === startedAtMs ? found : null;
  const fallbackMs = endedAtMs ?? Math.floor(reader.stat().mtimeMs);
  return (offset) => {
    const atMs = times?.atOf(offset) ?? null;
    return { atMs, sortMs: atMs ?? fallbackMs };
  };
}

/**
 * @param {ContentReader} reader
 * @param {number} offset
 * @returns {boolean}  False for a compressed content, because we cannot know.
 */
export function isInsideLine(reader, offset) {
  const before = offset === 0 ? null : reader.readAt(Buffer.allocUnsafe(1), offset - 1);
  return before !== null && before.length === 1 && before[0] !== NEWLINE;
}

/**
 * Reads synchronously, because the system still has recently written bytes in memory.
 * @param {number} fd  The reader closes it.
 * @param {number} offset
 * @returns {ContentReader}
 */
function openPlain(fd, offset) {
  const buffer = Buffer.allocUnsafe(BLOCK_BYTES);
  let at = offset;
  let isOpen = true;

  /** @param {number} maxBytes */
  function readNow(maxBytes) {
    const bytes = readSync(fd, buffer, 0, Math.min(maxBytes, BLOCK_BYTES), at);
    at += bytes;
    return bytes === 0 ? null : buffer.subarray(0, bytes);
  }

  return {
    read: async (maxBytes) => readNow(maxBytes),
    readNow,
    isTorn: () => false,
    readAt(into, from) {
      let bytes = 0;
      for (let more = -1; more !== 0 && bytes < into.length; bytes += more)
        more = readSync(fd, into, bytes, into.length - bytes, from + bytes);
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
 * An incomplete or damaged file ends at its first wrong byte.
 * @param {number} fd  The reader closes it.
 * @param {() => Transform} create
 * @param {number} offset
 * @returns {ContentReader}
 */
function openCompressed(fd, create, offset) {
  const source = createReadStream('', { fd, highWaterMark: STREAM_BYTES });
  const plain = source.pipe(create());
  source.on('error', (error) => plain.destroy(error));
  plain.on('error', () => {}); // The iterator throws this error at the next read.
  const blocks = plain[Symbol.asyncIterator]();
  let skipBytes = offset;
  let isTorn = false;
  /** @type {Buffer | null} */
  let rest = null;

  /** @returns {Promise<Buffer | null>} */
  async function next() {
    try {
      const { value, done } = await blocks.next();
      return done ? null : value;
    } catch {
      // The file is incomplete or damaged. All bytes before the fault have been read.
      isTorn = true;
      return null;
    }
  }

  return {
    async read(maxBytes) {
      while (!rest) {
        const block = await next();
        if (!block) return null;
        const skipped = Math.min(skipBytes, block.length);
        skipBytes -= skipped;
        if (skipped < block.length) rest = block.subarray(skipped);
      }
      const taken = rest.subarray(0, maxBytes);
      rest = taken.length < rest.length ? rest.subarray(taken.length) : null;
      return taken;
    },
    readNow: null,
    isTorn: () => isTorn,
    readAt: (into) => into.subarray(0, 0),
    stat: () => fstatSync(fd),
    close() {
      source.destroy();
      plain.destroy();
    },
  };
}
