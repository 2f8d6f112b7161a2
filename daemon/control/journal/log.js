// Knows: past events: the event log of the home, and the followers that get new events. Must not:
// decide anything, or change the desired state.
import { jsonLine } from '../../../lib/shared/daemon/json-line.js';
import { readLastEvents } from '../../../lib/shared/event-log.js';
import { openEventFile } from './log-file.js';

/** @import { LoggedEvent } from '../../../lib/shared/event-log.js' */
/** @import { ManagerLog } from '../context.js' */

/**
 * When control starts, it reads this many bytes from the end of the log, because they contain the
 * events of processes that still run.
 */
export const RECALLED_BYTES = 256 * 1024;

/**
 * Contains each event once, even if control dies and the next control reports the event again. The
 * reason: note() skips events that are already in the log.
 * @typedef {object} EventLog
 * @property {(event: Omit<LoggedEvent, 'at'> & { at?: number }) => void} note
 *   Never throws: a full disk costs events, and their number is logged.
 * @property {number} sinceMs  Events from before this time are not added afterwards.
 * @property {(app: string) => number | null} generationOf  Generation of the app when it was
 *   added or last rolled out. Null: control knows no such event.
 * @property {(take: (event: LoggedEvent) => void) => () => void} follow  `take` must not throw.
 * @property {() => void} close
 */

/**
 * @param {object} o
 * @param {string} o.path
 * @param {() => number} o.nowMs
 * @param {ManagerLog} o.managerLog
 * @param {{ segmentBytes: number, segments: number }} [o.limits]
 * @returns {EventLog}
 */
export function createEventLog({ path, nowMs, managerLog, limits }) {
  const file = openEventFile(path, limits);
  const past = readPast(path, managerLog);
  const recall = createRecall(past);
  /** @type {{ count: number, sinceMs: number, reason: string } | null} */
  let lost = null;
  /** @type {Set<(event: LoggedEvent) => void>} */
  const followers = new Set();

  /** @param {LoggedEvent} event */
  function write(event) {
    if (lost) file.append(jsonLine({ at: nowMs(), type: 'lost', ...lost }));
    lost = null;
    file.append(jsonLine(event));
  }

  return {
    sinceMs: past.length > 0 ? past[0].at : nowMs(),
    generationOf: recall.generationOf,
    note(event) {
      const entry = /** @type {LoggedEvent} */ ({ at: nowMs(), ...event });
      if (!recall.isNew(entry)) return;
      for (const take of followers) take(entry);
      try {
        write(entry);
      } catch (error) {
        const reason = /** @type {NodeJS.ErrnoException} */ (error).code ?? String(error);
        if (!lost) managerLog('events-lost', { reason });
        lost = { count: (lost?.count ?? 0) + 1, sinceMs: lost?.sinceMs ?? entry.at, reason };
      }
    },
    follow(take) {
      followers.add(take);
      return () => void followers.delete(take);
    },
    close: file.close,
  };
}

/**
 * @param {string} path
 * @param {ManagerLog} managerLog
 */
function readPast(path, managerLog) {
  try {
    return readLastEvents(path, RECALLED_BYTES);
  } catch (error) {
    managerLog('events-unreadable', { message: /** @type {Error} */ (error).message });
    return [];
  }
}

/**
 * Limits of remembered processes. The log remembers them, because a control that starts reports
 * living processes and unrecorded deaths again.
 */
const LIVING_KEPT = 2_000;
const DEAD_KEPT = 500;

const ROLLOUTS_KEPT = 1_000;

/**
 * Events that happen once in the life of a process. Events in OF_ROLLOUT happen once in a rollout.
 */
const OF_INSTANCE = ['started', 'ready', 'died', 'backoff', 'gave-up', 'done', 'rollout:canary', 'rollout:step'];

const DIED = 1 << OF_INSTANCE.indexOf('died');

const OF_ROLLOUT = new Set(['rollout:window', 'rollout:done', 'rollout:halted', 'rollout:rolled-back']);

/** @param {LoggedEvent[]} past  Oldest first. */
function createRecall(past) {
  /**
   * Bits by instanceId, one bit for each event type. Uses bits to save memory, because a busy home
   * has thousands of processes.
   * @type {Map<string, number>}
   */
  const living = new Map();
  /** @type {Map<string, number>} */
  const dead = new Map();
  /** @type {Set<string>} */
  const rollouts = new Set();
  /** @type {Map<string, number>} */
  const generations = new Map();

  /**
   * @param {LoggedEvent} event
   * @returns {boolean}  False: the event is already in the log. Only events in OF_INSTANCE and
   *   OF_ROLLOUT are remembered. For other events, always true.
   */
  function isNew(event) {
    const { type, instanceId, app = '', generation } = event;
    if (OF_INSTANCE.includes(type) && instanceId && !noteOfInstance(instanceId, 1 << OF_INSTANCE.indexOf(type)))
      return false;
    if (OF_ROLLOUT.has(type) && !noteOfRollout(`${type} ${app}\t${generation}`)) return false;
    if (type === 'added' || type === 'deleted') forget(app);
    if ((type === 'added' || type === 'rollout:began') && generation !== undefined) generations.set(app, generation);
    return true;
  }

  /**
   * @param {string} instanceId
   * @param {number} bit
   */
  function noteOfInstance(instanceId, bit) {
    const bits = living.get(instanceId) ?? dead.get(instanceId) ?? 0;
    if (bits & bit) return false;
    const [kept, most] = (bits | bit) & DIED ? [dead, DEAD_KEPT] : [living, LIVING_KEPT];
    if (kept === dead) living.delete(instanceId);
    kept.set(instanceId, bits | bit);
    if (kept.size > most) kept.delete(/** @type {string} */ (kept.keys().next().value));
    return true;
  }

  /** @param {string} identity */
  function noteOfRollout(identity) {
    if (rollouts.has(identity)) return false;
    rollouts.add(identity);
    if (rollouts.size > ROLLOUTS_KEPT) rollouts.delete(/** @type {string} */ (rollouts.values().next().value));
    return true;
  }

  /**
   * Forgets the rollouts of the app, because a new app with the same name starts again at the first
   * generation.
   * @param {string} app
   */
  function forget(app) {
    generations.delete(app);
    for (const identity of rollouts) if (identity.includes(` ${app}\t`)) rollouts.delete(identity);
  }

  for (const event of past) isNew(event);
  return { isNew, generationOf: (/** @type {string} */ app) => generations.get(app) ?? null };
}
