import { execFile } from 'node:child_process';
import { readdirSync, statSync } from 'node:fs';
import { uptime } from 'node:os';
import { basename } from 'node:path';
import { promisify } from 'node:util';
import { tryTo } from '../../../lib/shared/daemon/files.js';
import { listPids, readProcFile, readStat } from '../../../lib/shared/daemon/home-processes.js';
import { readRollup } from './private-memory.js';

/**
 * @typedef {object} Reading  `start`: identifies the process together with the pid; empty if the
 *   source does not report it.
 * @property {string} start
 * @property {number} cpuMs
 * @property {number} ageMs
 * @property {number} memoryBytes
 * @property {number} processes
 * @property {ProcRow[]} rows  One for each process. Empty: /proc was not read.
 */

/**
 * @typedef {object} ProcRow
 * @property {number} pid
 * @property {number} ppid
 * @property {number} rssBytes
 * @property {string} start  Start time. The pid and the start time identify the process.
 * @property {number} ownTicks  CPU, in hundredths of a second.
 * @property {number} waitedTicks  CPU of children that have exited.
 */

/** USER_HZ is 100 on every Linux that Node.js runs on. */
export const TICK_OF_CPU_MS = 10;

/**
 * @param {number} pid
 * @returns {ProcRow | null}  Null if the process has exited, or /proc cannot be read.
 */
export function readProcRow(pid) {
  const stat = readStat(pid);
  if (stat === null) return null;
  const { ppid, residentPages, startTicks, ownTicks, waitedTicks } = stat;
  return { pid, ppid, rssBytes: residentPages * pageBytes(), start: startTicks, ownTicks, waitedTicks };
}

/** @returns {ProcRow[]} */
export function readProcTable() {
  return listPids().flatMap((pid) => readProcRow(pid) ?? []);
}

/**
 * @param {number} pid
 * @returns {number}  Bytes of all reads and writes. 0: not known.
 */
export function readIoBytes(pid) {
  const [, read = 0, written = 0] = /^rchar: (\d+)\nwchar: (\d+)$/m.exec(readProcFile(pid, 'io')) ?? [];
  return Number(read) + Number(written);
}

/**
 * @param {number} pid
 * @returns {number | null}
 */
export function countFds(pid) {
  try {
    // Since Linux 6.2, the size of the folder is the number of descriptors.
    return statSync(`/proc/${pid}/fd`).size || readdirSync(`/proc/${pid}/fd`).length;
  } catch {
    return null;
  }
}

/**
 * The kernel cuts the name of a command after 15 characters.
 * @param {number} pid
 */
