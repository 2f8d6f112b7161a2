/** @import { State } from './seat.js' */
/** @import { Moves, SeatView, View, Goal } from './plan.js' */

/**
 * @param {View[]} views
 * @param {Goal['rollout']} rollout
 * @returns {Moves}
 */
export function replace(views, rollout) {
  const free = views.filter((view) => !view.current && !view.old.some(isUp));
  const serving = views.filter((view) => !view.current && view.old.some(isUp));
  const idle = free.flatMap((view) => view.old.filter(mayStop));
  // An abandoned rollout left these old seats. They are not up, so they do not serve.
  const useless = views
    .filter((view) => view.current && !view.former && !isUp(view.current))
    .flatMap((view) => view.old.filter((seat) => STARTING_STATES.has(seat.state)));
  const relieved = views
    .filter((view) => view.current && isUp(view.current))
    .flatMap((view) => view.old.filter(mayStop));
  const counted = views.filter((view) => !isBystander(view, views));
  const surge = serving.slice(0, surgeLeft(counted, rollout));
  const taken = serving
    .slice(surge.length)
    .slice(0, computeAllowance(counted, rollout))
    .flatMap((view) => view.old.filter(mayStop));
  // In a slot that does not serve, a new seat starts only when no older seat has a process.
  const vacant = free.filter((view) => view.old.every((seat) => seat.state === 'backoff' || seat.state === 'failed'));
  return { stops: [...idle, ...useless, ...relieved, ...taken], starts: [...vacant, ...surge] };
}

/**
 * For an app whose generations must not run together. plan() delays the starts until old seats end.
 * @param {View[]} views
 * @returns {Moves}
 */
export function clearFirst(views) {
  return { stops: views.flatMap((view) => view.old.filter(mayStop)), starts: views.filter((view) => !view.current) };
}

/**
 * Whether the slot is broken, and another slot has a newer generation. Then the slot does not
 * count, because a restart of the other slot must not wait for a broken slot.
 * @param {View} view
 * @param {View[]} views
 */
function isBystander({ generation, current }, views) {
  const isBroken =
    current !== null &&
    (current.state === 'backoff' ||
      current.state === 'failed' ||
      (current.hasFailed && STARTING_STATES.has(current.state)));
  return isBroken && views.some((other) => other.generation > generation);
}

/**
 * @param {View[]} views
 * @param {Goal['rollout']} rollout
 */
function surgeLeft(views, { maxSurge }) {
  const current = views.flatMap((view) => view.current ?? []);
  if (current.some((seat) => !isUp(seat) && (seat.hasFailed || !STARTING_STATES.has(seat.state)))) return 0;
  const beside = views.filter((view) => view.current && !isUp(view.current) && view.old.some(isUp)).length;
  return Math.max(0, maxSurge - beside);
}

/**
 * The number of serving seats that may stop before their replacement is up.
 * @param {View[]} views
 * @param {Goal['rollout']} rollout
 */
export function computeAllowance(views, { maxSurge, maxUnavailable }) {
  if (views.some((view) => view.current && !isUp(view.current))) return 0;
  const unavailable = views.filter((view) => !(view.current && isUp(view.current)) && !view.old.some(isUp)).length;
  // Allows at least one seat if maxSurge is 0, because with both numbers at 0, no seat could ever
  // be replaced.
  const allowed = maxSurge === 0 ? Math.max(1, maxUnavailable) : maxUnavailable;
  return Math.max(0, allowed - unavailable);
}

/** @type {Set<State>} */
export const STARTING_STATES = new Set(['starting', 'soaking', 'entering']);

/** @param {SeatView} seat */
export function isUp(seat) {
  return seat.state === 'up';
}

/** @param {SeatView} seat */
export function mayStop(seat) {
  return seat.state !== 'stopping' || seat.comesBack;
}
