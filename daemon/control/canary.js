import { allowanceOf, isUp, mayStop, replace } from './replacing.js';

/** @import { Moves, SeatFact, View, Wished } from './plan.js' */

/**
 * The next steps of a guarded rollout: the first seat of a new generation proves it, and until then nothing is taken away.
 * @param {View[]} views  Of the slots it is about.
 * @param {Wished['rollout']} rollout
 * @returns {Moves}
 */
export function replaceGuarded(views, rollout) {
  // Of a generation that was overtaken before it was up.
  const overtaken = views.flatMap((view) => view.old.filter((seat) => seat.generation !== view.former?.generation && !isUp(seat) && mayStop(seat)));
  // A reload of some instances may have begun while one of all is under way: each has its own canary.
  const generations = [...new Set(views.map((view) => view.generation))];
  const moves = generations.map((generation) => movesOf(views.filter((view) => view.generation === generation), rollout));
  return {
    stops: [...new Set([...overtaken, ...moves.flatMap((one) => one.stops)])],
    starts: moves.flatMap((one) => one.starts),
    parks: moves.flatMap((one) => one.parks ?? []),
  };
}

/**
 * @param {View[]} views  Of one generation.
 * @param {Wished['rollout']} rollout
 * @returns {Moves}
 */
function movesOf(views, rollout) {
  const isProven = views.some((view) => view.current && isUp(view.current));
  return isProven ? parkRelieved(replace(views, rollout), views, rollout) : tryOne(views, rollout);
}

/**
 * The canary: one seat of the new generation, in one slot; everything else stays, or comes back.
 * @param {View[]} views
 * @param {Wished['rollout']} rollout
 * @returns {Moves}
 */
function tryOne(views, rollout) {
  const lacking = views.filter((view) => view.former?.want === 'up' && !view.current && !view.old.some((seat) => isUp(seat) || seat.generation === view.former?.generation));
  const { starts, stops } = views.some((view) => view.current) ? { starts: [], stops: [] } : canaryIn(views, rollout);
  const restored = lacking.filter((view) => !starts.includes(view)).map((view) => ({ id: view.id, generation: view.former?.generation ?? view.generation }));
  return { stops, starts: [...starts, ...restored] };
}

/**
 * Beside a seat that serves; or, where there is no room for that, in a slot that nobody serves, and if all do in the place of one.
 * @param {View[]} views
 * @param {Wished['rollout']} rollout
 * @returns {{starts: View[], stops: SeatFact[]}}
 */
function canaryIn(views, rollout) {
  const serving = views.filter((view) => view.old.some(isUp));
  if (rollout.maxSurge > 0) return { starts: [serving[0] ?? views[0]].filter(Boolean), stops: [] };
  const vacant = views.find((view) => view.old.length === 0);
  if (vacant) return { starts: [vacant], stops: [] };
  const resting = views.find((view) => view.old.every((seat) => seat.state === 'backoff' || seat.state === 'failed'));
  // One at a time, whatever the numbers allow later.
  const isOneLeaving = views.some((view) => view.old.some((seat) => seat.state === 'stopping') && !view.old.some(isUp));
  const taken = resting ?? (!isOneLeaving && allowanceOf(views, rollout) > 0 ? serving[0] : undefined);
  return { starts: [], stops: taken?.old.filter(mayStop) ?? [] };
}

/**
 * With a rollback window, seats that were replaced while they served are parked. What is left of earlier generations goes.
 * @param {Moves} moves
 * @param {View[]} views
 * @param {Wished['rollout']} rollout
 * @returns {Moves}
 */
function parkRelieved({ stops, starts }, views, { windowMs = 0 }) {
  if (windowMs === 0) return { stops, starts };
  const relieved = new Set(views.flatMap((view) => (view.current && isUp(view.current) ? view.old.filter((seat) => seat.generation === view.former?.generation) : [])));
  const isKept = (/** @type {SeatFact} */ seat) => relieved.has(seat) && (seat.state === 'parked' || isUp(seat));
  return { stops: stops.filter((seat) => !isKept(seat)), starts, parks: stops.filter((seat) => relieved.has(seat) && isUp(seat)) };
}
