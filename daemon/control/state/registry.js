// Knows: the desired state (on disk), the records of what exists (in memory), pure changes of the
// desired state. Must not: ask the keeper, wait, or decide what follows. Start at: desired.js, then
// this file; store.js writes state.json, changes.js has the commands.
import { STARTING_STATES } from '../policy/replace.js';
import { newSlotHistory } from './slot-history.js';

/** @import { User } from '../../../lib/shared/host/user-path.js' */
/** @import { AppSpec } from '../../../lib/shared/spec/spec.js' */
/** @import { ListenFailure } from '../../../lib/shared/wire/protocol.js' */
/** @import { Cancel } from '../host/clock.js' */
/** @import { Address, Exit } from '../keeper-link/link.js' */
/** @import { Life } from '../policy/seat.js' */
/** @import { WatchedInstance } from '../rollout/compare.js' */
/** @import { RollbackWindow } from '../rollout/supervise.js' */
/** @import { DesiredApp, Desired, DesiredSlot } from './desired.js' */
/** @import { SlotHistory } from './slot-history.js' */

/**
 * A slot in one generation.
 * @typedef {object} Seat
 * @property {string} key
 * @property {number} id
 * @property {number} generation
 * @property {Life} life
 * @property {AppSpec | null} spec  Of its instance. Null: the app is not in the list any more.
 * @property {string} name
 * @property {number} slot
 * @property {string | null} instanceId
 * @property {number} sinceMs  When it entered its state, wall clock.
 * @property {number | null} untilMs  When the running timer ends, wall clock.
 * @property {Cancel} cancelTimer
 * @property {'start' | 'restart' | 'reload' | null} [begunBy]  Null once it is up.
 */

/**
 * An operating-system process, until the last process of its tree is gone.
 * @typedef {object} Instance
 * @property {string} instanceId
 * @property {Label} label
 * @property {number} pid  0 until the keeper reports it.
 * @property {number | null} startedAtMs
 * @property {number | null} bootedAtMs  When its main module had been evaluated or it listened,
 *   whichever came first. For a program that cannot report this: its start.
 * @property {Address[]} addresses
 * @property {ListenFailure | null} listenFailure  Its last failed listen(), until it listens there.
 * @property {boolean} isReady  It sent `ready`.
 * @property {boolean} wasUp
 * @property {boolean} isAwaitingSecrets  Control has not asked the keeper for it yet.
 * @property {boolean} isStray  The list may have lost its slot, so it is left alone.
 * @property {boolean} isOrphan  An earlier keeper had started it.
 * @property {boolean} isGated  It listens, and its gate is closed.
 * @property {boolean} isParked
 * @property {Exit | null} exit
 * @property {string | null} outPipe
 * @property {string | null} errPipe
 * @property {string | null} signalledBy  The command that last sent it a signal.
 * @property {number} [cpuMs]
 * @property {number} [snapshots]  In progress. Then its silence and its memory are not faults.
 */

/**
 * Data that control attaches to a process, so that any later control recognises it.
 * @typedef {object} Label
 * @property {string} name
 * @property {number} slot
 * @property {number} id
 * @property {number} generation
 * @property {number} spawns  All starts of this slot, including this one.
 * @property {string} scope  Instances with the same scope share listening sockets.
 * @property {string} outFile
 * @property {string} errorFile
 * @property {string} [logFile]  Both streams. Empty, or missing (an earlier version): none.
 * @property {User} [user]  The owner of its files. Missing: the manager's own user.
 * @property {boolean} [isGated]  It was started behind a gate.
 * @property {{ killTimeoutMs: number, signal: string | null, tree: boolean, message?: boolean }}
 *   stop
 */

/**
 * All state of control: the desired state (`desired`) and the facts (all other fields).
 * @typedef {object} Registry
 * @property {Desired} desired
 * @property {Map<string, Seat>} seats  By key. Without seats that are down.
 * @property {Map<string, Instance>} instances
 * @property {Map<number, SlotHistory>} histories  By slot id.
 * @property {Map<string, Set<string>>} openScopes  The keeper may hold sockets. App names by scope.
 * @property {Map<string, RollbackWindow>} windows  Rollback windows that are open, by the name of the app.
 * @property {Map<string, WatchedInstance>} samples  By instance, also old ones for the comparison.
 * @property {Set<number>} touched  Slots that were affected in this turn.
 * @property {'kill' | 'shutdown' | null} ending  Set: all instances end, despite `desired`.
 * @property {Set<string>} notices
 */

/**
 * @param {Desired} desired
 * @returns {Registry}
 */
export function createRegistry(desired) {
  return {
    desired,
    seats: new Map(),
    instances: new Map(),
    histories: new Map(),
    openScopes: new Map(),
    windows: new Map(),
    samples: new Map(),
    touched: new Set(),
    ending: null,
    notices: new Set(),
  };
}

