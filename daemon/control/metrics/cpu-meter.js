import { readRunDelayMs } from '../host/activity-kind.js';
import { readProgram, TICK_OF_CPU_MS } from '../host/processes.js';

/** @import { Tree } from '../../../lib/shared/metrics.js' */
/** @import { ProcRow, Reading } from '../host/processes.js' */

/** @typedef {{ reading: Reading, atMono: number }} Timed */

/**
 * @typedef {object} Measured
 * @property {number} cpu
 *   Percent of one core since the last reading; at the first reading, since the start.
 * @property {number} cpuMs  CPU time since the start. It never falls.
 * @property {Tree['top']} top
 * @property {number} topDelayMs  Time for which `top` was ready to run, but had no CPU.
 * @property {Reading} reading
 * @property {Descendants} descendants
 * @property {number} atMono
 */

/** @typedef {Map<string, ProcRow>} Descendants  By pid and start time. */

/** `cpuWanted` is the mean of about this many readings. */
const WANTED_READINGS = 10;

/** @type {Descendants} */
const NONE = new Map();

/**
 * Computes CPU shares from two readings of a process or a tree.
 * @param {number} root
 * @param {Timed} given
 * @param {object} o
 * @param {Measured | null} o.before  The last result for this process.
 * @param {boolean} o.isNameDue  Whether to read the name of `top` again, because the process may
 *   have started another program.
 * @param {(pid: number) => string} [o.programOf]
 * @param {(pid: number) => number} [o.runDelayOf]
 * @returns {Measured}
 */
export function measureCpu(root, { reading, atMono }, o) {
  const { before, isNameDue, programOf = readProgram, runDelayOf = readRunDelayMs } = o;
  const { cpuMs, ageMs } = reading;
  const descendants = listDescendants(root, reading);
  if (!before) return { cpu: percent(cpuMs, ageMs), cpuMs, top: null, topDelayMs: 0, reading, descendants, atMono };
  const passedMs = atMono - before.atMono;
  const spentMs = cpuMs - before.reading.cpuMs - sumEarlierMs(reading, descendants, before, passedMs);
  const busiest = findBusiest(descendants, before);
  const isSame = before.top !== null && before.top.pid === busiest?.pid;
  const known = isSame && !isNameDue ? before.top?.program : null;
  const topDelayMs = busiest ? runDelayOf(busiest.pid) : 0;
  const wanted = percent((busiest?.cpuMs ?? 0) + (isSame ? topDelayMs - before.topDelayMs : 0), passedMs);
  const wantedBefore = isSame ? (before.top?.cpuWanted ?? 0) : wanted;
  return {
    cpu: percent(spentMs, passedMs),
    // Reports the highest sum so far, because the sum of a tree falls if a process exits and its
    // parent does not wait for it.
    cpuMs: Math.max(cpuMs, before.cpuMs),
    top: busiest && {
      pid: busiest.pid,
      program: known ?? programOf(busiest.pid),
      cpu: percent(busiest.cpuMs, passedMs),
      // The kernel counts a delay only when it ends.
      cpuWanted: Math.round(10 * (wantedBefore + (wanted - wantedBefore) / WANTED_READINGS)) / 10,
    },
    topDelayMs,
    reading,
    descendants,
    atMono,
  };
}

/**
 * @param {number} root
 * @param {Reading} reading
 * @returns {Descendants}
 */
function listDescendants(root, { rows }) {
  if (rows.length < 2) return NONE;
  return new Map(rows.flatMap((row) => (row.pid === root ? [] : [[`${row.pid} ${row.start}`, row]])));
}

/**
 * A process may be found some time after its start. Its CPU time before the last reading does not
 * belong to the time since then.
 * @param {Reading} reading
 * @param {Descendants} descendants
 * @param {Measured} before
 * @param {number} passedMs
 */
function sumEarlierMs({ ageMs, start }, descendants, before, passedMs) {
  let sumMs = 0;
  for (const [key, row] of descendants) {
    if (before.descendants.has(key)) continue;
    const rowAgeMs = ageMs - (Number(row.start) - Number(start)) * TICK_OF_CPU_MS;
    sumMs += (row.ownTicks + row.waitedTicks) * TICK_OF_CPU_MS * Math.max(0, 1 - passedMs / rowAgeMs);
  }
  return sumMs;
}

/**
 * @param {Descendants} descendants
 * @param {Measured} before
 * @returns {{ pid: number, cpuMs: number } | null}
 */
function findBusiest(descendants, before) {
  /** @type {{ pid: number, cpuMs: number } | null} */
  let busiest = null;
  for (const [key, { pid, ownTicks }] of descendants) {
    const cpuMs = (ownTicks - (before.descendants.get(key)?.ownTicks ?? ownTicks)) * TICK_OF_CPU_MS;
    if (busiest === null || cpuMs > busiest.cpuMs) busiest = { pid, cpuMs };
  }
  return busiest;
}

/**
 * @param {number} cpuMs
 * @param {number} ms
 */
function percent(cpuMs, ms) {
  return ms > 0 ? Math.max(0, Math.round((cpuMs * 1000) / ms) / 10) : 0;
}
