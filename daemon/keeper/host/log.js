import { closeSync, fstatSync, openSync, statSync, writeSync } from 'node:fs';

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
  const line = JSON.stringify({
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
 * @param {unknown} error
 * @returns {{ message: string, code?: string, stack?: string }}
 */
export function describeError(error) {
  if (!(error instanceof Error)) return { message: String(error) };
  return { message: error.message, code: /** @type {NodeJS.ErrnoException} */ (error).code, stack: error.stack };
}
