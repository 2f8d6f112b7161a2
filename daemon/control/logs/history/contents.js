import { closeSync, constants, createReadStream, fstatSync, openSync, readSync, statSync } from 'node:fs';
import * as zlib from 'node:zlib';
import { readSegments, readSegmentsOf } from '../archive/segments.js';
import { readStartedAt, timesFileOf } from '../times/format.js';

/** @import { Stats } from 'node:fs' */
/** @import { Transform } from 'node:stream' */
/** @import { Compression, Segment } from '../archive/segments.js' */
/** @import { Position } from '../write/open-file.js' */

/**
 * What one file holds or held: the active one or a segment. A path has a row of them.
 * @typedef {object} Content
 * @property {string} file  Where it is now.
 * @property {string} plainPath  What its times are kept under.
 * @property {Compression | null} compression
 * @property {number} startedAtMs  Its identity.
 * @property {number | null} endedAtMs  Null: it is the active one.
 */

/**
 * What history needs to know of the machine.
 * @typedef {object} Shelf
 * @property {string} timesFolder
 * @property {(path: string) => Position | null} positionOf  Where the next byte will be, of a file
 *   that is being written to now.
 */

/** The identity of an active file that has no times: there is only one. */
export const UNKNOWN = 0;

/**
 * @param {string} path
 * @param {Shelf} shelf
 * @returns {Content | null}  Null when there is no such file, or no regular one.
 */
function activeContent(path, { timesFolder, positionOf }) {
  if (!isFile(path)) return null;
  const startedAtMs = positionOf(path)?.startedAtMs ?? readStartedAt(timesFileOf(timesFolder, path)) ?? UNKNOWN;
  return { file: path, plainPath: path, compression: null, startedAtMs, endedAtMs: null };
}

/**
 * The segments of a path. One without times is known by when it ended: then its identity is that
 * number, negative.
 * @param {string} path
 * @param {Shelf} shelf
 * @param {Segment[]} [segments]  Where they have been looked for.
 * @returns {Content[]}  Oldest first.
 */
function olderContents(path, { timesFolder }, segments = readSegments(path)) {
  return segments.map(({ path: file, plainPath, compression, endedAtMs }) => {
    const startedAtMs = readStartedAt(timesFileOf(timesFolder, plainPath)) ?? -endedAtMs;
    return { file, plainPath, compression, startedAtMs, endedAtMs };
  });
}

/**
 * Looks for segments when the first of them is asked for, then for those of all paths at once: a
 * folder with a thousand files is slow to read.
 * @param {string[]} paths
 * @returns {(path: string) => Segment[]}
 */
export function createSegmentList(paths) {
  /** @type {Map<string, Segment[]> | null} */
  let list = null;
  return (path) => {
    list ??= readSegmentsOf(paths);
    return list.get(path) ?? [];
  };
}

/**
 * Everything of a path, newest first.
 * @param {string} path
 * @param {Shelf} shelf
 * @param {(path: string) => Segment[]} segmentsOf  Asked for when the active one is not enough:
 *   most who look want the last lines.
 * @returns {Generator<Content, void, void>}
 */
export function* backwards(path, shelf, segmentsOf) {
  const active = activeContent(path, shelf);
  if (active) yield active;
  yield* olderContents(path, shelf, segmentsOf(path)).reverse();
}

/**
 * Where a path ends now.
 * @param {string} path
 * @param {Shelf} shelf
 * @returns {Position}
 */
export function endOf(path, shelf) {
  const position = shelf.positionOf(path);
  if (position) return { ...position };
  const active = activeContent(path, shelf);
  const sizeBytes = active ? sizeOf(path) : 0;
  if (active && (sizeBytes > 0 || active.startedAtMs !== UNKNOWN))
    return { startedAtMs: active.startedAtMs, offset: sizeBytes };
  const last = olderContents(path, shelf).at(-1);
  return last
    ? { startedAtMs: last.startedAtMs, offset: Number.MAX_SAFE_INTEGER }
    : { startedAtMs: UNKNOWN, offset: 0 };
}

/**
 * The content that a position is in.
 * @param {string} path
 * @param {Position} position
 * @param {Shelf} shelf
 * @returns {{ content: Content | null, isGap: boolean }}  What comes after it, and a gap, when it
 *   is gone. Null: nothing does.
 */
