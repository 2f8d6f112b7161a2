/** @import { LoggedEvent } from '../../../lib/shared/event-log.js' */

/** An update that replaces a process does so within this time, in ms. */
const UPDATE_MS = 60_000;

/** @typedef {{ atMs: number, text: string }} ManagerDeath */

/**
 * Finds deaths of the manager's own processes in the events, which each control logs.
 * @param {LoggedEvent[]} past  The last events before this control; they are not taken yet.
 * @returns {(event: LoggedEvent) => ManagerDeath | null}  Takes all events, oldest first.
 */
export function createDeathFinder(past) {
  // A meant end would be among the last events.
  const isUnclean = past.length > 0 && !past.some(({ type }) => /^manager:(ready|ending|update)$/.test(type));
  /** @type {LoggedEvent | null} */
  let before = null;
  let keeperPid = 0;
  /** Why the last control crashed. */
  let reason = '';

  return (event) => {
    if (!event.type.startsWith('manager:')) return null;
    const death = find(event);
    if (event.type === 'manager:crashed') reason = `, because of an error: ${event.message}`;
    if (event.type === 'manager:ready') reason = '';
    if (event.type === 'manager:ready') keeperPid = event.keeperPid;
    if (event.type === 'manager:keeper' && event.pid !== undefined) keeperPid = event.pid;
    if (isStep(event)) before = event;
    return death;
  };

  /** @param {number} at */
  function isUpdating(at) {
    return before?.type === 'manager:update' && at - before.at < UPDATE_MS;
  }

  /**
   * Other events, such as manager:state-lost, say nothing about the life of a process.
   * @param {LoggedEvent} event
   */
  function isStep({ type, at }) {
    // An update may exchange the keeper before control.
    if (/:(keeper|keeper-lost)$/.test(type)) return !isUpdating(at);
    return /:(ready|ending|update|keeper-failed)$/.test(type);
  }

  /**
   * @param {LoggedEvent} event
   * @returns {ManagerDeath | null}
   */
  function find({ type, at, keeperPid: pid }) {
    if (before ? before.type === 'manager:ending' || isUpdating(at) : !isUnclean) return null;
    if (type === 'manager:ready') return { atMs: at, text: describeStart(pid) };
    if (type !== 'manager:keeper-lost' || before?.type === 'manager:keeper-failed') return null;
    return {
      atMs: at,
      text: 'the keeper of nclust exited; another one starts, and replaces the workers app by app',
    };
  }

  /** @param {number} pid  Of the keeper. */
  function describeStart(pid) {
    const exited = `the control process of nclust exited${reason}; another one has started`;
    if (before === null) return exited;
    return pid === keeperPid
      ? `${exited}, and the apps kept running`
      : `nclust had to start again after an unclean end of its processes${reason}`;
  }
}

/** A receiver gets a message about deaths of the manager at most this often, in ms. */
const MANAGER_EVERY_MS = 60_000;

/**
 * @typedef {object} DeathNotes  Of one receiver.
 * @property {number} throughMs  Deaths until then have been taken.
 * @property {number} notifiedMs
 * @property {{ atMs: number, text: string, times: number } | null} waiting
 */

/**
 * @param {DeathNotes} notes
 * @param {ManagerDeath} death
 * @returns {DeathNotes}
 */
export function noteDeath(notes, { atMs, text }) {
  if (atMs <= notes.throughMs) return notes;
  const { atMs: firstMs = atMs, times = 0 } = notes.waiting ?? {};
  return { ...notes, throughMs: atMs, waiting: { atMs: firstMs, text, times: times + 1 } };
}

/**
 * @param {DeathNotes} notes
 * @param {number} nowMs
 */
export function isDeathDue({ waiting, notifiedMs }, nowMs) {
  return waiting !== null && Math.abs(nowMs - notifiedMs) >= MANAGER_EVERY_MS;
}
