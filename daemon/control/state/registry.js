// Knows: the desired state (on disk), the records of what exists (in memory), pure changes of the
// desired state. Must not: ask the keeper, wait, or decide what follows. Start at: desired.js, then
// this file; store.js writes state.json, changes.js has the commands.
import { STARTING_STATES } from '../policy/replace.js';
import { newSlotHistory } from './slot-history.js';

/** @import { User } from '../../../lib/shared/host/user-path.js' */
/** @import { AppSpec } from '../../../lib/app-spec/types.js' */
/** @import { ListenFailure } from '../../../lib/shared/wire/protocol.js' */
/** @import { Cancel } from '../host/clock.js' */
/** @import { Life } from '../policy/seat.js' */
/** @import { DesiredApp, Desired, DesiredSlot } from './desired.js' */
/** @import { SlotHistory } from './slot-history.js' */

/**
 * A slot in one generation.
 * @typedef {object} Seat
 * @property {string} key
 * @property {number} id
 * @property {number} generation
 * @property {Life} life
 * @property {AppSpec | null} spec  The spec of the instance. Null: the app is not in the list.
 * @property {string} name
 * @property {number} slot
 * @property {string | null} instanceId
 * @property {number} sinceMs  When the seat entered its state, wall clock.
 * @property {number | null} untilMs  When the running timer ends, wall clock.
 * @property {Cancel} cancelTimer
 * @property {Cancel} cancelLook
 * @property {'start' | 'restart' | 'reload' | null} [begunBy]  The command that starts the seat.
 *   Null: no command, or the seat is up.
 */

/**
 * An operating-system process, until the last process of its tree is gone.
 * @typedef {object} Instance
 * @property {string} instanceId
 * @property {Label} label
 * @property {number} pid  0 until the keeper reports it.
 * @property {number | null} startedAtMs
 * @property {number | null} bootedAtMs  When the program first listened, or had evaluated its
 *   main module. For a program that cannot report this: when it was started.
 * @property {number | null} onlineSinceMs  When it was ready. Null: it has not been ready.
 * @property {Address[]} addresses
 * @property {ListenFailure | null} listenFailure  The last failure of listen(), unless a later
 *   listen() has succeeded.
 * @property {boolean} isReady  The program sent `ready`.
 * @property {boolean} isExcused  It is ready without the message `ready`, which never comes.
 * @property {boolean} hasSocket  Control saw that one of its processes listens.
 * @property {(Activity & { atMs: number }) | null} activity  At the last look.
 * @property {boolean | null} isProgressing  Between the last two looks. Null: not known.
 * @property {boolean} wasUp
 * @property {boolean} isAwaitingSecrets  Control is reading the secrets, and has not sent the
 *   start to the keeper.
 * @property {boolean} isAwaitingTurn  Another instance has to start first, so control has not sent
 *   the start to the keeper.
 * @property {boolean} isStray  The list may have lost the slot. Control leaves the process alone.
 * @property {boolean} isOrphan  An earlier keeper started the process.
 * @property {boolean} isGated  The program listens, but its gate is closed.
 * @property {boolean} isParked
 * @property {Exit | null} exit
 * @property {string | null} outPipe
 * @property {string | null} errPipe
 * @property {string | null} signalledBy  The last command that sent a signal.
 * @property {number} [cpuMs]
 * @property {Promise<void>} [breakIn]  nclust has its inspector open. Resolves at the end.
 * @property {boolean} [isHung]  Its event loop has been blocked for the whole `hang_timeout`.
 * @property {number} [snapshots]  Snapshots in progress. They block the program and take memory.
 */

/**
 * Data that control attaches to a process, so that any later control recognises it.
 * @typedef {object} Label
 * @property {string} name
 * @property {number} slot
 * @property {number} id
 * @property {number} generation
 * @property {number} spawns  Number of starts of the slot, including this start.
 * @property {string} scope  Instances with the same scope share listening sockets.
 * @property {string} outFile
 * @property {string} errorFile
 * @property {string} [logFile]  For both streams. Empty or missing: no such file.
 * @property {User} [user]  The owner of the log files. Missing: the manager's own user.
 * @property {boolean} [isGated]  The process was started behind a gate.
 * @property {boolean} [hasSecretInspector]  Only control learns the address of its inspector.
 * @property {true} [hasNoChannel]  The process was started without an IPC channel and the agent.
 * @property {{ killTimeoutMs: number, signal: string | null, tree: boolean, message?: boolean }} stop
 */

