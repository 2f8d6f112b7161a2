import { closeSync, constants, mkdirSync, openSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';

/** How long a file that could not be opened is left alone, in ms. */
const RETRY_MS = 1_000;
const NEWLINE = 0x0a;

/** How long a loss is told about after the last of it, in ms: every command shows it. */
const TOLD_MS = 3_600_000;

/** Not blocking, so that a path that is a pipe without a reader is an error and not a halt of everything. */
const FLAGS = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | constants.O_NONBLOCK;

/**
 * A log file. Appends are on the way to the disk when write() returns; what cannot be written is lost, counted and told, because the app must not wait for it.
 * @typedef {object} LogFile
 * @property {(chunk: Buffer) => void} write  Never throws.
 * @property {() => string|null} notice  What went wrong, for people.
 * @property {() => void} close  Idempotent; a later write opens it again.
 */

/**
 * @param {string} path
 * @param {() => number} nowMs
 * @returns {LogFile}
 */
export function createLogFile(path, nowMs) {
  /** @type {number|null} */
  let fd = null;
  let retryAtMs = 0;
  let lostLines = 0;
  let lostBytes = 0;
  let reason = '';
  let lostAtMs = 0;
  let isFailing = false;
  let isClosed = false;

  /** @param {Buffer} rest @param {unknown} error */
  function lose(rest, error) {
    isFailing = true;
    lostAtMs = nowMs();
    reason = /** @type {NodeJS.ErrnoException} */ (error).code ?? String(error);
    lostBytes += rest.length;
    lostLines += countLines(rest);
  }

  function open() {
    if (nowMs() < retryAtMs) throw Object.assign(new Error(reason), { code: reason });
    retryAtMs = nowMs() + RETRY_MS;
    try {
      return openSync(path, FLAGS, 0o600);
    } catch (error) {
      if (/** @type {NodeJS.ErrnoException} */ (error).code !== 'ENOENT') throw error;
    }
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    return openSync(path, FLAGS, 0o600);
  }

  return {
    write(chunk) {
      isClosed = false;
      let from = 0;
      try {
        fd ??= open();
        while (from < chunk.length) from += writeSync(fd, chunk, from);
        isFailing = false;
      } catch (error) {
        lose(chunk.subarray(from), error);
      }
    },
    notice() {
      if (lostBytes === 0 || nowMs() - lostAtMs > TOLD_MS) return null;
      const lost = `${lostLines} lines (${lostBytes} bytes) could not be written to the log file "${path}" (${reason}) and are lost`;
      if (isClosed) return `${lost}.`;
      return isFailing ? `${lost}; it goes on as soon as it can.` : `${lost}; it is being written again.`;
    },
    close() {
      if (fd !== null) closeSync(fd);
      fd = null;
      isClosed = true;
      retryAtMs = 0;
    },
  };
}

/** @param {Buffer} bytes */
function countLines(bytes) {
  let count = 0;
  for (let at = bytes.indexOf(NEWLINE); at !== -1; at = bytes.indexOf(NEWLINE, at + 1)) count++;
  return count;
}
