import { findSlot, memoryOf } from '../state/registry.js';
import { newMemory, restartsOf } from '../state/slot-history.js';
import { SHOWN } from '../status/slot-status.js';

/** @import { ProcessEvent, ProcessInEvent } from '../../../lib/shared/wire/protocol.js' */
/** @import { AppMessage, AppMissed } from '../app-channel/messages.js' */
/** @import { Core } from '../keeper-link/tell.js' */
/** @import { Asked, Life, LifeEvent } from '../policy/seat.js' */
/** @import { Desired } from '../state/desired.js' */
/** @import { Instance, Label, Seat, World } from '../state/registry.js' */
/** @import { Chronicle } from './log.js' */

/**
 * Something that has happened to a process, or that an app has said.
 * @typedef {ProcessEvent | AppMessage | AppMissed} BusEvent
 */

/**
 * @typedef {object} Follower
 * @property {(event: BusEvent) => boolean} wants
 * @property {(event: BusEvent) => void} take  Must not throw.
 */

/** @typedef {Pick<ProcessEvent, 'event' | 'manually'>} Word  In PM2's words. */

/** What somebody asked for, as opposed to what the policy does. */
const COMMANDS = new Set(['stop', 'restart', 'reload', 'scale', 'delete']);

/** @type {Pick<Chronicle, 'note'>} */
const NO_CHRONICLE = { note() {} };

/** @typedef {ReturnType<typeof createEventBus>} EventBus */

/**
 * Where everything that happens is told, to whoever follows it, and to the log of events. What
 * nobody follows is not even put together.
 * @param {Pick<Chronicle, 'note'>} [chronicle]
 */
export function createEventBus(chronicle = NO_CHRONICLE) {
  /** @type {Set<Follower>} */
  const followers = new Set();
  let isQuiet = false;

  return {
    get isFollowed() {
      return followers.size > 0 && !isQuiet;
    },
    /**
     * @param {Follower} follower
     * @returns {() => void}  Ends it.
     */
    follow(follower) {
      followers.add(follower);
      return () => void followers.delete(follower);
    },
    /** What is kept. @type {Chronicle['note']} */
    note(event) {
      if (!isQuiet) chronicle.note(event);
    },
    /** @param {BusEvent} event */
    publish(event) {
      for (const follower of followers) if (follower.wants(event)) follower.take(event);
    },
    /**
     * Makes records of what has been there all the time: that is no news.
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
 * What one step of a seat is called. Pure.
 * @param {Pick<Life, 'state' | 'asked'>} before
 * @param {Pick<Life, 'state'>} after
 * @param {LifeEvent} event
 * @param {object} o
 * @param {Seat['begunBy']} o.begunBy
 * @param {boolean} o.isOnTrial  What fails in a guarded rollout is not tried again, however often
 *   it has failed.
 * @returns {Word[]}
 */
export function wordsOf(before, after, event, { begunBy, isOnTrial }) {
  if (after.state === before.state) return [];
  if (after.state === 'up')
    return [{ event: 'online', manually: false }, ...(begunBy ? [{ event: begunBy, manually: true }] : [])];
  if (after.state === 'failed') return isOnTrial ? [] : [{ event: 'restart overlimit', manually: false }];
  if (after.state !== 'down') return [];
  const asked = before.asked ?? (event.type === 'stop' ? event.asked : null);
  if (asked?.cause === 'stop') return [{ event: 'stop', manually: true }];
  return asked?.cause === 'delete' || asked?.cause === 'scale' ? [{ event: 'delete', manually: true }] : [];
}

/**
 * What the command is called that begins the life of a seat. Null: nobody's.
 * @param {World} world
 * @param {Pick<Seat, 'id'>} seat  It has not been started yet.
 * @returns {Seat['begunBy']}
 */
function beginningOf(world, { id }) {
  if (memoryOf(world, id).spawns === 0) return 'start';
  const rollout = findSlot(world, id)?.app.rollout;
  if (!rollout || rollout.cause === 'orphan' || rollout.failure) return null;
  return rollout.cause;
}

/**
 * @param {Core} core
 * @param {Seat} seat
 * @param {Life} before
 * @param {LifeEvent} event
 * @param {boolean} isOnTrial
 */
export function tellStep({ bus, world, parts }, seat, before, event, isOnTrial) {
  if (event.type === 'start') seat.begunBy = beginningOf(world, seat);
  const words = bus.isFollowed ? wordsOf(before, seat.life, event, { begunBy: seat.begunBy ?? null, isOnTrial }) : [];
  if (seat.life.state === 'up') seat.begunBy = null;
  const { id, name, slot, generation, instanceId } = seat;
  const instance = world.instances.get(instanceId ?? '');
  const pid = instance && !instance.exit ? instance.pid : 0;
  const process = () =>
    processOf(
      world,
      { id, name, slot, generation },
      { instanceId, pid, startedAtMs: instance?.startedAtMs ?? null, status: SHOWN[seat.life.state] },
    );
  for (const word of words)
    bus.publish({ type: 'process:event', ...word, process: process(), at: parts.clock.nowMs() });
}

/**
 * @param {Core} core
 * @param {Instance} instance
 * @param {Asked | null} asked
 */
export function tellExit({ bus, world, parts }, { instanceId, label, pid, startedAtMs, exit }, asked) {
  if (!bus.isFollowed) return;
  const manually = asked !== null && COMMANDS.has(asked.cause);
  const process = processOf(world, label, { instanceId, pid, startedAtMs, status: asked ? 'stopping' : 'stopped' });
  bus.publish({
    type: 'process:event',
    event: 'exit',
    manually,
    process: { ...process, exitCode: exit?.code ?? null, signal: exit?.signal ?? null },
    at: exit?.atMs ?? parts.clock.nowMs(),
  });
}

/**
 * Slots that have left the list and have no process whose end would tell of it.
 * @param {Core} core
 * @param {Desired} before
 */
export function tellDeleted({ bus, world, parts }, before) {
  if (!bus.isFollowed) return;
  const seated = new Set([...world.seats.values()].map(({ id }) => id));
  for (const app of before.apps) {
    for (const { id, slot, generation } of app.slots) {
      if (findSlot(world, id) || seated.has(id)) continue;
      const process = processOf(
        { ...world, desired: before },
        { id, name: app.spec.name, slot, generation },
        { instanceId: null, pid: 0, startedAtMs: null, status: 'stopped' },
      );
      bus.publish({ type: 'process:event', event: 'delete', manually: true, process, at: parts.clock.nowMs() });
    }
  }
}

/**
 * @param {World} world
 * @param {Pick<Label, 'id' | 'name' | 'slot' | 'generation'>} place
 * @param {Pick<ProcessInEvent, 'instanceId' | 'pid' | 'startedAtMs' | 'status'>} now
 * @returns {ProcessInEvent}
 */
function processOf(world, { id, name, slot, generation }, now) {
  const memory = world.memories.get(id) ?? newMemory();
  const app = findSlot(world, id)?.app;
  const { code = null, signal = null } = memory.deaths.at(-1) ?? {};
  return {
    id,
    name,
    slot,
    generation,
    namespace: app?.spec.namespace ?? 'default',
    ...now,
    restarts: restartsOf(memory, 0),
    mode: app?.spec.mode ?? null,
    version: app?.spec.version ?? 'N/A',
    createdAtMs: app?.createdAtMs ?? null,
    exitCode: code,
    signal,
  };
}
