import pidusage from 'pidusage';

/** @import { Status } from 'pidusage' */
/** @import { Reading } from './usage.js' */

/**
 * A pid that is not asked for in this many ms is forgotten: pidusage then closes the descriptor
 * that it keeps of each process.
 */
export const KEPT_MS = 5_000;

/** Longer than pidusage keeps anything: it checks twice in KEPT_MS. */
const AVOIDED_MS = 2 * KEPT_MS;

/**
 * Error codes of open and read after a process has ended. Of several pidusage tells none: whatever
 * is missing counts as ended.
 */
const GONE = ['ENOENT', 'ESRCH'];

/**
 * Reads single processes, all in one call; one that is gone is missing. Calls must not overlap:
 * pidusage would open a new process twice, and close it once.
 * @param {object} [o]
 * @param {(pids: number[]) => Promise<Record<string, Status | undefined>>} [o.stat]
 * @param {() => number} [o.nowMono]
 * @returns {(pids: number[]) => Promise<Map<number, Reading>>}
 */
export function createPidusageReader({ stat = askPidusage, nowMono = () => performance.now() } = {}) {
  /** Pids not to ask for, and until when. @type {Map<number, number>} */
  const avoided = new Map();

  return async (pids) => {
    for (const [pid, untilMono] of avoided) if (nowMono() >= untilMono) avoided.delete(pid);
    const asked = pids.filter((pid) => !avoided.has(pid));
    const stats = asked.length === 0 ? {} : await stat(asked).catch(nothingOfTheGone);
    // If another process gets the pid, pidusage reads from the descriptor of the old one, and keeps
    // that open as long as this reader asks.
    for (const pid of asked) if (!stats[pid]) avoided.set(pid, nowMono() + AVOIDED_MS);
    return new Map(Object.values(stats).flatMap((one) => (one ? [[one.pid, readingOf(one)]] : [])));
  };
}

/**
 * Not its `cpu`: that is 0 at a first look, and on macOS it is of whole seconds.
 * @param {Status} status
 * @returns {Reading}
 */
function readingOf({ ctime, elapsed, memory }) {
  return { start: '', cpuMs: ctime, ageMs: elapsed, memoryBytes: memory, processes: 1 };
}

/** @param {number[]} pids */
function askPidusage(pids) {
  // Where there is no getconf(1), as in a small container, it would print that it takes what almost
  // every Linux has. Apps do not inherit from control.
  process.env.PIDUSAGE_SILENT ??= '1';
  return pidusage(pids, { maxage: KEPT_MS });
}

/**
 * Asked for several, it leaves out those that have ended; asked for one, it rejects.
 * @param {NodeJS.ErrnoException} error
 * @returns {Record<string, undefined>}
 */
function nothingOfTheGone(error) {
  if (!GONE.includes(error.code ?? '')) throw error;
  return {};
}
