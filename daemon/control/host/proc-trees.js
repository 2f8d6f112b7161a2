import { uptime } from 'node:os';
import { readProcRow, readProcTable, TICK_OF_CPU_MS } from './processes.js';

/** @import { ProcRow } from './processes.js' */
/** @import { Row } from './process-trees.js' */
/** @import { Reading } from '../metrics/usage.js' */

/** The whole process table is read for at most this part of the time: on a machine with ten thousand processes not every second. */
const SCAN_SHARE = 0.01;

/**
 * Reads processes with everything below them; one that is gone is missing.
 * @param {object} [o]
 * @param {(pid: number) => ProcRow|null} [o.readRow]
 * @param {() => ProcRow[]} [o.readTable]
 * @param {() => number} [o.nowMono]
 * @returns {(roots: number[]) => Map<number, Reading>}
 */
export function createProcTreeReader({ readRow = readProcRow, readTable = readProcTable, nowMono = () => performance.now() } = {}) {
  /** By root: who was seen below it. @type {Map<number, Map<number, string>>} */
  let families = new Map();
  let nextScanMono = -Infinity;

  /** Scans known trees as well: lookAtNew() asks for new roots alone, and the known ones must stay known. @param {number[]} roots */
  function scan(roots) {
    const beganMono = nowMono();
    const table = readTable();
    // A pid that is used again is another process.
    const known = table.flatMap(({ pid, start }) => (families.get(pid)?.get(pid) === start ? pid : []));
    const trees = treesOf(table, [...new Set([...known, ...roots])], families);
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

  return (roots) => {
    const scanned = roots.length > 0 && nowMono() >= nextScanMono ? scan(roots) : null;
    return new Map(roots.flatMap((root) => {
      const rows = scanned?.get(root) ?? familyOf(root);
      return rows.length === 0 ? [] : [/** @type {const} */ ([root, readingOf(root, rows)])];
    }));
  };
}

/**
 * @param {number} root
 * @param {ProcRow[]} rows
 * @returns {Reading}
 */
function readingOf(root, rows) {
  const { start } = rows.find((row) => row.pid === root) ?? rows[0];
  return {
    start,
    cpuMs: rows.reduce((sum, row) => sum + row.ownTicks + row.waitedTicks, 0) * TICK_OF_CPU_MS,
    ageMs: uptime() * 1000 - Number(start) * TICK_OF_CPU_MS,
    memoryBytes: rows.reduce((sum, row) => sum + row.rssBytes, 0),
    processes: rows.length,
  };
}

/**
 * @param {Row[]} rows
 * @param {number[]} pids
 * @param {Map<number, Map<number, string>>} seen
 * @returns {Map<number, Row[]>}
 */
export function treesOf(rows, pids, seen) {
  const byPid = new Map(rows.map((row) => [row.pid, row]));
  /** @type {Map<number, Row[]>} */
  const children = new Map();
  for (const row of rows) {
    const siblings = children.get(row.ppid);
    if (siblings) siblings.push(row);
    else children.set(row.ppid, [row]);
  }
  return new Map(pids.flatMap((pid) => {
    const root = byPid.get(pid);
    if (!root) return [];
    const strays = [...(seen.get(pid) ?? [])].flatMap(([known, start]) => (byPid.get(known)?.start === start ? byPid.get(known) ?? [] : []));
    const members = new Set([root, ...strays]);
    // A set that grows while it is walked is walked to its new end.
    for (const member of members) for (const child of children.get(member.pid) ?? []) members.add(child);
    return [[pid, [...members]]];
  }));
}
