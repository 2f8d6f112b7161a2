import { execFile } from 'node:child_process';
import { placeIn } from '../evaluation/describe-error.js';

/** A file that takes longer has no place worth waiting for, in ms. */
const CHECK_MS = 5_000;

/**
 * Where a syntax error is in an ES module: import() tells no program, and only `node --check` prints it.
 * @param {string} file
 * @param {string[]} flags  That this Node.js needs for it.
 * @returns {Promise<{line?: number, column?: number|null}>}  Empty when it cannot be told.
 */
export function syntaxPlace(file, flags) {
  return new Promise((resolve) => {
    execFile(process.execPath, [...flags, '--check', file], { timeout: CHECK_MS }, (error, _stdout, stderr) => {
      resolve(error && stderr.includes('SyntaxError') ? placeIn(stderr, file) ?? {} : {});
    });
  });
}