/**
 * @param {number} id
 * @param {number} generation
 */
export function seatKey(id, generation) {
  return `${id}:${generation}`;
}

/** @param {Registry} registry */
export function restartNumbering(registry) {
  const { desired, instances, seats, histories } = registry;
  const isEmpty = desired.apps.length + instances.size + seats.size + histories.size === 0;
  if (isEmpty && desired.nextId > 0) registry.desired = { ...desired, nextId: 0 };
}

/**
 * @param {Registry} registry
 * @param {number} id
 */
export function getSlotHistory(registry, id) {
  const known = registry.histories.get(id);
  if (known) return known;
  const history = newSlotHistory();
  registry.histories.set(id, history);
  return history;
}

/** @typedef {{ app: DesiredApp, slot: DesiredSlot }} Found */

/**
 * A cache by Desired, which is never changed in place.
 * @type {WeakMap<Desired, Map<number, Found>>}
 */
const indexes = new WeakMap();

/**
 * @param {Registry} registry
 * @param {number} id
 */
export function findSlot({ desired }, id) {
  let index = indexes.get(desired);
  if (!index) {
    index = new Map(desired.apps.flatMap((app) => app.slots.map((slot) => [slot.id, { app, slot }])));
    indexes.set(desired, index);
  }
  return index.get(id) ?? null;
}

/**
 * During a guarded rollout the former generation is also wanted, until it has been replaced.
 * @param {Registry} registry
 * @param {Pick<Seat, 'id' | 'generation'>} seat
 */
export function isWanted(registry, seat) {
  const slot = findSlot(registry, seat.id)?.slot;
  if (registry.ending !== null || slot?.want !== 'up') return false;
  if (slot.generation === seat.generation) return true;
  return (
    slot.former?.generation === seat.generation &&
    registry.seats.get(seatKey(seat.id, slot.generation))?.life.state !== 'up'
  );
}

/**
 * @param {Registry} registry
 * @param {string} name
 */
export function listSeats(registry, name) {
  return [...registry.seats.values()].filter((seat) => seat.name === name);
}

/**
 * @param {Registry} registry
 * @param {number} id
 * @returns {Seat[]}  Oldest generation first.
 */
export function listSeatsOfSlot(registry, id) {
  return [...registry.seats.values()].filter((seat) => seat.id === id).sort((a, b) => a.generation - b.generation);
}

/**
 * Null: the seat has another instance now, or there never was a seat.
 * @param {Registry} registry
 * @param {string} instanceId
 */
export function findSeatOfInstance(registry, instanceId) {
  const label = registry.instances.get(instanceId)?.label;
  const seat = label ? registry.seats.get(seatKey(label.id, label.generation)) : undefined;
  return seat?.instanceId === instanceId ? seat : null;
}

/** @param {Registry} registry */
export function occupiedSlots(registry) {
  return new Set([...registry.instances.values()].map((instance) => instance.label.id));
}

/**
 * @param {Registry} registry
 * @param {number} id
 */
export function hasProcess(registry, id) {
  return [...registry.instances.values()].some((instance) => instance.label.id === id);
}

/**
 * @param {AppSpec} spec
 * @param {number} slot
 * @param {string} [base]
 * @returns {string}  App names contain no tab, so two apps never get the same scope.
 */
export function getScope(spec, slot, base = spec.name) {
  return spec.mode === 'cluster' ? base : `${base}\t${slot}`;
}

/**
 * @param {string} scope
 * @param {DesiredApp} app
 */
export function isAppScope(scope, { spec, scope: base = spec.name }) {
  return scope === base || (scope.startsWith(`${base}\t`) && /^\d+$/.test(scope.slice(base.length + 1)));
}

/**
 * @param {Registry} registry
 * @param {string} scope
 * @param {string} name  The name under which the keeper knows the app.
 */
export function openScope({ openScopes }, scope, name) {
  openScopes.set(scope, new Set([...(openScopes.get(scope) ?? []), name]));
}

/**
 * An instance that is about to serve counts, because then a replacement has to be guarded.
 * @param {Registry} registry
 * @param {DesiredApp} app
 */
export function isServing(registry, { spec }) {
  return listSeats(registry, spec.name).some(
    ({ life }) => life.state === 'up' || (STARTING_STATES.has(life.state) && !life.hasFailed),
  );
}

/**
 * A program in fork mode that does not listen may be one that must not run twice.
 * @param {Registry} registry
 * @param {DesiredApp} app
 */
export function isBeside(registry, { spec }) {
  if (spec.kind !== 'node') return false;
  return (
    spec.mode === 'cluster' ||
    [...registry.instances.values()].some(
      (instance) => instance.label.name === spec.name && !instance.exit && instance.addresses.length > 0,
    )
  );
}
