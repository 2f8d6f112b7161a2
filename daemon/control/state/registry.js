// Knows: what is wanted (on disk), what there is (in memory), pure changes of what is wanted.
// Must not: ask the keeper, wait, or decide what follows.
// Start at: desired.js, then this file; store.js writes state.json, changes.js has the commands.
import { COMING } from '../policy/replace.js';
import { newSlotHistory } from './slot-history.js';

/** @import { User } from '../../../lib/shared/host/user-path.js' */
/** @import { AppSpec } from '../../../lib/shared/spec/spec.js' */
/** @import { ListenFailure } from '../../../lib/shared/wire/protocol.js' */
/** @import { Cancel } from '../host/clock.js' */
/** @import { Address, Exit } from '../keeper-link/link.js' */
/** @import { Life } from '../policy/seat.js' */
/** @import { Sample } from '../rollout/compare.js' */
/** @import { Window } from '../rollout/supervise.js' */
/** @import { DesiredApp, Desired, DesiredSlot } from './desired.js' */
/** @import { SlotHistory } from './slot-history.js' */

/**
 * A slot in one generation.
 * @typedef {object} Seat
 * @property {string} key
 * @property {number} id  Of the slot.
 * @property {number} generation
 * @property {Life} life
 * @property {AppSpec | null} spec  What its instance was started with. Null when the app is not in
 *   the list any more.
 * @property {string} name
 * @property {number} slot
 * @property {string | null} instanceId
 * @property {number} sinceMs  When it came into its state, wall clock.
 * @property {number | null} untilMs  When the running timer ends, wall clock.
 * @property {Cancel} cancelTimer
 * @property {'start' | 'restart' | 'reload' | null} [begunBy]  The command that began it, until it
 *   is up.
 */

/**
 * One OS process, until the last process of its tree is gone.
 * @typedef {object} Instance
 * @property {string} instanceId
 * @property {Label} label
 * @property {number} pid  0 until the keeper says.
 * @property {number | null} startedAtMs
 * @property {number | null} bootedAtMs  When its main module had been evaluated or it listened,
 *   whichever came first; of what cannot say so, when it was started.
 * @property {Address[]} addresses
 * @property {ListenFailure | null} listenFailure  Its last listen() that failed, until it listens
 *   there.
 * @property {boolean} isReady  It said so.
 * @property {boolean} wasUp  It has been, whatever it is now.
 * @property {boolean} isAwaitingSecrets  The keeper has not been asked for it.
 * @property {boolean} isStray  Runs, and the list may have lost it: left alone.
 * @property {boolean} isOrphan  An earlier keeper had started it.
 * @property {boolean} isGated  It listens, and no connection comes to it yet.
 * @property {boolean} isParked
 * @property {Exit | null} exit
 * @property {string | null} outPipe
 * @property {string | null} errPipe
 * @property {string | null} signalledBy  The command that last sent it a signal.
 * @property {number} [cpuMs]  What it has used so far, as of the last look.
 * @property {number} [snapshots]  Of its heap, that are being taken: neither its silence nor its
 *   memory means anything.
 */

/**
 * What control writes on a process so that any later control knows what it is.
 * @typedef {object} Label
 * @property {string} name
 * @property {number} slot
 * @property {number} id
 * @property {number} generation
 * @property {number} spawns  Ever, for this slot, this one included.
 * @property {string} scope  Who shares its listening sockets.
 * @property {string} outFile
 * @property {string} errorFile
 * @property {string} [logFile]  Both streams. Empty, or missing where an earlier version wrote the
 *   label: none.
 * @property {User} [user]  Who owns its files. Missing: the manager's own user does.
 * @property {boolean} [isGated]  It was started behind a gate.
 * @property {{ killTimeoutMs: number, signal: string | null, tree: boolean, message?: boolean }}
 *   stop
 */

