import { closeSync, fstatSync, lstatSync, openSync, readSync, renameSync, rmSync, statSync, writeSync } from 'node:fs';
import { segmentPath } from '../../../lib/shared/event-log.js';

const NEWLINE = 0x0a;

/** About 40,000 events. */
const EVENT_LIMITS = { segmentBytes: 2 * 1024 * 1024, segments: 5 };

/**
 * Before the file would grow beyond the size of a segment, it is rotated to events.log.1,
 * events.log.2 and so on. Rotation removes the oldest segment. A link or a device is not rotated.
 * @typedef {object} EventFile
 * @property {(line: string) => void} append  Throws system errors. Readers skip torn lines.
 * @property {() => void} close
 */

/**
 * @param {string} path
 * @param {typeof EVENT_LIMITS} [limits]
 * @returns {EventFile}  The file is opened when the first line is written.
 */
export function openEventFile(path, { segmentBytes, segments } = EVENT_LIMITS) {
  /** @type {number | null} */
  let fd = null;
  /** Whether the last line is incomplete, because of a full disk or a crash. */
  let isTorn = false;

  function open() {
    close();
    fd = openSync(path, 'a+', 0o600);
    isTorn = endsTorn(fd);
    return fd;
  }

  function close() {
    if (fd !== null) closeSync(fd);
    fd = null;
  }

  /**
   * @returns {number | null}  Null if no file is open, if the path now leads to another file, or if
   *   the file was removed.
   */
  function openFd() {
    if (fd === null) return null;
    const [ours, named] = [fstatSync(fd), statSync(path, { throwIfNoEntry: false })];
    return ours.ino === named?.ino && ours.dev === named.dev ? fd : null;
  }

  function rotate() {
    if (!lstatSync(path, { throwIfNoEntry: false })?.isFile()) return open();
    rmSync(segmentPath(path, segments - 1), { force: true });
    for (let number = segments - 2; number >= 0; number--)
      renameIfThere(segmentPath(path, number), segmentPath(path, number + 1));
    return open();
  }

  return {
    append(line) {
      let to = openFd() ?? open();
      const { size } = fstatSync(to);
      const length = Buffer.byteLength(line) + 2;
      // Rotates before the write, so that the file does not grow if it cannot be rotated.
      if (size > 0 && size + length > segmentBytes) to = rotate();
      const bytes = Buffer.from(`${isTorn ? '\n' : ''}${line}\n`);
      isTorn = true;
      const written = writeSync(to, bytes);
      if (written < bytes.length)
        throw Object.assign(new Error('Only a part of the line was written.'), { code: 'ENOSPC' });
      isTorn = false;
    },
    close,
  };
}

/** @param {number} fd */
function endsTorn(fd) {
  const { size } = fstatSync(fd);
  if (size === 0) return false;
  const last = Buffer.alloc(1);
  readSync(fd, last, 0, 1, size - 1);
  return last[0] !== NEWLINE;
}

/**
 * @param {string} from
 * @param {string} to
 */
function renameIfThere(from, to) {
  if (statSync(from, { throwIfNoEntry: false })) renameSync(from, to);
}
