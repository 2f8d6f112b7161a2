import { findSlot, getSlotHistory } from '../state/registry.js';
import { newSlotHistory, countRestarts } from '../state/slot-history.js';
import { SHOWN } from '../status/slot-status.js';

/** @import { ProcessEvent, ProcessInEvent } from '../../../lib/shared/wire/protocol.js' */
/** @import { AppMessage, AppMissed } from '../app-channel/messages.js' */
/** @import { LoopContext } from '../keeper-link/tell.js' */
/** @import { Asked, Life, LifeEvent } from '../policy/seat.js' */
/** @import { Desired } from '../state/desired.js' */
/** @import { Instance, Label, Seat, Registry } from '../state/registry.js' */
/** @import { EventLog } from './log.js' */

/** @typedef {ProcessEvent | AppMessage | AppMissed} BusEvent */

/**
 * @typedef {object} Follower
 * @property {(event: BusEvent) => boolean} wants
 * @property {(event: BusEvent) => void} deliver  Must not throw.
 */

/**
 * @typedef {Pick<ProcessEvent, 'event' | 'manually'>} Word  An event with the names that PM2 uses.
 */

/** Causes that a user asked for, as opposed to decisions of the policy. */
const COMMANDS = new Set(['stop', 'restart', 'reload', 'scale', 'delete']);

/** @type {Pick<EventLog, 'note'>} */
const NO_EVENT_LOG = { note() {} };

/** @typedef {ReturnType<typeof createEventBus>} EventBus */

/**
 * Callers check `isFollowed` first, so that they do not build events without a follower.
 * @param {Pick<EventLog, 'note'>} [eventLog]
 */
export function createEventBus(eventLog = NO_EVENT_LOG) {
  /** @type {Set<Follower>} */
  const followers = new Set();
  let isQuiet = false;

  return {
    get isFollowed() {
      return followers.size > 0 && !isQuiet;
    },
    /**
     * @param {Follower} follower
     * @returns {() => void}
     */
    follow(follower) {
      followers.add(follower);
      return () => void followers.delete(follower);
    },
    /** @type {EventLog['note']} */
    note(event) {
      if (!isQuiet) eventLog.note(event);
    },
    /** @param {BusEvent} event */
    publish(event) {
      for (const follower of followers) if (follower.wants(event)) follower.deliver(event);
    },
    /**
     * @template T
     * @param {() => T} work
     */
    quietly(work) {
      isQuiet = true;
      try {
        return work();
      } finally {
        isQuiet = false;
      }
    },
  };
}

/**
 * @param {Pick<Life, 'state' | 'asked'>} before
 * @param {Pick<Life, 'state'>} after
 * @param {LifeEvent} event
 * @param {object} o
 * @param {Seat['begunBy']} o.begunBy
 * @param {boolean} o.isOnProbation  A failure on probation is final, even if the restart limit is
 *   not reached.
 * @returns {Word[]}
 */
export function listEventWords(before, after, event, { begunBy, isOnProbation }) {
  if (after.state === before.state) return [];
  if (after.state === 'up')
    return [{ event: 'online', manually: false }, ...(begunBy ? [{ event: begunBy, manually: true }] : [])];
  if (after.state === 'failed') return isOnProbation ? [] : [{ event: 'restart overlimit', manually: false }];
  if (after.state !== 'down') return [];
  const asked = before.asked ?? (event.type === 'stop' ? event.asked : null);
  if (asked?.cause === 'stop') return [{ event: 'stop', manually: true }];
  return asked?.cause === 'delete' || asked?.cause === 'scale' ? [{ event: 'delete', manually: true }] : [];
}

/**
 * Returns the command that starts the seat. Null: no command starts the seat.
 * @param {Registry} registry
 * @param {Pick<Seat, 'id'>} seat  Not started yet.
 * @returns {Seat['begunBy']}
 */
function beginningOf(registry, { id }) {
  if (getSlotHistory(registry, id).spawns === 0) return 'start';
  const rollout = findSlot(registry, id)?.app.rollout;
  if (!rollout || rollout.cause === 'orphan' || rollout.failure) return null;
  return rollout.cause;
}

/**
 * @param {LoopContext} core
 * @param {Seat} seat
 * @param {Life} before
 * @param {LifeEvent} event
 * @param {boolean} isOnProbation
 */
export function tellStep({ bus, registry, parts }, seat, before, event, isOnProbation) {
  if (event.type === 'start') seat.begunBy = beginningOf(registry, seat);
  const words = bus.isFollowed
    ? listEventWords(before, seat.life, event, { begunBy: seat.begunBy ?? null, isOnProbation })
    : [];
  if (seat.life.state === 'up') seat.begunBy = null;
  const { id, name, slot, generation, instanceId } = seat;
  const instance = registry.instances.get(instanceId ?? '');
  const pid = instance && !instance.exit ? instance.pid : 0;
  const process = () =>
    processOf(
      registry,
      { id, name, slot, generation },
      { instanceId, pid, startedAtMs: instance?.startedAtMs ?? null, status: SHOWN[seat.life.state] },
    );
  for (const word of words)
    bus.publish({ type: 'process:event', ...word, process: process(), at: parts.clock.nowMs() });
}

/**
 * @param {LoopContext} core
 * @param {Instance} instance
 * @param {Asked | null} asked
 */
export function tellExit({ bus, registry, parts }, { instanceId, label, pid, startedAtMs, exit }, asked) {
  if (!bus.isFollowed) return;
  const manually = asked !== null && COMMANDS.has(asked.cause);
  const process = processOf(registry, label, { instanceId, pid, startedAtMs, status: asked ? 'stopping' : 'stopped' });
  bus.publish({
    type: 'process:event',
    event: 'exit',
    manually,
    process: { ...process, exitCode: exit?.code ?? null, signal: exit?.signal ?? null },
    at: exit?.atMs ?? parts.clock.nowMs(),
  });
}

/**
 * Skips slots that have a seat, because the same event is published when the seat ends.
 * @param {LoopContext} core
 * @param {Desired} before
 */
export function emitDeleted({ bus, registry, parts }, before) {
  if (!bus.isFollowed) return;
  const seated = new Set([...registry.seats.values()].map(({ id }) => id));
  for (const app of before.apps) {
    for (const { id, slot, generation } of app.slots) {
      if (findSlot(registry, id) || seated.has(id)) continue;
      const process = processOf(
        { ...registry, desired: before },
        { id, name: app.spec.name, slot, generation },
        { instanceId: null, pid: 0, startedAtMs: null, status: 'stopped' },
      );
      bus.publish({ type: 'process:event', event: 'delete', manually: true, process, at: parts.clock.nowMs() });
    }
  }
}

/**
 * @param {Registry} registry
 * @param {Pick<Label, 'id' | 'name' | 'slot' | 'generation'>} place
 * @param {Pick<ProcessInEvent, 'instanceId' | 'pid' | 'startedAtMs' | 'status'>} now
 * @returns {ProcessInEvent}
 */
function processOf(registry, { id, name, slot, generation }, now) {
  const history = registry.histories.get(id) ?? newSlotHistory();
  const app = findSlot(registry, id)?.app;
  const { code = null, signal = null } = history.deaths.at(-1) ?? {};
  return {
    id,
    name,
    slot,
    generation,
    namespace: app?.spec.namespace ?? 'default',
    ...now,
    restarts: countRestarts(history, 0),
    mode: app?.spec.mode ?? null,
    version: app?.spec.version ?? 'N/A',
    createdAtMs: app?.createdAtMs ?? null,
    exitCode: code,
    signal,
  };
}
