import { closeSync, constants, fstatSync, ftruncateSync, readSync } from 'node:fs';
import { dirname } from 'node:path';
import { makeFolderAsUser, openAsUser, renameAsUser, statAsUser } from '../../../../lib/shared/host/as-user.js';
import { segmentName, statFile } from '../archive/segments.js';

/** @import { User } from '../../../../lib/shared/host/user-path.js' */
/** @import { Times } from '../times/times.js' */

/** Pause after a file could not be opened or rotated, in ms. */
const RETRY_MS = 1_000;

/** Interval of checks whether another program has removed or truncated the file, in ms. */
const LOOK_EVERY_MS = 1_000;

/** A file without line ends is cut anywhere when it has this many times its maximum size. */
const ENDLESS_FACTOR = 2;

const NEWLINE = 0x0a;

/** Not blocking, so that a pipe without a reader is an error and does not block all of control. */
const FLAGS = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | constants.O_NONBLOCK;

/**
 * @typedef {{ startedAtMs: number, offset: number }} Position  `startedAtMs` identifies the content
 *   of a path.
 */

/**
 * @param {Position | null | undefined} a
 * @param {Position | null | undefined} b
 */
export function isSamePosition(a, b) {
  return a?.startedAtMs === b?.startedAtMs && a?.offset === b?.offset;
}

/**
 * Methods throw errors of the system, unless they say otherwise.
 * @typedef {object} OpenFile
 * @property {() => void} prepare  Opens a file that exists. Never throws.
 * @property {() => number} ready  Opens or checks the file. Returns the descriptor, for one write.
 * @property {() => void} rotateWhenDue  Rotates by time, but not in the middle of a line.
 * @property {(bytes: number) => Position | null} noteWritten
 *   Returns the position of the bytes. Null: not a regular file.
 * @property {(chunk: Buffer) => number} cutOf
 *   Returns the offset at which the next file should begin. 0: not in this chunk.
 * @property {() => number} catchUp  Returns the number of bytes that were not noted yet.
 * @property {() => void} rotate  Never throws, because a file that grows is better than lost lines.
 * @property {() => Position | null} position  The position of the next byte. Null: not an open
 *   regular file.
 * @property {() => void} truncate  Leaves what is not a regular file.
 * @property {() => string | null} problem  Why the last rotation failed. Null: it did not fail.
 * @property {() => void} close  Idempotent; the file is opened again on demand.
 */

/**
 * @param {object} o
 * @param {string} o.path
 * @param {() => User | null} o.user
 * @param {() => number} o.nowMs
 * @param {() => { maxSizeBytes: number, interval: LogInterval }} o.limits
 * @param {() => Times} o.openTimes
 * @param {(path: string, segment: string) => void} o.onRotated
 * @returns {OpenFile}
 */
export function createOpenFile({ path, user, nowMs, limits, openTimes, onRotated }) {
  /**
   * `begunAtMs`: when its first line was written.
   * @type {{ fd: number, sizeBytes: number, times: Times | null, begunAtMs: number } | null}
   */
  let file = null;
  /** @type {{ error: unknown, untilMs: number } | null} */
  let refused = null;
  let lookAtMs = 0;
  let dueAtMs = Infinity;
  let rotateAtMs = 0;
  let isInsideLine = false;
  let problem = '';

  function opened() {
    if (file) return file;
    if (refused && nowMs() < refused.untilMs) throw refused.error;
    try {
      const fd = openOrMake(user(), path, nowMs());
      const stat = fstatSync(fd);
      // A link that is left here leads where nclust does not follow, such as into /proc.
      const isLink = stat.isFile() && statAsUser(user(), path, { isFollowing: false })?.isSymbolicLink();
      const times = stat.isFile() && !isLink ? openTimes() : null;
      if (isLink) problem = 'it is a link';
      file = { fd, sizeBytes: stat.size, times, begunAtMs: times?.startedAtMs ?? 0 };
      refused = null;
    } catch (error) {
      refused = { error, untilMs: nowMs() + RETRY_MS };
      throw error;
    }
    lookAtMs = nowMs() + LOOK_EVERY_MS;
    dueAtMs = getDue(file);
    return file;
  }

  /** @param {NonNullable<typeof file>} of */
  function getDue({ times, begunAtMs }) {
    return times ? rotationDue(limits().interval, begunAtMs) : Infinity;
  }

  function close() {
    refused = null;
    problem = '';
    if (!file) return;
    file.times?.close();
    closeSync(file.fd);
    file = null;
  }

  /**
   * Closes a removed file to free its space. Reads the size again, because another program may have
   * truncated the file.
   */
  function look() {
    const { fd } = opened();
    const stat = fstatSync(fd);
    lookAtMs = nowMs() + LOOK_EVERY_MS;
    if (stat.nlink === 0) close();
    else if (file) file.sizeBytes = stat.size;
    if (file) dueAtMs = getDue(file);
  }

  function rotate() {
    const now = opened();
    if (!now.times || now.sizeBytes === 0) return;
    let segment;
    try {
      segment = segmentName(path, nowMs(), user());
      renameAsUser(user(), path, segment);
    } catch (error) {
      problem = /** @type {NodeJS.ErrnoException} */ (error).code ?? String(error);
      rotateAtMs = nowMs() + RETRY_MS;
      return;
    }
    now.times.moveTo(segment);
    close();
    onRotated(path, segment);
    // Creates the next file at once, for programs that read or tail the path.
    tryToOpen();
  }

  function tryToOpen() {
    try {
      opened();
    } catch {
      // The next write reports the error.
    }
  }

  const isDue = () => nowMs() >= dueAtMs && nowMs() >= rotateAtMs;

  return {
    prepare() {
      if (!file && statFile(path, user())) tryToOpen();
    },
    ready() {
      if (nowMs() >= lookAtMs) look();
      return opened().fd;
    },
    rotateWhenDue() {
      if (isDue() && !isInsideLine) rotate();
    },
    noteWritten(bytes) {
      const now = opened();
      if (now.sizeBytes === 0) {
        now.begunAtMs = nowMs();
        dueAtMs = getDue(now);
      }
      // If another program has truncated the file, a new content begins here.
      now.times?.note(now.sizeBytes, nowMs());
      const at = getPosition(now);
      now.sizeBytes += bytes;
      return at;
    },
    cutOf(chunk) {
      const { sizeBytes, times } = opened();
      const { maxSizeBytes } = limits();
      // If a rotation is due inside a line, the next file begins after this line.
      const lineEnd = isInsideLine && isDue() ? chunk.indexOf(NEWLINE) + 1 : 0;
      isInsideLine = chunk[chunk.length - 1] !== NEWLINE;
      if (lineEnd > 0) return lineEnd;
      if (!times || nowMs() < rotateAtMs || sizeBytes + chunk.length < maxSizeBytes) return 0;
      const afterLine = chunk.lastIndexOf(NEWLINE) + 1;
      return afterLine > 0 || sizeBytes < ENDLESS_FACTOR * maxSizeBytes ? afterLine : chunk.length;
    },
    catchUp() {
      const now = opened();
      const before = now.sizeBytes;
      const stat = fstatSync(now.fd);
      if (stat.isFile()) now.sizeBytes = stat.size;
      return Math.max(0, now.sizeBytes - before);
    },
    rotate,
    position() {
      // Writes the times first, because the caller reads the file and its times next.
      file?.times?.flush();
      return file ? getPosition(file) : null;
    },
    truncate() {
      const now = opened();
      if (!now.times) return;
      ftruncateSync(now.fd, 0);
      now.sizeBytes = 0;
      now.times.discard();
    },
    problem: () =>
      problem ? `The log file "${path}" cannot be rotated (${problem}) and grows beyond its limit.` : null,
    close,
  };
}

