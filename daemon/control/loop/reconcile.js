// Knows: how a plan is carried out: event -> step of a seat -> effects -> the next plan.
// Must not: hold rules of its own; policy/ has them.
// Start at: reconcile(), then step.js and effects.js; keeper-events.js has what the keeper reports.
import { tell } from '../keeper-link/tell.js';
import { newLife } from '../policy/seat.js';
import { plan } from '../policy/plan.js';
import { watchInstances } from '../rollout/compare.js';
import { guard } from '../rollout/supervise.js';
import { findApp, specOf } from '../state/desired.js';
import { isScopeOf, memoryOf, scopeOf, seatKey, seatsOf } from '../state/registry.js';
import { step } from './step.js';

/** @import { Core } from '../keeper-link/tell.js' */
/** @import { Asked, LifeEvent } from '../policy/seat.js' */
/** @import { Action, SeatFact, Wished } from '../policy/plan.js' */
/** @import { AppWish, SlotWish } from '../state/desired.js' */
/** @import { Seat, World } from '../state/registry.js' */

/**
 * An action may free the next one: a seat that rests is down at once. A plan that needs more rounds
 * than this contradicts itself.
 */
const MAX_ROUNDS = 10;

/**
 * Brings one app closer to what is wanted, as far as can be done now.
 * @param {Core} core
 * @param {string} name
 */
export function reconcile(core, name) {
  const { world } = core;
  // First: if this is the last act of this control, the next one still sees that it is due.
  if (isBeingCleared(world, name)) releaseSockets(core, name);
  for (let round = 0; round < MAX_ROUNDS; round++) {
    guard(core, name); // May change what is wanted.
    const app = findApp(world.desired, name);
    const actions = plan(wishedOf(world, app), seatsOf(world, name).map(factOf));
    if (actions.length === 0) break;
    for (const action of actions) carryOut(core, app, action);
  }
  releaseSockets(core, name);
  watchInstances(core, name);
}

/**
 * @param {World} world
 * @param {AppWish | null} app
 * @returns {Wished}
 */
function wishedOf(world, app) {
  if (!app) return { slots: [], rollout: { maxSurge: 0, maxUnavailable: 1 } };
  return { slots: app.slots.map((slot) => asWanted(world, slot)), rollout: app.rollout };
}

/**
 * @param {Core} core
 * @param {AppWish | null} app  As it was when the action was planned.
 * @param {Action} action
 */
function carryOut(core, app, action) {
  const { world } = core;
  const { id, generation } = action;
  const seat = action.do === 'start' ? openSeat(world, app, id, generation) : world.seats.get(seatKey(id, generation));
  if (!seat) return;
  /** @type {LifeEvent} */
  const event =
    action.do === 'stop'
      ? { type: 'stop', asked: askedFor(world, app, seat), drain: action.drain }
      : { type: action.do };
  step(core, seat, event);
}

/**
 * @param {World} world
 * @param {SlotWish} slot
 * @returns {SlotWish}
 */
function asWanted(world, slot) {
  return world.ending ? { ...slot, want: 'down' } : slot;
}

/**
 * @param {Seat} seat
 * @returns {SeatFact}
 */
function factOf({ id, generation, life, spec }) {
  const { state, hasFailed, asked } = life;
  const isClosing =
    state === 'stopping' &&
    (asked?.cause === 'stop' || asked?.cause === 'delete' || (asked?.cause === 'scale' && spec?.mode !== 'cluster'));
  return {
    id,
    generation,
    state: /** @type {SeatFact['state']} */ (state),
    hasFailed,
    isClosing,
    comesBack: state === 'stopping' && asked?.cause === 'boot-timeout',
  };
}

/**
 * @param {World} world
 * @param {AppWish | null} app
 * @param {number} id
 * @param {number} generation
 */
function openSeat(world, app, id, generation) {
  const slot = app?.slots.find((wish) => wish.id === id)?.slot ?? 0;
  return addSeat(world, {
    id,
    generation,
    slot,
    name: app?.spec.name ?? '',
    spec: app ? specOf(app, generation) : null,
  });
}

/**
 * @param {World} world
 * @param {Pick<Seat, 'id' | 'generation' | 'slot' | 'name' | 'spec'>} place
 * @returns {Seat}  Down, and not for long.
 */
export function addSeat(world, place) {
  const key = seatKey(place.id, place.generation);
  const memory = memoryOf(world, place.id).seat;
  const past =
    memory?.generation === place.generation
      ? { streak: memory.streak, unstableAtMs: memory.unstableAtMs, hasFailed: memory.hasFailed }
      : {};
  /** @type {Seat} */
  const seat = {
    ...place,
    key,
    life: { ...newLife(), ...past },
    instanceId: null,
    sinceMs: 0,
    untilMs: null,
    cancelTimer: () => {},
  };
  world.seats.set(key, seat);
  return seat;
}

/**
 * @param {World} world
 * @param {AppWish | null} app
 * @param {Seat} seat
 * @returns {Asked}
 */
function askedFor(world, app, seat) {
  if (world.ending) return { cause: 'stop', by: world.ending };
  if (!app) return { cause: 'delete', by: world.desired.tokens.at(-1)?.method === 'kill' ? 'kill' : 'delete' };
  const wish = app.slots.find((slot) => slot.id === seat.id);
  if (!wish) return app.by === 'delete' ? { cause: 'delete', by: 'delete' } : { cause: 'scale', by: app.by };
  if (wish.want === 'down') return { cause: 'stop', by: app.by };
  return { cause: app.rollout.cause, by: app.rollout.cause === 'orphan' ? null : app.by };
}

/**
 * Closes the listening sockets on which no instance will accept again. Without this, clients of a
 * stopped app would wait in the backlog instead of being refused.
 * @param {Core} core
 * @param {string} name
 */
function releaseSockets(core, name) {
  const { world } = core;
  const app = findApp(world.desired, name);
  // Of an app that is not in the list any more the name is known, and another may go on under what
  // it listened on.
  const isOwned = app
    ? (/** @type {string} */ scope) => isScopeOf(scope, app)
    : (/** @type {string} */ scope, /** @type {Set<string>} */ names) =>
        names.has(name) && !world.desired.apps.some((one) => isScopeOf(scope, one));
  const owned = [...world.openScopes].filter(([scope, names]) => isOwned(scope, names));
  if (owned.length === 0) return;
  const hasFailed = (/** @type {SlotWish} */ slot) =>
    world.seats.get(seatKey(slot.id, slot.generation))?.life.state === 'failed';
  const needed = isBeingCleared(world, name)
    ? new Set()
    : new Set(
        app?.slots
          .filter((slot) => asWanted(world, slot).want === 'up' && !hasFailed(slot))
          .map((slot) => scopeOf(app.spec, slot.slot, app.scope)),
      );
  for (const [scope, names] of owned) {
    if (needed.has(scope)) continue;
    world.openScopes.delete(scope);
    for (const known of names) tell(core, 'release', { app: known, scope });
  }
}

/**
 * Whether older instances have to be gone before new ones may be there, and are not.
 * @param {World} world
 * @param {string} name
 */
function isBeingCleared(world, name) {
  const app = findApp(world.desired, name);
  if (!app?.rollout.isClearedFirst) return false;
  const now = new Map(app.slots.map((slot) => [slot.id, slot.generation]));
  return seatsOf(world, name).some((seat) => now.get(seat.id) !== seat.generation);
}
