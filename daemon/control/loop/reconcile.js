// Knows: how a plan is carried out: event -> step of a seat -> effects -> the next plan. Must not:
// contain rules; the rules are in policy/.
import { tell } from '../keeper-link/tell.js';
import { newLife } from '../policy/seat.js';
import { plan } from '../policy/plan.js';
import { watchInstances } from '../rollout/compare.js';
import { superviseRollout } from '../rollout/supervise.js';
import { findApp, getSpec } from '../state/desired.js';
import { hasSurplus } from '../state/keeper-deaths.js';
import { findSeat, isAppScope, getSlotHistory, getScope, seatKey, listSeats } from '../state/registry.js';
import { step } from './step.js';

/** @import { LoopContext } from '../context.js' */
/** @import { Asked, LifeEvent } from '../policy/seat.js' */
/** @import { Action, SeatView, Goal } from '../policy/plan.js' */
/** @import { DesiredApp, DesiredSlot } from '../state/desired.js' */
/** @import { Seat, Registry } from '../state/registry.js' */

/**
 * One action may allow another, so a plan can take several rounds. A plan that needs more rounds
 * than this contradicts itself.
 */
const MAX_ROUNDS = 10;

/**
 * @param {LoopContext} context
 * @param {string} name
 */
export function reconcile(context, name) {
  const { registry } = context;
  // Releases the sockets before the plan stops old instances. If control dies between these two
  // steps, the next control still finds old instances, so it releases the sockets again.
  if (isBeingCleared(registry, name)) releaseSockets(context, name);
  for (let round = 0; round < MAX_ROUNDS; round++) {
    superviseRollout(context, name); // May change the desired state.
    const app = findApp(registry.desired, name);
    const actions = plan(
      getGoal(registry, app),
      listSeats(registry, name).map((seat) => buildSeatView(registry, seat)),
    );
    if (actions.length === 0) break;
    for (const action of actions) carryOut(context, app, action);
  }
  releaseSockets(context, name);
  watchInstances(context, name);
}

/**
 * @param {Registry} registry
 * @param {DesiredApp | null} app
 * @returns {Goal}
 */
function getGoal(registry, app) {
  if (!app) return { slots: [], rollout: { maxSurge: 0, maxUnavailable: 1 } };
  return { slots: app.slots.map((slot) => goalSlot(registry, slot)), rollout: app.rollout };
}

/**
 * @param {LoopContext} context
 * @param {DesiredApp | null} app  The app when the action was planned.
 * @param {Action} action
 */
function carryOut(context, app, action) {
  const { registry } = context;
  const seat = action.do === 'start' ? openSeat(registry, app, action) : findSeat(registry, action);
  if (!seat) return;
  /** @type {LifeEvent} */
  const event =
    action.do === 'stop'
      ? { type: 'stop', asked: stopReason(registry, app, seat), drain: action.drain }
      : { type: action.do };
  step(context, seat, event);
}

/**
 * @param {Registry} registry
 * @param {DesiredSlot} slot
 * @returns {DesiredSlot & { isOccupied?: boolean }}
 */
function goalSlot(registry, slot) {
  if (registry.ending) return { ...slot, want: 'down' };
  return hasSurplus(registry, slot.id) ? { ...slot, isOccupied: true } : slot;
}

/**
 * @param {Registry} registry
 * @param {Seat} seat
 * @returns {SeatView}
 */
function buildSeatView({ instances }, { id, generation, life, spec, instanceId }) {
  const { state, hasFailed, asked } = life;
  const isClosing =
    state === 'stopping' &&
    (asked?.cause === 'stop' || asked?.cause === 'delete' || (asked?.cause === 'scale' && spec?.mode !== 'cluster'));
  return {
    id,
    generation,
    state: /** @type {SeatView['state']} */ (state),
    hasFailed,
    isClosing,
    ...(instances.get(instanceId ?? '')?.label.hasNoChannel ? { isAlone: true } : {}),
    comesBack: state === 'stopping' && asked?.cause === 'boot-timeout',
  };
}

