import { writeSync } from 'node:fs';

/** @typedef {(event: string, data?: Record<string, unknown>) => void} Log */

let lostLines = 0;

/**
 * Writes one JSON line to stderr, which the launcher has pointed at `nclust.log`.
 * A disk that is full must not end the keeper, so what cannot be written is counted and the count goes with the next line that can.
 * @type {Log}
 */
export function log(event, data = {}) {
  const line = JSON.stringify({ at: new Date().toISOString(), from: 'keeper', event, ...(lostLines > 0 ? { lostLines } : {}), ...data });
  try {
    writeSync(2, line + '\n');
    lostLines = 0;
  } catch {
    lostLines += 1;
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
