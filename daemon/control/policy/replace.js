/** @import { State } from './seat.js' */
/** @import { Moves, SeatView, View, Goal } from './plan.js' */

/**
 * The next steps in replacing older seats by those of the generation that is wanted, within the
 * numbers of the rollout.
 * @param {View[]} views
 * @param {Goal['rollout']} rollout
 * @returns {Moves}
 */
export function replace(views, rollout) {
  const free = views.filter((view) => !view.current && !view.old.some(isUp));
  const serving = views.filter((view) => !view.current && view.old.some(isUp));
  const idle = free.flatMap((view) => view.old.filter(mayStop));
  // What is not up beside one that is wanted serves nobody: the rest of a rollout that was given
  // up.
  const useless = views
    .filter((view) => view.current && !view.former && !isUp(view.current))
    .flatMap((view) => view.old.filter((seat) => COMING.has(seat.state)));
  const relieved = views
    .filter((view) => view.current && isUp(view.current))
    .flatMap((view) => view.old.filter(mayStop));
  const counted = views.filter((view) => !isBystander(view, views));
  const surge = serving.slice(0, surgeLeft(counted, rollout));
  const taken = serving
    .slice(surge.length)
    .slice(0, allowanceOf(counted, rollout))
    .flatMap((view) => view.old.filter(mayStop));
  // A slot whose older seats are still ending waits for them: stop first means that the old one is
  // gone.
  const vacant = free.filter((view) => view.old.every((seat) => seat.state === 'backoff' || seat.state === 'failed'));
  return { stops: [...idle, ...useless, ...relieved, ...taken], starts: [...vacant, ...surge] };
}

/**
 * The same where nothing of the new generation may be there together with anything older: all of
 * that goes at once. The plan holds back the starts until then.
 * @param {View[]} views
 * @returns {Moves}
 */
export function clearFirst(views) {
  return { stops: views.flatMap((view) => view.old.filter(mayStop)), starts: views.filter((view) => !view.current) };
}

/**
 * Whether a slot is broken, and nothing is wanted anew of it: who restarts another one by its id
 * does not wait for it.
 * @param {View} view
 * @param {View[]} views
 */
function isBystander({ generation, current }, views) {
  const isBroken =
    current !== null &&
    (current.state === 'backoff' || current.state === 'failed' || (current.hasFailed && COMING.has(current.state)));
  return isBroken && views.some((other) => other.generation > generation);
}

/**
 * How many replacements may be started beside a serving seat.
 * @param {View[]} views
 * @param {Goal['rollout']} rollout
 */
function surgeLeft(views, { maxSurge }) {
  const current = views.flatMap((view) => view.current ?? []);
  if (current.some((seat) => !isUp(seat) && (seat.hasFailed || !COMING.has(seat.state)))) return 0;
  const beside = views.filter((view) => view.current && !isUp(view.current) && view.old.some(isUp)).length;
  return Math.max(0, maxSurge - beside);
}

/**
 * How many serving seats may be taken down before their replacement is there.
 * @param {View[]} views
 * @param {Goal['rollout']} rollout
 */
export function allowanceOf(views, { maxSurge, maxUnavailable }) {
  if (views.some((view) => view.current && !isUp(view.current))) return 0;
  const unavailable = views.filter((view) => !(view.current && isUp(view.current)) && !view.old.some(isUp)).length;
  // With neither surge nor absence allowed nothing could ever be replaced.
  const allowed = maxSurge === 0 ? Math.max(1, maxUnavailable) : maxUnavailable;
  return Math.max(0, allowed - unavailable);
}

/** On the way up. @type {Set<State>} */
export const COMING = new Set(['starting', 'soaking', 'entering']);

/** @param {SeatView} seat */
export function isUp(seat) {
  return seat.state === 'up';
}

/** @param {SeatView} seat */
export function mayStop(seat) {
  return seat.state !== 'stopping' || seat.comesBack;
}