/**
 * @param {Registry} registry
 * @param {DesiredApp | null} app
 * @param {{ id: number, generation: number }} place
 */
function openSeat(registry, app, { id, generation }) {
  const slot = app?.slots.find((slot) => slot.id === id)?.slot ?? 0;
  return addSeat(registry, {
    id,
    generation,
    slot,
    name: app?.spec.name ?? '',
    spec: app ? getSpec(app, generation) : null,
    begunBy: app && getCause(registry, app, id),
  });
}

/**
 * Returns the command that starts the seat. Null: no command starts the seat.
 * @param {Registry} registry
 * @param {DesiredApp} app
 * @param {number} id
 * @returns {Seat['begunBy']}
 */
function getCause(registry, { rollout }, id) {
  if (getSlotHistory(registry, id).spawns === 0) return 'start';
  return rollout.cause === 'orphan' || rollout.cause === 'unhealthy' || rollout.failure ? null : rollout.cause;
}

/**
 * @param {Registry} registry
 * @param {Pick<Seat, 'id' | 'generation' | 'slot' | 'name' | 'spec' | 'begunBy'>} place
 * @returns {Seat}  Its state is `down`. The caller changes the state.
 */
export function addSeat(registry, place) {
  const key = seatKey(place.id, place.generation);
  const history = getSlotHistory(registry, place.id).seat;
  const past =
    history?.generation === place.generation
      ? { streak: history.streak, unstableAtMs: history.unstableAtMs, hasFailed: history.hasFailed }
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
    cancelLook: () => {},
  };
  registry.seats.set(key, seat);
  return seat;
}

/**
 * @param {Registry} registry
 * @param {DesiredApp | null} app
 * @param {Seat} seat
 * @returns {Asked}
 */
function stopReason(registry, app, seat) {
  if (registry.ending) return { cause: 'stop', by: registry.ending };
  if (!app) return { cause: 'delete', by: registry.desired.tokens.at(-1)?.method === 'kill' ? 'kill' : 'delete' };
  const slot = app.slots.find((slot) => slot.id === seat.id);
  if (!slot) return app.by === 'delete' ? { cause: 'delete', by: 'delete' } : { cause: 'scale', by: app.by };
  if (slot.want === 'down') return { cause: 'stop', by: app.by };
  return { cause: app.rollout.cause, by: app.rollout.cause === 'orphan' ? null : app.by };
}

/**
 * Releases the sockets that no slot needs. Otherwise clients of a stopped app would wait in the
 * backlog of the socket instead of being refused.
 * @param {LoopContext} context
 * @param {string} name
 */
function releaseSockets(context, name) {
  const { registry } = context;
  const app = findApp(registry.desired, name);
  // For a removed app, compares names, because control knows only the name. Excludes scopes that
  // another app uses now.
  const isOwned = (/** @type {[string, Set<string>]} */ [scope, names]) =>
    app ? isAppScope(scope, app) : names.has(name) && !registry.desired.apps.some((one) => isAppScope(scope, one));
  const owned = [...registry.openScopes].filter(isOwned);
  if (owned.length === 0) return;
  const isNeeded = (/** @type {DesiredSlot} */ slot) =>
    goalSlot(registry, slot).want === 'up' &&
    findSeat(registry, slot)?.life.state !== 'failed' &&
    !registry.histories.get(slot.id)?.hasNoChannel;
  const slots = isBeingCleared(registry, name) ? undefined : app?.slots.filter(isNeeded);
  const needed = new Set(slots?.map(({ slot }) => app && getScope(app.spec, slot, app.scope)));
  for (const [scope, names] of owned) {
    if (needed.has(scope)) continue;
    registry.openScopes.delete(scope);
    for (const known of names) tell(context, 'release', { app: known, scope });
  }
}

/**
 * @param {Registry} registry
 * @param {string} name
 */
function isBeingCleared(registry, name) {
  const app = findApp(registry.desired, name);
  if (!app?.rollout.isClearedFirst) return false;
  const now = new Map(app.slots.map((slot) => [slot.id, slot.generation]));
  return listSeats(registry, name).some((seat) => now.get(seat.id) !== seat.generation);
}
