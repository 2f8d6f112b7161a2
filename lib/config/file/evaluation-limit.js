import { NclustError } from '../../shared/errors.js';
import { DURATION_FORMS, formatDuration, parseDuration } from '../../shared/units.js';
import { unreadable } from '../faults.js';

export const LIMIT_VARIABLE = 'NCLUST_CONFIG_TIMEOUT';

const LIMIT_MS = 60_000;

/** From the beginning until somebody who waits is told for what, and from then on how often. */
const FIRST_WORD_MS = 5_000;
const NEXT_WORD_MS = 15_000;

/** How long a config that is a program may take. @typedef {{limitMs: number, firstWordMs: number}} Patience  `limitMs` 0: for ever. */

/**
 * @param {Record<string, string|undefined>} shell
 * @returns {Patience}  Throws ERR_NCLUST_USAGE.
 */
export function patienceOf(shell) {
  const text = shell[LIMIT_VARIABLE];
  const limitMs = text === undefined || text === '' ? LIMIT_MS : parseDuration(text);
  if (limitMs === null) throw new NclustError('ERR_NCLUST_USAGE', `The variable ${LIMIT_VARIABLE} is "${text}"; accepted: ${DURATION_FORMS}, or 0 for no limit.`);
  return { limitMs, firstWordMs: FIRST_WORD_MS };
}

/**
 * Says while a config is being evaluated that it is, and when it takes too long, that it is given up.
 * @template T
 * @param {string} file
 * @param {Promise<T>} evaluation
 * @param {Patience & {talk: (sentence: string) => void}} o
 * @returns {Promise<T>}  Rejects with ERR_NCLUST_BAD_CONFIG at the limit; the evaluation itself goes on.
 */
export async function withPatience(file, evaluation, { limitMs, firstWordMs, talk }) {
  /** @type {NodeJS.Timeout[]} */
  const timers = [];
  const until = limitMs === 0 ? `it may go on for ever (${LIMIT_VARIABLE}=0)` : `it is given up after ${formatDuration(limitMs)} (${LIMIT_VARIABLE})`;
  const say = (/** @type {number} */ ms) => timers.push(setTimeout(() => {
    talk(`"${file}" has been running for ${formatDuration(ms)} and has exported nothing yet; ${until}.`);
    say(ms + NEXT_WORD_MS);
  }, ms === firstWordMs ? ms : NEXT_WORD_MS));
  say(firstWordMs);
  const late = new Promise((_, reject) => {
    if (limitMs > 0) timers.push(setTimeout(() => reject(tooLate(file, limitMs)), limitMs));
  });
  try {
    return await Promise.race([evaluation, /** @type {Promise<never>} */ (late)]);
  } finally {
    for (const timer of timers) clearTimeout(timer);
  }
}

/** @param {string} file @param {number} limitMs */
function tooLate(file, limitMs) {
  return unreadable(file, `it has exported nothing within ${formatDuration(limitMs)}, and was ended`, {
    hint: `It waits for something at its top level, in its function or for its promise, or it loops. A longer limit: ${LIMIT_VARIABLE}=5m`,
  });
}