export function findContent(path, { startedAtMs, offset }, shelf) {
  const active = activeContent(path, shelf);
  if (active?.startedAtMs === startedAtMs) return { content: active, isGap: false };
  const older = olderContents(path, shelf);
  const found = older.find((one) => one.startedAtMs === startedAtMs);
  if (found) return { content: found, isGap: false };
  // There was nothing, or its times have been begun since.
  if (startedAtMs === UNKNOWN) return { content: (offset === 0 ? older[0] : null) ?? active, isGap: false };
  return { content: firstAfter(older, startedAtMs) ?? active, isGap: true };
}

/**
 * @param {string} path
 * @param {number} startedAtMs
 * @param {Shelf} shelf
 * @returns {{ content: Content | null, isGap: boolean }}  Null: this is the last one there is.
 */
export function contentAfter(path, startedAtMs, shelf) {
  const active = activeContent(path, shelf);
  if (active?.startedAtMs === startedAtMs) return { content: null, isGap: false };
  const older = olderContents(path, shelf);
  const at = older.findIndex((one) => one.startedAtMs === startedAtMs);
  if (at !== -1) return { content: older[at + 1] ?? active, isGap: false };
  const content = firstAfter(older, startedAtMs) ?? active;
  return { content, isGap: content !== null };
}

/**
 * @param {Content[]} older
 * @param {number} startedAtMs
 */
function firstAfter(older, startedAtMs) {
  const afterMs = Math.abs(startedAtMs);
  return older.find((one) =>
    one.startedAtMs > 0 ? one.startedAtMs > afterMs : /** @type {number} */ (one.endedAtMs) > afterMs,
  );
}

/** @param {string} path */
function isFile(path) {
  return statOf(path)?.isFile() ?? false;
}

/** @param {string} path */
function sizeOf(path) {
  return statOf(path)?.size ?? 0;
}

/** @param {string} path */
function statOf(path) {
  try {
    return statSync(path);
  } catch {
    return null; // It is not there, or we may not look: there is nothing to show.
  }
}

const CHUNK_BYTES = 64 * 1024;

const NEWLINE = 0x0a;

/** Many segments may be decompressed at the same time. */
const STREAM_BYTES = 16 * 1024;

/**
 * Not blocking: where somebody has put a pipe, open(2) would wait for a writer and all of control
 * with it.
 */
const FLAGS = constants.O_RDONLY | constants.O_NONBLOCK;

/** @type {Record<string, (() => Transform) | undefined>} */
const DECOMPRESSORS = {
  gzip: () => zlib.createGunzip({ chunkSize: STREAM_BYTES }),
  zstd: /** @type {any} */ (zlib).createZstdDecompress,
};

/**
 * Reads a content forward, in chunks of at most 64 KiB.
 * @typedef {object} ContentReader
 * @property {(maxBytes: number) => Promise<Buffer | null> | Buffer | null} read  At most so many;
 *   valid until the next read. Null: there is no more now, and of a segment, never.
 * @property {() => boolean} isTorn  What there is ended before it should.
 * @property {() => Stats} stat  Of the file, under whatever name it is now.
 * @property {(into: Buffer, at: number) => Buffer} readAt  Of a plain file: what there is of so
 *   many bytes, in this turn.
 * @property {() => void} close  Idempotent.
 */

/**
 * @param {Content} content
 * @param {number} offset  In what the app wrote, compressed or not.
 * @returns {ContentReader}  Throws what open(2) says.
 */
function openContent({ file, compression }, offset) {
  return compression ? openCompressed(file, compression, offset) : openPlain(file, offset);
}

/**
 * @param {Content} content
 * @param {number} offset
 * @returns {ContentReader | null}  Null when it is not there any more, or not for us.
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
function openPlain(file, offset) {
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
  /** @type {Buffer | null} */
  let rest = null;

  /** @returns {Promise<Buffer | null>} */
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

/**
 * Where a line of a log file begins or ends.
 * @typedef {{ path: string } & Position} Mark
 */

/**
 * How far a client has got, by path: what comes after it is new to it.
 * @typedef {Record<string, Position>} Cursor
 */

/** Under this name a cursor tells when it was made, for files that were not there yet. */
export const MADE_AT = '';
