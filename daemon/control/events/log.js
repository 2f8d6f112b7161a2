import { readLastEvents } from '../../../lib/shared/event-log.js';
import { openEventFile } from './log-file.js';
import { createRecall } from './recall.js';

/** @import { LoggedEvent } from '../../../lib/shared/event-log.js' */

/** How much of the log a control reads when it begins, in bytes: it holds what the one before may have told of processes that are there. */
const RECALLED_BYTES = 256 * 1024;

/**
 * What has happened in a home, on disk: who looks in the morning finds it. It is written before the next control could be told the same, and what is in the
 * log already is not written again, so each event is there once however often control dies.
 * @typedef {object} Chronicle
 * @property {(event: Omit<LoggedEvent, 'at'> & {at?: number}) => void} note  Never throws: a full disk costs events, and tells how many.
 * @property {number} sinceMs  What has happened before is not told after the fact.
 * @property {(app: string) => number|null} generationOf  Of its last rollout in the log, as far as that is remembered.
 * @property {(take: (event: LoggedEvent) => void) => () => void} follow  What is noted from now on; what it returns ends it. `take` must not throw.
 * @property {() => void} close
 */

/**
 * @param {object} o
 * @param {string} o.path
 * @param {() => number} o.nowMs
 * @param {import('../logs/manager-log.js').Journal} o.journal
 * @param {typeof import('./log-file.js').EVENT_LIMITS} [o.limits]
 * @returns {Chronicle}
 */
export function createChronicle({ path, nowMs, journal, limits }) {
  const file = openEventFile(path, limits);
  const past = pastOf(path, journal);
  const recall = createRecall(past);
  /** @type {{count: number, sinceMs: number, reason: string}|null} */
  let lost = null;
  /** @type {Set<(event: LoggedEvent) => void>} */
  const followers = new Set();

  /** @param {LoggedEvent} event */
  function write(event) {
    if (lost) file.append(JSON.stringify({ at: nowMs(), type: 'lost', ...lost }));
    lost = null;
    file.append(JSON.stringify(event));
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
        if (!lost) journal('events-lost', { reason });
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
 * @param {import('../logs/manager-log.js').Journal} journal
 */
function pastOf(path, journal) {
  try {
    return readLastEvents(path, RECALLED_BYTES);
  } catch (error) {
    journal('events-unreadable', { message: /** @type {Error} */ (error).message });
    return [];
  }
}
