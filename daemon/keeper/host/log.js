import { closeSync, fstatSync, openSync, statSync, writeSync } from 'node:fs';
import { jsonLine } from '../../../lib/shared/daemon/json-line.js';

/** @typedef {(event: string, data?: Record<string, unknown>) => void} Log */

const STDERR_FD = 2;

let lostLines = 0;
/** @type {string | null} */
let path = null;

/**
 * Opens the log by name for each line, because control rotates the log. If stderr is not this file,
 * writes to stderr.
 * @param {string} file
 */
export function logTo(file) {
  const [ours, named] = [fstatSync(STDERR_FD), statSync(file, { throwIfNoEntry: false })];
  if (ours.ino === named?.ino && ours.dev === named.dev) path = file;
}

/** After a failed write, the next line reports the number of lost lines. @type {Log} */
export function log(event, data = {}) {
  const line = jsonLine({
    at: new Date().toISOString(),
    from: 'keeper',
    event,
    ...(lostLines > 0 ? { lostLines } : {}),
    ...data,
  });
  try {
    append(line + '\n');
    lostLines = 0;
  } catch {
    lostLines += 1;
  }
}

/** @param {string} text */
function append(text) {
  const fd = path === null ? STDERR_FD : openSync(path, 'a', 0o600);
  try {
    writeSync(fd, text);
  } finally {
    if (fd !== STDERR_FD) closeSync(fd);
  }
}

/**
 * Opens the log as output of a child process, because stderr of this process may be a file that was
 * rotated or removed.
 * @template T
 * @param {(output: number | 'inherit') => T} start
 * @returns {T}
 */
export function withLog(start) {
  const fd = path === null ? null : tryToOpen(path);
  try {
    return start(fd ?? 'inherit');
  } finally {
    if (fd !== null) closeSync(fd);
  }
}

/** @param {string} file */
function tryToOpen(file) {
  try {
    return openSync(file, 'a', 0o600);
  } catch {
    return null; // For example, the home is gone.
  }
}

/**
 * @param {unknown} error
 * @returns {{ message: string, code?: string, stack?: string }}
 */
export function describeError(error) {
  if (!(error instanceof Error)) return { message: String(error) };
  return { message: error.message, code: /** @type {NodeJS.ErrnoException} */ (error).code, stack: error.stack };
}
