import { replaceGuarded } from './canary.js';
import { clearFirst, isUp, mayStop, replace } from './replace.js';

/** @import { State } from './seat.js' */

/**
 * @typedef {object} RolloutPace
 * @property {number} maxSurge
 * @property {number} maxUnavailable
 * @property {boolean} [isGuarded]
 * @property {boolean} [isClearedFirst]
 * @property {number} [windowMs]
 */

/**
 * @typedef {object} Goal
 * @property {GoalSlot[]} slots
 * @property {RolloutPace} rollout
 */

/**
 * @typedef {object} GoalSlot
 * @property {number} id
 * @property {'up' | 'down'} want
 * @property {number} generation
 * @property {{ want: 'up' | 'down' | 'new', generation: number }} [former]
 * @property {boolean} [isOccupied]  Processes of an earlier keeper have to exit first.
 */

/**
 * @typedef {object} SeatView
 * @property {number} id
 * @property {number} generation
 * @property {Exclude<State, 'down'>} state
 * @property {boolean} hasFailed  An attempt to start the instance failed.
 * @property {boolean} isClosing  The instance is stopping, and its listening sockets close (stop,
 *   delete).
 * @property {boolean} [isAlone]  The instance binds its ports itself, so no other may run beside it.
 * @property {boolean} comesBack  The instance is stopping only to start again (boot timeout).
 */

/**
 * @typedef {{do: 'start', id: number, generation: number}
 *   | {do: 'stop', id: number, generation: number, drain: 'handover'|'finish'}
 *   | {do: 'park', id: number, generation: number}
 *   | {do: 'takeBack', id: number, generation: number}} Action
 */

/**
 * @typedef {object} View
 * @property {number} id
 * @property {number} generation
 * @property {GoalSlot['former']} former
 * @property {SeatView | null} current
 * @property {SeatView[]} old
 */
/**
 * @typedef {object} Moves
 * @property {SeatView[]} stops
 * @property {{ id: number, generation: number }[]} starts
 * @property {SeatView[]} [parks]
 */

/**
 * Pure. Callers call plan() again after every change.
 *
 * Up to maxSurge new seats start beside old seats that are up. Up to maxUnavailable old seats stop
 * before their replacement starts, but only while all new seats are up. Seats that do not serve are
 * replaced without these limits. A guarded rollout begins with a canary.
 * @param {Goal} goal
 * @param {SeatView[]} seats
 * @returns {Action[]}
 */
export function plan(goal, seats) {
  const slots = new Map(goal.slots.map((slot) => [slot.id, slot]));
  const unwanted = seats.filter((seat) => slots.get(seat.id)?.want !== 'up' && mayStop(seat));
  const bySlot = groupBySlot(seats);
  const views = goal.slots
    .filter((slot) => slot.want === 'up')
    .map((slot) => buildView(slot, bySlot.get(slot.id) ?? []));
  const moves = planMoves(views, goal.rollout);
  const parks = moves.parks ?? [];
  const alone = views.flatMap(({ old }) => old.filter(({ isAlone }) => isAlone));
  // Only now, because a guarded rollout starts it again while the canary of another slot is tried.
  const replaced = alone.filter((seat) => mayStop(seat) && moves.starts.some(({ id }) => id === seat.id));
  const stops = [...new Set([...unwanted, ...moves.stops, ...replaced])];
  const occupied = new Set([...alone, ...goal.slots.filter(({ isOccupied }) => isOccupied)].map(({ id }) => id));
  // An instance that leaves may still hold a socket, so a new instance would get EADDRINUSE.
  const isInTheWay = (/** @type {SeatView} */ seat) =>
    seat.isClosing || (goal.rollout.isClearedFirst === true && slots.get(seat.id)?.generation !== seat.generation);
  const starts = seats.some(isInTheWay) ? [] : moves.starts.filter(({ id }) => !occupied.has(id));
  const leaving = new Set([...stops, ...parks]);
  const isServedOn = seats.some((seat) => isUp(seat) && !leaving.has(seat));
  const back = views.flatMap(({ current }) => (current?.state === 'parked' ? current : []));
  return [
    ...back.map(chooseAction('takeBack')),
    ...parks.map(chooseAction('park')),
    ...stops.map((seat) => buildStop(seat, isServedOn)),
    ...starts.map(chooseAction('start')),
  ];
}

/**
 * @param {View[]} views
 * @param {Goal['rollout']} rollout
 * @returns {Moves}
 */
function planMoves(views, rollout) {
  if (rollout.isClearedFirst) return clearFirst(views);
  if (!rollout.isGuarded) return replace(views, rollout);
  const others = replace(
    views.filter((view) => !view.former),
    rollout,
  );
  const mine = replaceGuarded(
    views.filter((view) => view.former),
    rollout,
  );
  return { stops: [...others.stops, ...mine.stops], starts: [...others.starts, ...mine.starts], parks: mine.parks };
}

/** @param {SeatView[]} seats */
function groupBySlot(seats) {
  /** @type {Map<number, SeatView[]>} */
  const groups = new Map();
  for (const seat of seats) groups.set(seat.id, [...(groups.get(seat.id) ?? []), seat]);
  return groups;
}

/**
 * @param {GoalSlot} slot
 * @param {SeatView[]} mine
 * @returns {View}
 */
function buildView({ id, generation, former }, mine) {
  return {
    id,
    generation,
    former,
    current: mine.find((seat) => seat.generation === generation) ?? null,
    old: mine.filter((seat) => seat.generation !== generation),
  };
}

/**
 * @template {'start' | 'park' | 'takeBack'} What
 * @param {What} what
 */
function chooseAction(what) {
  return (/** @type {{ id: number, generation: number }} */ { id, generation }) =>
    /** @type {Action} */ ({ do: what, id, generation });
}

/**
 * @param {SeatView} seat
 * @param {boolean} isServedOn  Another seat of the app is up, and keeps serving.
 * @returns {Action}
 */
function buildStop({ id, generation }, isServedOn) {
  return { do: 'stop', id, generation, drain: isServedOn ? 'handover' : 'finish' };
}
