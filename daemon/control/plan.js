/**
 * What is wanted of one app.
 * @typedef {object} Wished
 * @property {{id: number, want: 'up'|'down', generation: number}[]} slots
 * @property {{maxSurge: number, maxUnavailable: number}} rollout
 */

/**
 * What there is: every seat of the app that is not down.
 * @typedef {object} SeatFact
 * @property {number} id  Of its slot.
 * @property {number} generation
 * @property {Exclude<import('./lifecycle.js').State, 'down'>} state
 * @property {boolean} hasFailed  It has crashed before it was up.
 * @property {boolean} isClosing  It is stopping and takes the app's listening sockets with it (stop, delete).
 * @property {boolean} comesBack  It is stopping only to be tried again (boot timeout).
 */

/** @typedef {{do: 'start', id: number, generation: number} | {do: 'stop', id: number, generation: number, drain: 'handover'|'finish'}} Action */

/**
 * The steps that bring what is closer to what is wanted. Pure and level-triggered: called again after every change, it goes on from wherever things stand.
 *
 * A slot is available while one of its seats is up. A seat of an older generation that is up is taken down first (maxUnavailable) or replaced first
 * (maxSurge), within these numbers, and never while a seat of the new generation is not up. Seats that serve nobody are replaced at no charge.
 * @param {Wished} wished
 * @param {SeatFact[]} seats
 * @returns {Action[]}
 */
export function plan(wished, seats) {
  const slots = new Map(wished.slots.map((slot) => [slot.id, slot]));
  const unwanted = seats.filter((seat) => slots.get(seat.id)?.want !== 'up' && mayStop(seat));
  const bySlot = groupBySlot(seats);
  const views = wished.slots.filter((slot) => slot.want === 'up').map((slot) => viewOf(slot, bySlot.get(slot.id) ?? []));
  const replaced = rollOut(views, wished.rollout);
  const stops = [...unwanted, ...replaced.stops];
  // A new instance that asks for a socket which a leaving one still holds would get EADDRINUSE.
  const starts = seats.some((seat) => seat.isClosing) ? [] : replaced.starts;
  const stopping = new Set(stops);
  const isServedOn = seats.some((seat) => isUp(seat) && !stopping.has(seat));
  return [...stops.map((seat) => stopOf(seat, isServedOn)), ...starts.map(({ id, generation }) => /** @type {Action} */ ({ do: 'start', id, generation }))];
}

/** @typedef {{id: number, generation: number, current: SeatFact|null, old: SeatFact[]}} View  One slot that should be up. */

/**
 * @param {SeatFact[]} seats
 * @returns {Map<number, SeatFact[]>}
 */
function groupBySlot(seats) {
  /** @type {Map<number, SeatFact[]>} */
  const groups = new Map();
  for (const seat of seats) groups.set(seat.id, [...(groups.get(seat.id) ?? []), seat]);
  return groups;
}

/**
 * @param {Wished['slots'][number]} slot
 * @param {SeatFact[]} mine
 * @returns {View}
 */
function viewOf({ id, generation }, mine) {
  return {
    id,
    generation,
    current: mine.find((seat) => seat.generation === generation) ?? null,
    old: mine.filter((seat) => seat.generation !== generation),
  };
}

/**
 * @param {View[]} views
 * @param {Wished['rollout']} rollout
 * @returns {{stops: SeatFact[], starts: View[]}}
 */
function rollOut(views, rollout) {
  const free = views.filter((view) => !view.current && !view.old.some(isUp));
  const serving = views.filter((view) => !view.current && view.old.some(isUp));
  const idle = free.flatMap((view) => view.old.filter(mayStop));
  const relieved = views.filter((view) => view.current && isUp(view.current)).flatMap((view) => view.old.filter(mayStop));
  const surge = serving.slice(0, surgeLeft(views, rollout));
  const taken = serving.slice(surge.length).slice(0, takesLeft(views, rollout)).flatMap((view) => view.old.filter(mayStop));
  // A slot whose older seats are still ending waits for them: stop first means that the old one is gone.
  const vacant = free.filter((view) => view.old.every((seat) => seat.state === 'backoff' || seat.state === 'failed'));
  return { stops: [...idle, ...relieved, ...taken], starts: [...vacant, ...surge] };
}

/**
 * How many replacements may be started beside a serving seat.
 * @param {View[]} views
 * @param {Wished['rollout']} rollout
 */
function surgeLeft(views, { maxSurge }) {
  const current = views.flatMap((view) => view.current ?? []);
  if (current.some((seat) => !isUp(seat) && (seat.hasFailed || seat.state !== 'starting'))) return 0;
  const beside = views.filter((view) => view.current && !isUp(view.current) && view.old.some(isUp)).length;
  return Math.max(0, maxSurge - beside);
}

/**
 * How many serving seats may be taken down before their replacement is there.
 * @param {View[]} views
 * @param {Wished['rollout']} rollout
 */
function takesLeft(views, { maxSurge, maxUnavailable }) {
  if (views.some((view) => view.current && !isUp(view.current))) return 0;
  const unavailable = views.filter((view) => !(view.current && isUp(view.current)) && !view.old.some(isUp)).length;
  // With neither surge nor absence allowed nothing could ever be replaced.
  const allowed = maxSurge === 0 ? Math.max(1, maxUnavailable) : maxUnavailable;
  return Math.max(0, allowed - unavailable);
}

/**
 * @param {SeatFact} seat
 * @param {boolean} isServedOn  By another seat of the app.
 * @returns {Action}
 */
function stopOf({ id, generation }, isServedOn) {
  return { do: 'stop', id, generation, drain: isServedOn ? 'handover' : 'finish' };
}

/** @param {SeatFact} seat */
function isUp(seat) {
  return seat.state === 'up';
}

/** @param {SeatFact} seat */
function mayStop(seat) {
  return seat.state !== 'stopping' || seat.comesBack;
}
