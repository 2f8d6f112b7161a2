import { uptime } from 'node:os';
import { treesOf } from '../triggers/process-trees.js';
import { countFds, readProcRow, readProcTable, TICK_OF_CPU_MS } from './proc-stat.js';

/** @import { ProcRow } from './proc-stat.js' */

/** @typedef {{cpu: number, memoryBytes: number, processes: number, fds: number|null, cpuMs?: number}} Usage  `cpu`: percent of one core since it was last read. `cpuMs`: used since it began; missing where nothing has been read. */

/** @typedef {{pid: number, isTree: boolean}} Wanted  `isTree`: with everything below it. */

/** What belongs to each of these pids; one that is gone is missing. @typedef {(wanted: Wanted[]) => Promise<Map<number, Usage>>} ReadUsage */

/** @typedef {{start: string, ticks: number, mostTicks: number, atMono: number, fds: number|null, reads: number}} Before */

/** The whole process table is read for at most this part of the time: on a machine with ten thousand processes not every second. */
const SCAN_SHARE = 0.01;

/** Descriptors are counted at every tenth look. */
const FDS_EVERY = 10;

/** What was not asked for as long as this, in ms, has ended. */
const KEPT_MS = 10_000;

/** @returns {ReadUsage} */
export function createUsageReader() {
  return process.platform === 'linux' ? createProcReader() : readWithPs;
}

/**
 * @param {object} [o]
 * @param {(pid: number) => ProcRow|null} [o.readRow]
 * @param {() => ProcRow[]} [o.readTable]
 * @param {() => number} [o.nowMono]
 * @returns {ReadUsage}
 */
export function createProcReader({ readRow = readProcRow, readTable = readProcTable, nowMono = () => performance.now() } = {}) {
  /** @type {Map<number, Before>} */
  const befores = new Map();
  /** By root: who was seen below it. @type {Map<number, Map<number, string>>} */
  let families = new Map();
  let nextScanMono = -Infinity;

  /** @param {number[]} roots */
  function scan(roots) {
    const beganMono = nowMono();
    const trees = treesOf(readTable(), roots, families);
    nextScanMono = nowMono() + (nowMono() - beganMono) / SCAN_SHARE;
    const found = /** @type {Map<number, ProcRow[]>} */ (/** @type {unknown} */ (trees));
    families = new Map([...found].map(([root, members]) => [root, new Map(members.map((row) => [row.pid, row.start]))]));
    return found;
  }

  /** @param {number} root @returns {ProcRow[]}  Those that were there at the last scan. */
  function familyOf(root) {
    const members = [...(families.get(root) ?? [])].flatMap(([pid, start]) => {
      const row = readRow(pid);
      return row?.start === start ? row : [];
    });
    if (members.some((row) => row.pid === root)) return members;
    return [readRow(root) ?? []].flat();
  }

  /** @param {number} pid @param {ProcRow[]} rows @param {boolean} isTree @returns {Usage} */
  function usage(pid, rows, isTree) {
    const ticks = rows.reduce((sum, row) => sum + row.ownTicks + (isTree ? row.waitedTicks : 0), 0);
    const { start } = rows.find((row) => row.pid === pid) ?? rows[0];
    const known = befores.get(pid);
    const before = known?.start === start ? known : null;
    const atMono = nowMono();
    const reads = (before?.reads ?? 0) + 1;
    const fds = before === null || (reads + pid) % FDS_EVERY === 0 ? countFds(pid) : before.fds;
    // Of a tree the sum falls when one leaves it that nobody waits for.
    const mostTicks = Math.max(ticks, before?.mostTicks ?? 0);
    befores.set(pid, { start, ticks, mostTicks, atMono, fds, reads });
    return {
      cpu: before === null ? percent(ticks, uptime() * 1000 - Number(start) * TICK_OF_CPU_MS) : percent(ticks - before.ticks, atMono - before.atMono),
      memoryBytes: rows.reduce((sum, row) => sum + row.rssBytes, 0),
      processes: rows.length,
      fds,
      cpuMs: mostTicks * TICK_OF_CPU_MS,
    };
  }

  return async (wanted) => {
    const roots = wanted.flatMap(({ pid, isTree }) => (isTree ? pid : []));
    const scanned = roots.length > 0 && nowMono() >= nextScanMono ? scan(roots) : null;
    const found = new Map(wanted.flatMap(({ pid, isTree }) => {
      const rows = isTree ? scanned?.get(pid) ?? familyOf(pid) : [readRow(pid) ?? []].flat();
      return rows.length === 0 ? [] : [/** @type {const} */ ([pid, usage(pid, rows, isTree)])];
    }));
    for (const [pid, { atMono }] of befores) if (nowMono() - atMono > KEPT_MS) befores.delete(pid);
    return found;
  };
}

/** @param {number} ticks @param {number} ms */
function percent(ticks, ms) {
  return ms > 0 ? Math.max(0, Math.round((ticks * TICK_OF_CPU_MS * 1000) / ms) / 10) : 0;
}

/** What belongs to a process that has ended is forgotten after so many ms. */
const PS_KEPT_MS = 5_000;

/** @type {ReadUsage} */
async function readWithPs(wanted) {
  if (wanted.length === 0) return new Map();
  const { default: pidusage } = await import('pidusage');
  const stats = await pidusage(wanted.map(({ pid }) => pid), { maxage: PS_KEPT_MS });
  return new Map(Object.entries(stats).flatMap(([pid, stat]) => (stat ? [[Number(pid), { cpu: Math.round(stat.cpu * 10) / 10, memoryBytes: stat.memory, processes: 1, fds: null }]] : [])));
}
