// Knows: happenings of apps. Control publishes each once, as a record. The event log of the home,
// the manager's log and the followers of events take the fields that they need. Must not: decide
// anything, or change the desired state. Start at: this file. process-events.js and
// change-events.js make the records; manager-events.js has the happenings of the manager itself.
import { findSeat, findSlot } from '../state/registry.js';
import { newSlotHistory, countRestarts } from '../state/slot-history.js';
import { toLogEntry } from './process-events.js';

/** @import { LoggedEvent } from '../../../lib/shared/event-log.js' */
/** @import { TroubleEvent } from '../../../lib/shared/troubles.js' */
/** @import { ProcessEvent, ProcessInEvent } from '../../../lib/shared/wire/protocol.js' */
/** @import { AppMessage, AppMissed } from '../app-channel/messages.js' */
/** @import { Parts } from '../context.js' */
/** @import { Registry } from '../state/registry.js' */
/** @import { RecordedDeath } from '../state/slot-history.js' */

/**
 * Has the types of the event log, and `left`, which is not logged: a slot was stopped or removed.
 * `died` has the whole death, which the event log shortens.
 * @typedef {Omit<LoggedEvent, 'at'> & { at?: number, death?: RecordedDeath, isAsked?: boolean }}
 *   Happening
 */

/** @typedef {ProcessEvent | TroubleEvent | AppMessage | AppMissed} FollowedEvent */

/**
 * @typedef {object} Follower
 * @property {(event: FollowedEvent) => boolean} wants
 * @property {(event: FollowedEvent) => void} deliver  Must not throw.
 */

/** @typedef {ReturnType<typeof createJournal>} Journal */

/**
 * @param {Pick<Parts, 'clock' | 'eventLog' | 'managerLog'>} parts
 * @param {Registry} registry
 */
export function createJournal({ clock, eventLog, managerLog }, registry) {
  /** @type {Set<Follower>} */
  const followers = new Set();
  let isQuiet = false;

  /** @param {FollowedEvent} event */
  function send(event) {
    for (const follower of followers) if (follower.wants(event)) follower.deliver(event);
  }

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
    send,
    /** @param {Happening} record */
    publish(record) {
      if (isQuiet) return;
      if (record.type !== 'left') eventLog.note(toLogEntry(record));
      if (record.death && !record.isAsked) logDeath(record, record.death);
      if (followers.size > 0) for (const event of processEvents(registry, record, clock.nowMs())) send(event);
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

  /**
   * Leaves out output of the app, because users share this log, and output may contain a password.
   * @param {Happening} record
   * @param {RecordedDeath} death
   */
  function logDeath({ app, slot }, { lastLines, words: _words, frame: _frame, ...death }) {
    if (death.cause === 'spawn-failed') managerLog('spawn-failed', { app, slot, message: lastLines[0] });
    else managerLog('died', { app, slot, ...death });
  }
}

/** Causes that a user asked for, as opposed to decisions of the policy. */
const COMMANDS = new Set(['stop', 'restart', 'reload', 'scale', 'delete']);

/**
 * Returns the events of the protocol, which have the names of PM2.
 * @param {Registry} registry
 * @param {Happening} record
 * @param {number} nowMs
 * @returns {ProcessEvent[]}
 */
function processEvents(registry, record, nowMs) {
  const { type, id = -1, generation = 0, cause, death, isAsked = false } = record;
  /** @type {(event: ProcessEvent['event'], status: ProcessInEvent['status'], manually: boolean) => ProcessEvent} */
  const word = (event, status, manually) => ({
    type: 'process:event',
    event,
    manually,
    process: getProcess(registry, record, status),
    at: death?.atMs ?? nowMs,
  });
  if (type === 'ready') {
    const begunBy = findSeat(registry, { id, generation })?.begunBy;
    return [word('online', 'online', false), ...(begunBy ? [word(begunBy, 'online', true)] : [])];
  }
  if (type === 'gave-up') return [word('restart overlimit', 'errored', false)];
  if (type === 'left') return [word(cause === 'stop' ? 'stop' : 'delete', 'stopped', true)];
  if (!death || death.cause === 'spawn-failed') return [];
  return [word('exit', isAsked ? 'stopping' : 'stopped', isAsked && COMMANDS.has(death.cause))];
}

/**
 * @param {Registry} registry
 * @param {Happening} record
 * @param {ProcessInEvent['status']} status
 * @returns {ProcessInEvent}
 */
function getProcess(registry, { app: name = '', id = -1, slot = 0, generation = 0, instanceId = null, death }, status) {
  const history = registry.histories.get(id) ?? newSlotHistory();
  const instance = registry.instances.get(instanceId ?? '');
  const app = findSlot(registry, id)?.app;
  const { code = null, signal = null } = history.deaths.at(-1) ?? {};
  return {
    id,
    name,
    slot,
    generation,
    namespace: app?.spec.namespace ?? 'default',
    instanceId,
    pid: instance && (death || !instance.exit) ? instance.pid : 0,
    startedAtMs: instance?.startedAtMs ?? null,
    status,
    restarts: countRestarts(history, 0),
    mode: app?.spec.mode ?? null,
    version: app?.spec.version ?? 'N/A',
    createdAtMs: app?.createdAtMs ?? null,
    exitCode: code,
    signal,
  };
}
