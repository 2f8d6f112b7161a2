import { tell } from '../keeper-link/tell.js';
import { newLife } from '../policy/lifecycle.js';
import { plan } from '../policy/plan.js';
import { watchVitals } from '../rollout/compare.js';
import { guard } from '../rollout/supervise.js';
import { findApp, specOf } from '../state/desired.js';
import { isScopeOf, memoryOf, scopeOf, seatKey, seatsOf } from '../state/registry.js';
import { step } from './step.js';

/** @import { Core } from '../keeper-link/tell.js' */
/** @import { Asked } from '../policy/lifecycle.js' */
/** @import { SeatFact } from '../policy/plan.js' */
/** @import { AppWish, SlotWish } from '../state/desired.js' */
/** @import { Seat, World } from '../state/registry.js' */

/**
 * An action may free the next one (a seat that rests is down at once); more rounds than this would
 * be a plan that contradicts itself.
 */
const MAX_ROUNDS = 10;

/**
 * Brings one app closer to what is wanted, as far as can be done now.
 * @param {Core} core
 * @param {string} name
 */
export function reconcile(core, name) {
  // First: should this be the last act of this control, the next one will still see that it is due.
  if (isBeingCleared(core.world, name)) releaseSockets(core, name);
  for (let round = 0; round < MAX_ROUNDS; round++) {
    guard(core, name);
    if (!act(core, name)) break;
  }
  releaseSockets(core, name);
  watchVitals(core, name);
}

/**
 * @param {Core} core
 * @param {string} name
 * @returns {boolean}  Whether anything was done.
 */
function act(core, name) {
  const { world } = core;
  const app = findApp(world.desired, name);
  const wished = {
    slots: app ? app.slots.map((slot) => asWanted(world, slot)) : [],
    rollout: app?.rollout ?? { maxSurge: 0, maxUnavailable: 1 },
  };
  const actions = plan(wished, seatsOf(world, name).map(factOf));
  for (const action of actions) {
    if (action.do === 'start') step(core, openSeat(world, app, action.id, action.generation), { type: 'start' });
    else {
      const seat = world.seats.get(seatKey(action.id, action.generation));
      if (seat)
        step(
          core,
          seat,
          action.do === 'stop'
            ? { type: 'stop', asked: askedFor(world, app, seat), drain: action.drain }
            : { type: action.do },
        );
    }
  }
  return actions.length > 0;
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
 * @returns {Seat}
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
 * Closes the listening sockets nobody will accept on again: without this, clients of a stopped app
 * would wait in the backlog instead of being refused.
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