/**
 * @typedef {object} KeeperDeaths
 * @property {number[]} atMs  Wall clock. The last deaths, oldest first.
 * @property {number | null} lastStarted  The slot whose instance the present keeper started last,
 *   with a channel.
 * @property {number} nextTurnMs
 * @property {Set<string>} surplus  Instances of earlier keepers that have to exit first.
 */

/**
 * All state of control: the desired state (`desired`) and the facts (all other fields).
 * @typedef {object} Registry
 * @property {Desired} desired
 * @property {Map<string, Seat>} seats  By key. Without seats that are down.
 * @property {Map<string, Instance>} instances
 * @property {Map<number, SlotHistory>} histories  By slot id.
 * @property {Map<string, Set<string>>} openScopes  By scope: apps whose sockets the keeper
 *   may hold.
 * @property {Map<string, RollbackWindow>} windows  Open rollback windows, by the name of the app.
 * @property {Map<string, WatchedInstance>} samples  By instance. Includes old instances.
 * @property {Set<number>} touched  Slots that were affected in this turn.
 * @property {'kill' | 'shutdown' | null} ending  If set, all instances end, despite `desired`.
 * @property {KeeperDeaths} keeperDeaths
 * @property {Set<string>} notices
 */

/** @typedef {{ address: string, port: number, family: string }} Address */

/** @typedef {{ code: number | null, signal: string | null, atMs: number }} Exit */

/**
 * @typedef {object} Activity  Of a process and its descendants.
 * @property {number} cpuMs
 * @property {number} ioBytes
 * @property {boolean} isListening  On a socket that the keeper does not know.
 */

/**
 * An instance in a rollout with a rollback window. Other instances are not sampled.
 * @typedef {object} WatchedInstance
 * @property {string} name
 * @property {number} slot
 * @property {number} generation
 * @property {boolean} isWatched
 * @property {boolean} isPinged  A ping is waiting for its answer.
 * @property {boolean} isSilent
 * @property {Span[]} spans
 */

/**
 * @typedef {object} Span
 * @property {number} responses
 * @property {number} errors  Responses with a status of 500 or more.
 * @property {number} delayP99Ms  Delay of the event loop.
 * @property {number} atMs  The end of the span.
 */

/**
 * A rollback window that is open.
 * @typedef {object} RollbackWindow
 * @property {number} endsAtMs
 * @property {boolean} isOver
 * @property {Cancel} cancel
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
    keeperDeaths: { atMs: [], lastStarted: null, nextTurnMs: 0, surplus: new Set() },
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
 * Caches the slots of each Desired. A Desired is never changed in place, so the cache stays right.
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
  return slot.former?.generation === seat.generation && findSeat(registry, slot)?.life.state !== 'up';
}

/**
 * @param {Pick<Registry, 'seats'>} registry
 * @param {{ id: number, generation: number }} place
 */
export function findSeat({ seats }, { id, generation }) {
  return seats.get(seatKey(id, generation));
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
 * Returns null if control does not know the instance, if its seat is gone, or if its seat has
 * another instance now.
 * @param {Registry} registry
 * @param {string} instanceId
 */
export function findSeatOfInstance(registry, instanceId) {
  const label = registry.instances.get(instanceId)?.label;
  const seat = label && findSeat(registry, label);
  return seat?.instanceId === instanceId ? seat : null;
}

/**
 * Every screen shows this moment. It is stored when its timer is set.
 * @param {Registry} registry
 * @param {Seat} seat
 * @returns {number | null}  When its state ends at the latest, wall clock. Null: no time limit.
 */
export function findDeadline(registry, { id, life, instanceId, untilMs }) {
  if (life.state === 'parked') return findSlot(registry, id)?.app.rollout.windowEndsAtMs ?? null;
  if (life.state === 'stopping') return getSlotHistory(registry, id).asked[instanceId ?? '']?.killAtMs ?? null;
  return untilMs;
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
 * @returns {string}  In fork mode, each slot has its own scope. App names contain no tab, so two
 *   apps never get the same scope.
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
 * An instance that is about to serve counts too, because its replacement has to be guarded.
 * @param {Registry} registry
 * @param {DesiredApp} app
 */
export function isServing(registry, { spec }) {
  return listSeats(registry, spec.name).some(
    ({ life }) => life.state === 'up' || (STARTING_STATES.has(life.state) && !life.hasFailed),
  );
}

/**
 * Whether old and new instances may run side by side. In fork mode, a program that does not listen
 * may be unable to run twice.
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
