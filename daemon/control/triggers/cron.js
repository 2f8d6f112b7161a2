import { createRequire } from 'node:module';
import { NclustError } from '../../../lib/shared/errors.js';

/** @import { ManagerLog } from '../context.js' */
/** @import { Cancel, Clock } from '../host/clock.js' */

/**
 * The longest sleep. If the wall clock goes back by more than this, control computes the next run
 * again, because the clock may be years ahead when a machine boots. If the wall clock goes back by
 * less, control does not, because a run would repeat.
 */
const NAP_MS = 30_000;

/** @typedef {(pattern: string, afterMs: number) => number | null} NextRun  Null: never again. */

/**
 * Skips runs that were missed while control did not run.
 * @typedef {object} Crons
 * @property {(patterns: Map<string, string>) => void} sync  All patterns, by app name.
 * @property {(name: string) => number | null} nextRunMs
 * @property {() => void} close
 */

/**
 * @param {object} o
 * @param {Clock} o.clock
 * @param {NextRun} [o.nextRun]
 * @param {ManagerLog} o.managerLog
 * @param {(name: string, pattern: string) => void} o.onDue
 * @returns {Crons}
 */
export function createCrons({ clock, nextRun = cronerNextRun, managerLog, onDue }) {
  /** @type {Map<string, { pattern: string, atMs: number | null, cancel: Cancel }>} */
  const entries = new Map();

  /**
   * @param {string} name
   * @param {string} pattern
   */
  function arm(name, pattern) {
    const entry = { pattern, atMs: findNext(name, pattern), cancel: () => {} };
    let latestMs = clock.nowMs();
    entries.set(name, entry);

    function sleep() {
      if (entry.atMs === null) return;
      entry.cancel = clock.after(Math.min(NAP_MS, Math.max(0, entry.atMs - clock.nowMs())), wake);
    }

    function wake() {
      const nowMs = clock.nowMs();
      const isDue = entry.atMs !== null && nowMs >= entry.atMs;
      const isSetBack = nowMs < latestMs - NAP_MS;
      latestMs = isSetBack ? nowMs : Math.max(latestMs, nowMs);
      if (isDue || isSetBack) entry.atMs = findNext(name, pattern);
      if (isDue) onDue(name, pattern);
      sleep();
    }

    sleep();
  }

  /**
   * @param {string} name
   * @param {string} pattern
   */
  function findNext(name, pattern) {
    try {
      return nextRun(pattern, clock.nowMs());
    } catch (error) {
      // Control checks the pattern when it starts an app, so another version of nclust wrote the
      // list.
      managerLog('cron-pattern-bad', { app: name, pattern, message: /** @type {Error} */ (error).message });
      return null;
    }
  }

  return {
    sync(patterns) {
      for (const [name, { pattern, cancel }] of entries) {
        if (patterns.get(name) === pattern) continue;
        cancel();
        entries.delete(name);
      }
      for (const [name, pattern] of patterns) if (!entries.has(name)) arm(name, pattern);
    },
    nextRunMs: (name) => entries.get(name)?.atMs ?? null,
    close() {
      for (const { cancel } of entries.values()) cancel();
      entries.clear();
    },
  };
}

/** @type {NextRun} */
export function cronerNextRun(pattern, afterMs) {
  // croner is loaded on demand, because most homes have no cron.
  const require = createRequire(import.meta.url);
  const { Cron } = /** @type {typeof import('croner')} */ (require('croner'));
  return new Cron(pattern, { paused: true, sloppyRanges: true }).nextRun(new Date(afterMs))?.getTime() ?? null;
}

/**
 * Our command line checks patterns, but another client may send a pattern that is not valid.
 * @param {string} pattern  Throws ERR_NCLUST_BAD_SPEC with croner's message.
 */
export function checkCron(pattern) {
  try {
    cronerNextRun(pattern, 0);
  } catch (error) {
    throw new NclustError(
      'ERR_NCLUST_BAD_SPEC',
      `"cronRestart" is ${JSON.stringify(pattern)}; accepted: a cron pattern ` +
        `(${/** @type {Error} */ (error).message}).`,
      { data: { keyPath: 'cronRestart' }, cause: error },
    );
  }
}