/**
 * Everything control knows: wishes (`desired`) and facts (the rest).
 * @typedef {object} Registry
 * @property {Desired} desired
 * @property {Map<string, Seat>} seats  By key. A seat that is down is not there.
 * @property {Map<string, Instance>} instances
 * @property {Map<number, SlotHistory>} histories  By slot id.
 * @property {Map<string, Set<string>>} openScopes  Scopes whose listening sockets the keeper may
 *   hold, with the names the app has had.
 * @property {Map<string, Window>} windows  Rollback windows that are open, by the name of the app.
 * @property {Map<string, Sample>} samples  By instance: those that are watched, and the old ones they
 *   are measured by.
 * @property {Set<number>} touched  Slots to which something has happened in this turn.
 * @property {'kill' | 'shutdown' | null} ending  Nothing is wanted any more, whatever `desired`
 *   says.
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

/**
 * In an empty list ids begin at 0 again, when the past of the last slot is gone, too.
 * @param {Registry} registry
 */
export function numberFromZero(registry) {
  const { desired, instances, seats, histories } = registry;
  const isEmpty = desired.apps.length + instances.size + seats.size + histories.size === 0;
  if (isEmpty && desired.nextId > 0) registry.desired = { ...desired, nextId: 0 };
}

/**
 * @param {Registry} registry
 * @param {number} id
 */
export function slotHistoryOf(registry, id) {
  const known = registry.histories.get(id);
  if (known) return known;
  const history = newSlotHistory();
  registry.histories.set(id, history);
  return history;
}

/** @typedef {{ app: DesiredApp, slot: DesiredSlot }} Found */

/**
 * A Desired is never changed in place, so an index of it stays true.
 * @type {WeakMap<Desired, Map<number, Found>>}
 */
const indexes = new WeakMap();

/**
 * @param {Registry} world
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
 * Whether the slot of a seat should be up in the seat's generation; or in the one before, as long
 * as a guarded rollout has not replaced it.
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
export function seatsOf(registry, name) {
  return [...registry.seats.values()].filter((seat) => seat.name === name);
}

/**
 * @param {Registry} registry
 * @param {number} id
 * @returns {Seat[]}  Oldest generation first.
 */
export function seatsOfSlot(registry, id) {
  return [...registry.seats.values()].filter((seat) => seat.id === id).sort((a, b) => a.generation - b.generation);
}

/**
 * The seat an instance is sitting in now, or null: it has been left behind, or is nobody's.
 * @param {Registry} registry
 * @param {string} instanceId
 */
export function seatOfInstance(registry, instanceId) {
  const label = registry.instances.get(instanceId)?.label;
  const seat = label ? registry.seats.get(seatKey(label.id, label.generation)) : undefined;
  return seat?.instanceId === instanceId ? seat : null;
}

/**
 * The slots that have a process, or the rest of one.
 * @param {Registry} registry
 */
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
 * @param {string} [base]  That of the app. Default: its name.
 * @returns {string}  Instances with the same scope share their listening sockets. A tab is in no
 *   app's name, so that no two apps meet.
 */
export function scopeOf(spec, slot, base = spec.name) {
  return spec.mode === 'cluster' ? base : `${base}\t${slot}`;
}

/**
 * @param {string} scope
 * @param {DesiredApp} app
 */
export function isScopeOf(scope, { spec, scope: base = spec.name }) {
  return scope === base || (scope.startsWith(`${base}\t`) && /^\d+$/.test(scope.slice(base.length + 1)));
}

/**
 * @param {Registry} world
 * @param {string} scope
 * @param {string} name  Of the app, as the keeper knows it.
 */
export function openScope({ openScopes }, scope, name) {
  openScopes.set(scope, new Set([...(openScopes.get(scope) ?? []), name]));
}

/**
 * Whether something of an app serves, or is about to: then its replacement has to be guarded.
 * @param {Registry} registry
 * @param {DesiredApp} app
 */
export function isServing(registry, { spec }) {
  return seatsOf(registry, spec.name).some(
    ({ life }) => life.state === 'up' || (COMING.has(life.state) && !life.hasFailed),
  );
}

/**
 * Whether two instances of a slot can run at the same time: they share their sockets. A program in
 * fork mode that does not listen may be one that must not run twice.
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
