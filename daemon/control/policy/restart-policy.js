/** @import { AppSpec } from '../../../lib/shared/spec/spec.js' */

/** Default for the first pause after an unstable exit, in ms. */
const BACKOFF_MS = 100;

/** The longest pause between two attempts, in ms. */
export const BACKOFF_MAX_MS = 15_000;

/** Unstable exits count within this sliding window, in ms. */
const BUDGET_WINDOW_MS = 10 * 60_000;

/**
 * The fields of a spec that decide what follows an exit.
 * @typedef {Pick<
 *   AppSpec,
 *   | 'autorestart' | 'maxRestarts' | 'restartDelayMs' | 'backoffMs' | 'minUptimeMs'
 *   | 'stopExitCodes' | 'waitReady' | 'listenTimeoutMs'
 * >} Policy
 */

/**
 * The memory that the restart policy has of a seat.
 * @typedef {object} Record
 * @property {number} streak  Unstable exits in a row.
 * @property {number[]} unstableAtMs  Times of the unstable exits within the window.
 */

/**
 * @typedef {object} Verdict
 * @property {'done' | 'again' | 'failed'} what
 * @property {number} delayMs  Until the next attempt; 0 for at once. Only for `again`.
 * @property {Record} record
 */

/**
 * The pause before attempt n + 1 after n unstable exits in a row: the base, doubling, at most 15 s.
 * @param {number} n  From 1.
 * @param {number} baseMs  0 switches the pause off.
 * @returns {number}  In ms.
 */
export function backoffMs(n, baseMs) {
  return Math.min(BACKOFF_MAX_MS, baseMs * 2 ** (n - 1));
}

/**
 * Decides what follows when an instance has exited without a request.
 * @param {Policy} policy
 * @param {Record} record
 * @param {{ isUnstable: boolean, code: number | null }} exit  `code` is null after a signal, which
 *   no exit code rule can match.
 * @param {number} nowMs
 * @returns {Verdict}
 */
export function judgeExit(policy, record, { isUnstable, code }, nowMs) {
  const next = isUnstable ? remember(record, nowMs) : { streak: 0, unstableAtMs: inWindow(record.unstableAtMs, nowMs) };
  if (!policy.autorestart || (code !== null && policy.stopExitCodes.includes(code)))
    return { what: 'done', delayMs: 0, record: next };
  if (next.unstableAtMs.length > policy.maxRestarts) return { what: 'failed', delayMs: 0, record: next };
  const pauseMs = isUnstable ? backoffMs(next.streak, firstPauseMs(policy)) : 0;
  return { what: 'again', delayMs: Math.max(pauseMs, policy.restartDelayMs), record: next };
}

/**
 * A restart delay switches the default back-off off, unless the user has set a back-off.
 * @param {Policy} policy
 */
function firstPauseMs({ backoffMs: given, restartDelayMs }) {
  return given ?? (restartDelayMs > 0 ? 0 : BACKOFF_MS);
}

/**
 * @param {Record} record
 * @param {number} nowMs
 * @returns {Record}
 */
function remember(record, nowMs) {
  return { streak: record.streak + 1, unstableAtMs: [...inWindow(record.unstableAtMs, nowMs), nowMs] };
}

/**
 * @param {number[]} times
 * @param {number} nowMs
 */
function inWindow(times, nowMs) {
  return times.filter((atMs) => atMs > nowMs - BUDGET_WINDOW_MS);
}
