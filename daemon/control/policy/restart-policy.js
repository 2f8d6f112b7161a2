/** @import { AppSpec } from '../../../lib/app-spec/types.js' */

/** Default for the first pause after an unstable exit. */
const BACKOFF_MS = 100;

export const BACKOFF_MAX_MS = 15_000;

/** Sliding window in which unstable exits are counted. */
const BUDGET_WINDOW_MS = 10 * 60_000;

/**
 * @typedef {Pick<
 *   AppSpec,
 *   | 'autorestart' | 'maxRestarts' | 'restartDelayMs' | 'backoffMs' | 'minUptimeMs'
 *   | 'stopExitCodes' | 'waitReady' | 'listenTimeoutMs'
 * >} Policy
 */

/**
 * @typedef {object} ExitRecord
 * @property {number} streak  Unstable exits in a row.
 * @property {number[]} unstableAtMs
 */

/**
 * @typedef {object} Verdict
 * @property {'done' | 'again' | 'failed'} what
 * @property {number} delayMs  0: at once. Used only for `again`.
 * @property {ExitRecord} record
 */

/**
 * @param {number} n  Unstable exits in a row, from 1.
 * @param {number} baseMs  0 switches the pause off.
 * @returns {number}
 */
export function backoffMs(n, baseMs) {
  // For a large n, the power is Infinity, and 0 * Infinity would be NaN.
  return baseMs === 0 ? 0 : Math.min(BACKOFF_MAX_MS, baseMs * 2 ** (n - 1));
}

/**
 * Decides what follows after an exit that no command asked for.
 * @param {Policy} policy
 * @param {ExitRecord} record
 * @param {{ isUnstable: boolean, code: number | null }} exit
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
 * A restart delay replaces the default back-off, but not a back-off that the user has set.
 * @param {Policy} policy
 */
function firstPauseMs({ backoffMs: given, restartDelayMs }) {
  return given ?? (restartDelayMs > 0 ? 0 : BACKOFF_MS);
}

/**
 * @param {ExitRecord} record
 * @param {number} nowMs
 * @returns {ExitRecord}
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
