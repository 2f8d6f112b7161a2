import pidusage from 'pidusage';

/** @import { Status } from 'pidusage' */
/** @import { Reading } from './usage.js' */

/** After this time without a request, in ms, pidusage forgets a pid and closes its descriptor. */
export const KEPT_MS = 5_000;

/** Longer than pidusage keeps a pid: it checks twice in KEPT_MS. */
const AVOIDED_MS = 2 * KEPT_MS;

/** Errors of open and read after a process has exited. For several pids, pidusage reports none. */
const GONE = ['ENOENT', 'ESRCH'];

/**
 * Calls must not overlap, because pidusage would open a new process twice and close it once.
 * @param {object} [o]
 * @param {(pids: number[]) => Promise<Record<string, Status | undefined>>} [o.stat]
 * @param {() => number} [o.nowMono]
 * @returns {(pids: number[]) => Promise<Map<number, Reading>>}
 */
export function createPidusageReader({ stat = askPidusage, nowMono = () => performance.now() } = {}) {
  /** Pids to leave out, and until when. @type {Map<number, number>} */
  const avoided = new Map();

  return async (pids) => {
    for (const [pid, untilMono] of avoided) if (nowMono() >= untilMono) avoided.delete(pid);
    const asked = pids.filter((pid) => !avoided.has(pid));
    const stats = asked.length === 0 ? {} : await stat(asked).catch(nothingOfTheGone);
    // If another process gets the pid, pidusage reads from the descriptor of the old one, and keeps
    // it open as long as this reader asks for the pid.
    for (const pid of asked) if (!stats[pid]) avoided.set(pid, nowMono() + AVOIDED_MS);
    return new Map(Object.values(stats).flatMap((one) => (one ? [[one.pid, readingOf(one)]] : [])));
  };
}

/**
 * Does not use `cpu`: it is 0 at the first call, and on macOS it counts whole seconds.
 * @param {Status} status
 * @returns {Reading}
 */
function readingOf({ ctime, elapsed, memory }) {
  return { start: '', cpuMs: ctime, ageMs: elapsed, memoryBytes: memory, processes: 1 };
}

/** @param {number[]} pids */
function askPidusage(pids) {
  // Without getconf(1), as in a small container, pidusage would print that it assumes the usual
  // values of Linux. Apps do not inherit this variable from control.
  process.env.PIDUSAGE_SILENT ??= '1';
  return pidusage(pids, { maxage: KEPT_MS });
}

/**
 * For several pids it leaves out those that have exited; for one pid it rejects.
 * @param {NodeJS.ErrnoException} error
 * @returns {Record<string, undefined>}
 */
function nothingOfTheGone(error) {
  if (!GONE.includes(error.code ?? '')) throw error;
  return {};
}