export function readProgram(pid) {
  const name = readProcFile(pid, 'comm').trim();
  const program = basename(readProcFile(pid, 'cmdline').split('\0')[0]);
  return program.startsWith(name) && !program.includes(' ') ? program : name.replace(/ \($/, '');
}

/** @type {boolean | null} */
let canListChildren = null;

/**
 * Costs a hundredth of the process table. Does not see children that another thread has started.
 * @param {number} pid
 * @returns {boolean}  True also if the kernel has no list of children.
 */
export function mayHaveChildren(pid) {
  const own = `/proc/${process.pid}/task/${process.pid}/children`;
  canListChildren ??= tryTo(() => statSync(own).isFile(), false);
  return !canListChildren || readProcFile(pid, `task/${pid}/children`) !== '';
}

let knownPageBytes = 0;

/**
 * Calculates the page size, because Node.js does not report it. For the memory of this process,
 * Node.js reports the bytes, and the system reports the pages.
 */
function pageBytes() {
  if (knownPageBytes === 0) {
    const text = readProcFile('self', 'statm') || '0 1';
    knownPageBytes = 2 ** Math.round(Math.log2(process.memoryUsage.rss() / Number(text.split(' ')[1])));
  }
  return knownPageBytes;
}

/**
 * `start` is empty if the system does not report it.
 * @typedef {{ pid: number, ppid: number, rssBytes: number, start: string }} ProcessRow
 */

/** @typedef {{ bytes: number, pids: number[] }} Tree */

/**
 * Memory of each process and its descendants. A process that has exited is missing.
 * @typedef {(pids: number[]) => Promise<Map<number, Tree>>} ReadTrees
 */

/**
 * A process that left its tree by a double fork still counts if an earlier call saw it there.
 * @returns {ReadTrees}
 */
export function createTreeReader() {
  /** @type {Map<number, Map<number, string>>} */
  let seen = new Map();
  return async (pids) => {
    const rows = process.platform === 'linux' ? readProcTable() : await fromPs();
    const trees = findTrees(rows, pids, seen);
    seen = new Map([...trees].map(([pid, members]) => [pid, new Map(members.map((row) => [row.pid, row.start]))]));
    return new Map(
      [...trees].map(([pid, members]) => [
        pid,
        { bytes: members.reduce((sum, row) => sum + row.rssBytes, 0), pids: members.map((row) => row.pid) },
      ]),
    );
  };
}

/**
 * Returns the memory of the processes. Counts shared pages once, so for forked processes the result
 * is less than the sum of their RSS. This is slow, because the kernel walks through all mappings of
 * the processes.
 * @param {number[]} pids
 * @returns {number | null}  Null if the memory of one of the processes is not known.
 */
export function sharedBytes(pids) {
  let sum = 0;
  for (const pid of pids) {
    const { pssBytes } = readRollup(pid);
    if (pssBytes === null) return null;
    sum += pssBytes;
  }
  return sum;
}

/** @returns {Promise<ProcessRow[]>} */
async function fromPs() {
  const { stdout } = await promisify(execFile)('ps', ['-axo', 'pid=,ppid=,rss='], { maxBuffer: 1 << 24 });
  return stdout.split('\n').flatMap((line) => {
    const [pid, ppid, rss] = line.trim().split(/\s+/).map(Number);
    return Number.isInteger(rss) ? [{ pid, ppid, rssBytes: rss * 1024, start: '' }] : [];
  });
}

/**
 * Scans take at most this share of the time, so that a table of ten thousand processes is not read
 * every second.
 */
const SCAN_SHARE = 0.01;

/**
 * @param {object} [o]
 * @param {(pid: number) => ProcRow | null} [o.readRow]
 * @param {() => ProcRow[]} [o.readTable]
 * @param {() => number} [o.nowMono]
 * @param {number} [o.scanShare]
 * @returns {(roots: number[], everyMs?: number) => Map<number, Reading>}  `everyMs`: the table is at
 *   least this old when it is read again.
 */
export function createProcTreeReader({
  readRow = readProcRow,
  readTable = readProcTable,
  nowMono = () => performance.now(),
  scanShare = SCAN_SHARE,
} = {}) {
  /** @type {Map<number, Map<number, string>>} */
  let families = new Map();
  let scannedMono = -Infinity;
  let nextScanMono = -Infinity;

  /**
   * Scans known trees as well, because measureNew() asks for new roots only.
   * @param {number[]} roots
   */
  function scan(roots) {
    const beganMono = nowMono();
    const table = readTable();
    // Skips a pid with another start time, because the pid now belongs to another process.
    const known = table.flatMap(({ pid, start }) => (families.get(pid)?.get(pid) === start ? pid : []));
    const trees = findTrees(table, [...new Set([...known, ...roots])], families);
    scannedMono = nowMono();
    nextScanMono = scannedMono + (scannedMono - beganMono) / scanShare;
    const found = /** @type {Map<number, ProcRow[]>} */ (/** @type {unknown} */ (trees));
    families = new Map(
      [...found].map(([root, members]) => [root, new Map(members.map((row) => [row.pid, row.start]))]),
    );
    return found;
  }

  /**
   * @param {number} root
   * @returns {ProcRow[]}
   */
  function collectFamily(root) {
    const members = [...(families.get(root) ?? [])].flatMap(([pid, start]) => {
      const row = readRow(pid);
      return row?.start === start ? row : [];
    });
    if (members.some((row) => row.pid === root)) return members;
    return [readRow(root) ?? []].flat();
  }

  return (roots, everyMs = 0) => {
    const isDue = nowMono() >= Math.max(nextScanMono, scannedMono + everyMs);
    const scanned = roots.length > 0 && isDue ? scan(roots) : null;
    return new Map(
      roots.flatMap((root) => {
        const rows = scanned?.get(root) ?? collectFamily(root);
        return rows.length === 0 ? [] : [/** @type {const} */ ([root, parseReading(root, rows)])];
      }),
    );
  };
}

/**
 * @param {number} root
 * @param {ProcRow[]} rows
 * @returns {Reading}
 */
function parseReading(root, rows) {
  const { start } = rows.find((row) => row.pid === root) ?? rows[0];
  return {
    start,
    cpuMs: rows.reduce((sum, row) => sum + row.ownTicks + row.waitedTicks, 0) * TICK_OF_CPU_MS,
    ageMs: uptime() * 1000 - Number(start) * TICK_OF_CPU_MS,
    memoryBytes: rows.reduce((sum, row) => sum + row.rssBytes, 0),
    processes: rows.length,
    rows,
  };
}

/**
 * @param {ProcessRow[]} rows
 * @param {number[]} pids
 * @param {Map<number, Map<number, string>>} seen
 */
export function findTrees(rows, pids, seen) {
  const byPid = new Map(rows.map((row) => [row.pid, row]));
  /** @type {Map<number, ProcessRow[]>} */
  const children = new Map();
  for (const row of rows) {
    const siblings = children.get(row.ppid);
    if (siblings) siblings.push(row);
    else children.set(row.ppid, [row]);
  }
  return new Map(
    pids.flatMap((pid) => {
      const root = byPid.get(pid);
      if (!root) return [];
      const strays = [...(seen.get(pid) ?? [])].flatMap(([known, start]) =>
        byPid.get(known)?.start === start ? (byPid.get(known) ?? []) : [],
      );
      const members = new Set([root, ...strays]);
      // A loop over a set also visits members that are added during the loop.
      for (const member of members) for (const child of children.get(member.pid) ?? []) members.add(child);
      return [[pid, [...members]]];
    }),
  );
}
