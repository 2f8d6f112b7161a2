// Knows: when each part of a raw log file was written, and which content a path has. Must not: read
// or write a log file itself. Start at: createTimes() writes, readTimes() reads; format.js has the
// bytes.
import { closeSync, constants, ftruncateSync, mkdirSync, openSync, renameSync, statSync, writeSync } from 'node:fs';
import {
  createMoments,
  formatHeader,
  parseHeader,
  readTimesFile,
  timesFilePath,
  VARINT_MAX_BYTES,
  writeVarint,
} from './format.js';

/** @import { Moment } from './format.js' */

/**
 * Resolution of times in ms, by the size of the times file in bytes. If a log file is never
 * rotated, its times file must still not grow without limit, because it is read as a whole.
 */
const STEPS = [
  { upToBytes: 256 * 1024, stepMs: 10 },
  { upToBytes: 1024 * 1024, stepMs: 1_000 },
  { upToBytes: Infinity, stepMs: 60_000 },
];

/** While new moments come, they are written to the file at this interval, in ms. */
const FLUSH_MS = 1_000;

/** A time further in the future than this is not valid, in ms. */
const CLOCK_MAX_MS = 7 * 24 * 3_600_000;

const BUFFER_BYTES = 4 * 1024;

const FLAGS = constants.O_WRONLY | constants.O_CREAT | constants.O_NONBLOCK;

/**
 * Stores when lines were written, because raw log files do not contain this time. Never throws.
 * @typedef {object} Times
 * @property {number} startedAtMs  Identifies the content. Later contents have larger numbers.
 * @property {(offset: number, atMs: number) => void} note
 *   Notes that the bytes from `offset` on are written at `atMs`. Called very often.
 * @property {() => void} flush
 * @property {(plainPath: string) => void} moveTo
 *   The content is a segment now; the path begins a new content.
 * @property {() => void} discard  The content is gone; the path begins a new content.
 * @property {() => void} close  Idempotent.
 */

/**
 * Continues the stored times of the path if they belong to the present content of the path.
 * Otherwise begins new times.
 * @param {string} folder
 * @param {string} path
 * @param {{ nowMs: () => number }} o
 * @returns {Times}
 */
export function createTimes(folder, path, { nowMs }) {
  const file = timesFilePath(folder, path);
  const buffer = Buffer.allocUnsafe(BUFFER_BYTES);
  let usedBytes = 0;
  const resumed = resume(file, path, nowMs());
  let { startedAtMs, last } = resumed;
  /** The part that was written to the file. 0 bytes: the file does not have the header yet. */
  let kept = { last, bytes: resumed.bytes };
  let flushedAtMs = -Infinity;

  function flush() {
    flushedAtMs = nowMs();
    if (usedBytes === 0 && kept.bytes > 0) return;
    const header = kept.bytes > 0 ? [] : [formatHeader(startedAtMs, path)];
    const bytes = Buffer.concat([...header, buffer.subarray(0, usedBytes)]);
    if (put(folder, file, bytes, kept.bytes)) kept = { last, bytes: kept.bytes + bytes.length };
    else last = kept.last; // Drops moments that could not be stored.
    usedBytes = 0;
  }

  /** @param {number} atMs */
  function begin(atMs) {
    startedAtMs = atMs;
    last = null;
    kept = { last: null, bytes: 0 };
    usedBytes = 0;
    flush();
  }

  const later = () => Math.max(nowMs(), startedAtMs + 1);

  return {
    get startedAtMs() {
      return startedAtMs;
    },
    note(offset, atMs) {
      // Stores at most one moment per step. If the clock was set back, stores no moment until it
      // reaches the last time again, because times must be in order.
      if (last && offset >= last.offset && atMs - last.atMs < chooseStep(kept.bytes)) return;
      // Another program has truncated the file.
      if (last && offset < last.offset) begin(later());
      const before = last ?? { atMs: startedAtMs, offset: 0 };
      const now = { atMs: Math.max(atMs, before.atMs), offset };
      usedBytes = writeVarint(buffer, usedBytes, now.atMs - before.atMs);
      usedBytes = writeVarint(buffer, usedBytes, now.offset - before.offset);
      last = now;
      if (usedBytes > BUFFER_BYTES - 2 * VARINT_MAX_BYTES || Math.abs(atMs - flushedAtMs) >= FLUSH_MS) flush();
    },
    flush,
    moveTo(plainPath) {
      flush();
      attempt(() => renameSync(file, timesFilePath(folder, plainPath)));
      begin(later());
    },
    discard: () => begin(later()),
    close: flush,
  };
}

