// oom_score_adj: see proc(5).
import { writeFileSync } from 'node:fs';
import { readIfThere, tryTo } from './files.js';

/** The score of the keeper. Control inherits the score. */
const LOW = '-900';

const OWN = '/proc/self/oom_score_adj';

/**
 * Lets the kernel kill the keeper last when memory runs out, because the keeper holds the sockets
 * of all apps. Without root, this has no effect.
 * @param {string} [file]
 */
export function lowerOomScore(file = OWN) {
  tryWrite(file, LOW);
}

/**
 * Starts a process that must not inherit the lowered score. This process has the usual score during
 * the call. A reset of the child's score after the call would miss processes that the child starts
 * at once.
 * @template T
 * @param {() => T} start  Synchronous.
 * @param {string} [file]
 */
export function runWithDefaultOomScore(start, file = OWN) {
  if (readIfThere(file).trim() !== LOW || !tryWrite(file, '0')) return start();
  try {
    return start();
  } finally {
    tryWrite(file, LOW);
  }
}

/**
 * @param {string} file
 * @param {string} score
 */
function tryWrite(file, score) {
  return tryTo(() => writeFileSync(file, score), null) === undefined;
}
