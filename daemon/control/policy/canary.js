import { computeAllowance, STARTING_STATES, isUp, mayStop, replace } from './replace.js';

/** @import { Moves, SeatView, View, Goal } from './plan.js' */

/**
 * Starts one seat of a new generation, the canary. Replaces the old seats of other slots only after
 * the canary is up. If maxSurge is above 1, starts that many seats at once, and waits until one of
 * these seats is up.
 * @param {View[]} views
 * @param {Goal['rollout']} rollout
 * @returns {Moves}
 */
export function replaceGuarded(views, rollout) {
  const overtaken = views.flatMap((view) =>
    view.old.filter((seat) => seat.generation !== view.former?.generation && !isUp(seat) && mayStop(seat)),
  );
  // A reload of some instances may begin during a reload of all instances. Each reload has its own
  // canary.
  const generations = [...new Set(views.map((view) => view.generation))];
  const moves = generations.map((generation) =>
    planMoves(
      views.filter((view) => view.generation === generation),
      rollout,
    ),
  );
  return {
    stops: [...new Set([...overtaken, ...moves.flatMap((one) => one.stops)])],
    starts: moves.flatMap((one) => one.starts),
    parks: moves.flatMap((one) => one.parks ?? []),
  };
}

/**
 * @param {View[]} views
 * @param {Goal['rollout']} rollout
 * @returns {Moves}
 */
function planMoves(views, rollout) {
  const isProven = views.some((view) => view.current && isUp(view.current));
  return isProven ? parkRelieved(replace(views, rollout), views, rollout) : tryFirst(views, rollout);
}

/**
 * @param {View[]} views
 * @param {Goal['rollout']} rollout
 * @returns {Moves}
 */
function tryFirst(views, rollout) {
  const lacking = views.filter(
    (view) =>
      view.former?.want === 'up' &&
      !view.current &&
      !view.old.some((seat) => isUp(seat) || seat.generation === view.former?.generation),
  );
  const { starts, stops } = views.some((view) => view.current)
    ? { starts: besideOthers(views, rollout), stops: [] }
    : findCanary(views, rollout);
  const restored = lacking
    .filter((view) => !starts.includes(view))
    .map((view) => ({ id: view.id, generation: view.former?.generation ?? view.generation }));
  return { stops, starts: [...starts, ...restored] };
}

/**
 * Places the canary beside a serving seat if maxSurge allows it, else in a free slot, else in place
 * of an old seat.
 * @param {View[]} views
 * @param {Goal['rollout']} rollout
 * @returns {{ starts: View[], stops: SeatView[] }}
 */
function findCanary(views, rollout) {
  const serving = views.filter((view) => view.old.some(isUp));
  if (rollout.maxSurge > 0)
    return { starts: serving.length > 0 ? besideOthers(views, rollout) : views.slice(0, 1), stops: [] };
  const vacant = views.find((view) => view.old.length === 0);
  if (vacant) return { starts: [vacant], stops: [] };
  const resting = views.find((view) => view.old.every((seat) => seat.state === 'backoff' || seat.state === 'failed'));
  // Stops one seat at a time, even if the rollout may later stop more seats at once.
  const isOneLeaving = views.some((view) => view.old.some((seat) => seat.state === 'stopping') && !view.old.some(isUp));
  const taken = resting ?? (!isOneLeaving && computeAllowance(views, rollout) > 0 ? serving[0] : undefined);
  return { starts: [], stops: taken?.old.filter(mayStop) ?? [] };
}

/**
 * @param {View[]} views
 * @param {Goal['rollout']} rollout
 */
function besideOthers(views, { maxSurge }) {
  const tried = views.flatMap((view) => view.current ?? []);
  if (tried.some((seat) => seat.hasFailed || !STARTING_STATES.has(seat.state))) return [];
  return views.filter((view) => !view.current && view.old.some(isUp)).slice(0, Math.max(0, maxSurge - tried.length));
}

/**
 * Parks replaced seats during a rollback window, because they may have to serve again at once.
 * @param {Moves} moves
 * @param {View[]} views
 * @param {Goal['rollout']} rollout
 * @returns {Moves}
 */
function parkRelieved({ stops, starts }, views, { windowMs = 0 }) {
  if (windowMs === 0) return { stops, starts };
  const relieved = new Set(
    views.flatMap((view) =>
      view.current && isUp(view.current) ? view.old.filter((seat) => seat.generation === view.former?.generation) : [],
    ),
  );
  const isKept = (/** @type {SeatView} */ seat) => relieved.has(seat) && (seat.state === 'parked' || isUp(seat));
  return {
    stops: stops.filter((seat) => !isKept(seat)),
    starts,
    parks: stops.filter((seat) => relieved.has(seat) && isUp(seat)),
  };
}