/** @param {number} bytes */
function chooseStep(bytes) {
  return /** @type {typeof STEPS[number]} */ (STEPS.find(({ upToBytes }) => bytes <= upToBytes)).stepMs;
}

/**
 * @param {string} folder
 * @param {string} path  An active file, or the plain path of a segment.
 * @returns {ReadTimes | null}  Null: there are no stored times.
 */
export function readTimes(folder, path) {
  const bytes = readTimesFile(timesFilePath(folder, path));
  const header = bytes && parseHeader(bytes);
  if (!bytes || !header) return null;
  let moments = createMoments(bytes, header);
  let next = moments.next();
  /** @type {Moment | null} */
  let now = null;

  const begin = () => {
    moments = createMoments(bytes, header);
    next = moments.next();
    now = null;
  };
  const step = () => {
    now = next;
    next = moments.next();
  };

  return {
    startedAtMs: header.startedAtMs,
    atOf(offset) {
      if (now && offset < now.offset) begin();
      while (next && next.offset <= offset) step();
      return now ? now.atMs : null;
    },
    offsetOf(atMs) {
      begin();
      while (next && next.atMs < atMs) step();
      return next ? next.offset : null;
    },
  };
}

/**
 * Reads stored times. Fast if each call asks for a later offset.
 * @typedef {object} ReadTimes
 * @property {number} startedAtMs
 * @property {(offset: number) => number | null} atOf
 *   When the byte at `offset` was written. Null: before the first known moment.
 * @property {(atMs: number) => number | null} offsetOf
 *   The first offset that was written at that time or later. It may be inside a line. Null: nothing
 *   was written since that time.
 */

/**
 * Reads the stored times of a path. If they are not valid, or are about another content, returns
 * the beginning of new times.
 * @param {string} file
 * @param {string} path
 * @param {number} nowMs
 */
function resume(file, path, nowMs) {
  const bytes = readTimesFile(file);
  const header = bytes && parseHeader(bytes);
  if (!bytes || !header) return { startedAtMs: nowMs, last: null, bytes: 0 };
  const moments = createMoments(bytes, header);
  /** @type {Moment | null} */
  let last = null;
  for (let next = moments.next(); next; next = moments.next()) last = next;
  const sizeBytes = measureSize(path);
  // The times are about a truncated or replaced file, or are not valid.
  const isOther = last !== null && (sizeBytes === 0 || last.offset > sizeBytes || last.atMs > nowMs + CLOCK_MAX_MS);
  if (isOther) return { startedAtMs: Math.max(nowMs, header.startedAtMs + 1), last: null, bytes: 0 };
  return { startedAtMs: header.startedAtMs, last, bytes: moments.wholeBytes() };
}

/** @param {string} path */
function measureSize(path) {
  try {
    return statSync(path).size;
  } catch {
    return 0; // The file does not exist yet.
  }
}

/**
 * @param {string} folder
 * @param {string} file
 * @param {Buffer} bytes
 * @param {number} at
 * @returns {boolean}  Whether all bytes are in the file, and the file ends after them.
 */
function put(folder, file, bytes, at) {
  return attempt(() => {
    const fd = openOrMake(folder, file);
    try {
      ftruncateSync(fd, at);
      if (writeSync(fd, bytes, 0, bytes.length, at) < bytes.length) throw new Error('The disk is full.');
    } finally {
      closeSync(fd);
    }
  });
}

/**
 * @param {string} folder
 * @param {string} file
 */
function openOrMake(folder, file) {
  try {
    return openSync(file, FLAGS, 0o600);
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code !== 'ENOENT') throw error;
  }
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  return openSync(file, FLAGS, 0o600);
}

/** @param {() => void} act */
function attempt(act) {
  try {
    act();
    return true;
  } catch {
    return false; // On a full disk, only times are lost here, not lines.
  }
}
