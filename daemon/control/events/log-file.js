import { closeSync, fstatSync, openSync, readSync, renameSync, rmSync, statSync, writeSync } from 'node:fs';
import { segmentPath } from '../../../lib/shared/event-log.js';

const NEWLINE = 0x0a;

/** How much is kept: some 40,000 events. */
const EVENT_LIMITS = { segmentBytes: 2 * 1024 * 1024, segments: 5 };

/**
 * A file of lines that is rotated before it is larger than a segment may be: events.log,
 * events.log.1 and so on; the oldest is dropped.
 * @typedef {object} EventFile
 * @property {(line: string) => void} append  Without its newline. Throws what the system says; then
 *   the line is not there, or its beginning, which nobody takes for an entry.
 * @property {() => void} close
 */

/**
 * @param {string} path
 * @param {typeof EVENT_LIMITS} [limits]
 * @returns {EventFile}  Opened when the first line comes.
 */
export function openEventFile(path, { segmentBytes, segments } = EVENT_LIMITS) {
  /** @type {number | null} */
  let fd = null;
  /** The last line has no end: it was cut off, by a full disk or by a death. */
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

  /** @returns {number | null}  Null when the name leads to another file by now, or to none. */
  function openFd() {
    if (fd === null) return null;
    const [ours, named] = [fstatSync(fd), statSync(path, { throwIfNoEntry: false })];
    return ours.ino === named?.ino && ours.dev === named.dev ? fd : null;
  }

  function rotate() {
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
      // Before it is written: what cannot be rotated does not grow either.
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
