import pidusage from 'pidusage';

/** @import { Status } from 'pidusage' */
/** @import { Reading } from '../host/processes.js' */

/** After this time without a request, in ms, pidusage forgets a pid and closes its descriptor. */
export const KEPT_MS = 5_000;

/**
 * Time for which a missing pid is left out, in ms. Longer than KEPT_MS, because pidusage removes
 * expired pids only every KEPT_MS / 2.
 */
const AVOIDED_MS = 2 * KEPT_MS;

/** Errors of open and read after a process has exited. */
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
    // Leaves out missing pids for a while, so that pidusage forgets them. Otherwise, if a new
    // process gets such a pid, pidusage would still read the descriptor of the old process.
    for (const pid of asked) if (!stats[pid]) avoided.set(pid, nowMono() + AVOIDED_MS);
    return new Map(Object.values(stats).flatMap((one) => (one ? [[one.pid, parseReading(one)]] : [])));
  };
}

/**
 * Does not use `cpu`, because `cpu` is 0 at the first call, and counts whole seconds on macOS.
 * @param {Status} status
 * @returns {Reading}
 */
function parseReading({ ctime, elapsed, memory }) {
  return { start: '', cpuMs: ctime, ageMs: elapsed, memoryBytes: memory, processes: 1, rows: [] };
}

/** @param {number[]} pids */
function askPidusage(pids) {
  // Without getconf(1), as in a small container, pidusage would print that it assumes the usual
  // values of Linux. Apps do not inherit this variable from control.
  process.env.PIDUSAGE_SILENT ??= '1';
  return pidusage(pids, { maxage: KEPT_MS });
}

/**
 * Returns an empty result for a single pid whose process has exited, because pidusage rejects then.
 * For several pids, pidusage leaves out such processes. Throws other errors again.
 * @param {NodeJS.ErrnoException} error
 * @returns {Record<string, undefined>}
 */
function nothingOfTheGone(error) {
  if (!GONE.includes(error.code ?? '')) throw error;
  return {};
}
