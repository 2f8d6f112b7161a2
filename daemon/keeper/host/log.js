import { closeSync, fstatSync, openSync, statSync, writeSync } from 'node:fs';

/** @typedef {(event: string, data?: Record<string, unknown>) => void} Log */

const STDERR_FD = 2;

let lostLines = 0;
/** @type {string | null} */
let path = null;

/**
 * From now on lines go to the file of this name: control gives a full one another name. Not where
 * stderr leads elsewhere, as for a keeper started by hand.
 * @param {string} file  Absolute.
 */
export function logTo(file) {
  const [ours, named] = [fstatSync(STDERR_FD), statSync(file, { throwIfNoEntry: false })];
  if (ours.ino === named?.ino && ours.dev === named.dev) path = file;
}

/**
 * Writes one JSON line to `nclust.log`. A disk that is full must not end the keeper, so what cannot
 * be written is counted and the count goes with the next line that can.
 * @type {Log}
 */
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

/**
 * Opened for each line: there are few, and nobody has to tell the keeper that the file is another
 * one.
 * @param {string} text
 */
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
 * @returns {{ message: string, code?: string, stack?: string }}  What a log line says of an error.
 */
export function describeError(error) {
  if (!(error instanceof Error)) return { message: String(error) };
  return { message: error.message, code: /** @type {NodeJS.ErrnoException} */ (error).code, stack: error.stack };
}
