/** @import { Context, Effect } from './seat.js' */
/** @import { Policy } from './restart-policy.js' */

/** An instance that makes progress may load this long. Then control looks for its sockets no longer. */
export const LOADING_MAX_MS = 5 * 60_000;

/** Interval of the looks at an instance that loads after its deadline, in ms. */
const LOOK_MIN_MS = 500;
const LOOK_MAX_MS = 5_000;

/** First interval of the looks for a listening socket, in ms. It grows with the age. */
const SOCKET_LOOK_MS = 500;
/** An instance that is up at this age needs no look. */
const SHORT_UPTIME_MS = 1_000;

/**
 * If a step is missing after this time, and the instance makes no progress, the instance fails. If
 * its main module still runs, the instance is pinged first.
 * @param {Context} context
 */
export function allowedMs({ policy, readiness }) {
  if (readiness.isAddressRefused) return policy.minUptimeMs;
  return readiness.isLoading ? Math.max(policy.minUptimeMs, policy.listenTimeoutMs) : policy.listenTimeoutMs;
}

/**
 * Returns at most `totalMs`, because the wall clock may have been set back since `sinceMs`.
 * @param {number} totalMs
 * @param {number} sinceMs
 * @param {number} nowMs
 */
export function leftOf(totalMs, sinceMs, nowMs) {
  return Math.min(totalMs, Math.max(0, sinceMs + totalMs - nowMs));
}

/**
 * An instance that seems to come from the future is old, because the clock was set back.
 * @param {Context} context
 */
export function ageOf({ readiness, nowMs }) {
  const ageMs = nowMs - (readiness.startedAtMs ?? 0);
  return ageMs < 0 ? Infinity : ageMs;
}

/**
 * An instance that knows when it is ready does not have to show it by its age. If the old instance
 * has stopped before the new one started, a long soak only lengthens the time with one instance
 * less.
 * @param {Context} context
 */
export function soakMs({ policy, readiness }) {
  if (readiness.hasSentReady) return 0;
  return readiness.isAlone ? Math.min(policy.minUptimeMs, SHORT_UPTIME_MS) : policy.minUptimeMs;
}

/**
 * The keeper hears only of the sockets of Node.js programs that it starts itself, and not of a
 * server behind npm or in Python.
 * @param {Context} context
 * @returns {Effect[]}
 */
export function listSocketLooks(context) {
  const { policy, readiness } = context;
  const ageMs = ageOf(context);
  if (!readiness.mayListenOutside || policy.minUptimeMs <= SHORT_UPTIME_MS || ageMs >= LOADING_MAX_MS) return [];
  return [{ type: 'look', ms: Math.min(LOOK_MAX_MS, Math.max(SOCKET_LOOK_MS, ageMs / 4)) }];
}

/** An instance that is this much above its time limit was given more time. */
const LATE_MS = 2_000;

/**
 * The missing step, with the age of an instance that was given more time.
 * @param {Context} context
 */
export function missingAfter(context) {
  const { missing } = context.readiness;
  const ageMs = ageOf(context);
  const isLate = Number.isFinite(ageMs) && ageMs > allowedMs(context) + LATE_MS;
  return isLate ? `${missing} after ${Math.round(ageMs / 1000)}s` : missing;
}

/** @param {Context} context */
export function mayLoadOn(context) {
  const { mayBeLoading, isProgressing } = context.readiness;
  return mayBeLoading && isProgressing !== false && ageOf(context) < LOADING_MAX_MS;
}

/** @param {Policy} policy */
export function lookEveryMs({ listenTimeoutMs }) {
  return Math.min(LOOK_MAX_MS, Math.max(LOOK_MIN_MS, listenTimeoutMs / 2));
}