/**
 * @param {{ sizeBytes: number, times: Times | null }} file
 * @returns {Position | null}
 */
function getPosition({ sizeBytes, times }) {
  return times ? { startedAtMs: times.startedAtMs, offset: sizeBytes } : null;
}

/**
 * @param {User | null} user
 * @param {string} path
 * @param {number} nowMs
 */
function openOrMake(user, path, nowMs) {
  try {
    return openAsUser(user, path, FLAGS);
  } catch (error) {
    const { code } = /** @type {NodeJS.ErrnoException} */ (error);
    if (code === 'ENOENT') makeFolderAsUser(user, dirname(path));
    // Earlier versions made the file as root. The app's user cannot write to the file, but can
    // rename it if the folder belongs to the user.
    else if (code === 'EACCES' && user && statAsUser(user, path, { isFollowing: false })?.isFile())
      renameAsUser(user, path, segmentName(path, nowMs, user));
    else throw error;
  }
  return openAsUser(user, path, FLAGS);
}

/** A longer unfinished line is not read, because all apps are read while control starts. */
const UNFINISHED_MAX_BYTES = 1024 * 1024;

/**
 * @param {string} path
 * @param {User | null} user
 * @param {number} sizeBytes  The size of the file.
 * @returns {Buffer}  The unfinished line at the end of the file. Empty if it is longer than 1 MiB, or
 *   if the file is not readable.
 */
export function readUnfinishedLine(path, user, sizeBytes) {
  try {
    const fd = openAsUser(user, path, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      return lastLine(fd, sizeBytes);
    } finally {
      closeSync(fd);
    }
  } catch {
    return Buffer.alloc(0);
  }
}

/**
 * @param {number} fd
 * @param {number} sizeBytes
 */
function lastLine(fd, sizeBytes) {
  // Usually the last byte is a line end.
  for (let size = 1; ; size *= 16) {
    const bytes = Buffer.alloc(Math.min(size, sizeBytes));
    readSync(fd, bytes, 0, bytes.length, sizeBytes - bytes.length);
    const newline = bytes.lastIndexOf(NEWLINE);
    if (newline !== -1 || size >= sizeBytes) return bytes.subarray(newline + 1);
    if (size >= UNFINISHED_MAX_BYTES) return Buffer.alloc(0);
  }
}

/** @typedef {'hourly' | 'daily' | 'weekly' | 'never'} LogInterval */

/**
 * The next full hour, midnight, or midnight before Monday, in local time.
 * @param {LogInterval} interval
 * @param {number} startedAtMs
 * @returns {number}  In ms; Infinity for never.
 */
export function rotationDue(interval, startedAtMs) {
  const at = new Date(startedAtMs);
  if (interval === 'hourly') return at.setHours(at.getHours() + 1, 0, 0, 0);
  if (interval === 'daily') return at.setHours(24, 0, 0, 0);
  // Sunday is 0, and a week begins with Monday.
  if (interval === 'weekly') return at.setHours(24 * (7 - ((at.getDay() + 6) % 7)), 0, 0, 0);
  return Infinity;
}
