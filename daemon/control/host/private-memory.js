import { readProcFile } from '../../../lib/shared/daemon/home-processes.js';

/**
 * Interval between two reads for one process. It is long, because for each read the kernel walks
 * through all mappings, and locks them for 0.5 ms or more.
 */
const EVERY_MS = 10_000;

const READS_MAX = 8;

/** @typedef {{ pssBytes: number | null, privateBytes: number | null }} PrivateMemory */

/** @typedef {(pids: number[]) => Map<number, PrivateMemory>} ReadPrivateMemory */

/** @type {PrivateMemory} */
const UNKNOWN = { pssBytes: null, privateBytes: null };

/**
 * @param {() => number} nowMs
 * @param {(pid: number) => PrivateMemory} [read]
 * @returns {ReadPrivateMemory}
 */
export function createPrivateMemory(nowMs, read = readRollup) {
  /** @type {Map<number, PrivateMemory & { atMs: number }>} */
  const known = new Map();
  return (pids) => {
    const now = nowMs();
    for (const [pid, { atMs }] of known) if (Math.abs(now - atMs) > 2 * EVERY_MS) known.delete(pid);
    const due = pids.filter((pid) => Math.abs(now - (known.get(pid)?.atMs ?? -Infinity)) >= EVERY_MS);
    for (const pid of due.slice(0, READS_MAX)) known.set(pid, { ...read(pid), atMs: now });
    return new Map(
      pids.map((pid) => [
        pid,
        { pssBytes: known.get(pid)?.pssBytes ?? null, privateBytes: known.get(pid)?.privateBytes ?? null },
      ]),
    );
  };
}

/** @param {number} pid */
export function readRollup(pid) {
  const text = readProcFile(pid, 'smaps_rollup');
  if (text === '') return UNKNOWN; // Some systems do not report it.
  const sum = (/** @type {RegExp} */ pattern) =>
    [...text.matchAll(pattern)].reduce((total, [, kb]) => total + Number(kb) * 1024, 0);
  return { pssBytes: sum(/^Pss:\s+(\d+) kB/gm), privateBytes: sum(/^Private_(?:Clean|Dirty):\s+(\d+) kB/gm) };
}
