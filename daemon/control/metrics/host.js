import { readFileSync, statfsSync } from 'node:fs';
import { cpus, freemem, loadavg, totalmem, uptime } from 'node:os';

/** @import { HostSample } from '../../../lib/shared/metrics.js' */

/** The disk is looked at this often, in looks. */
const DISK_EVERY = 10;

/**
 * The machine.
 * @param {string} home  Whose file system counts.
 * @returns {() => HostSample}  Looks. Of the CPU it tells what was since the last look.
 */
export function createHostReader(home) {
  const cores = cpus().length;
  let before = cpuTimes();
  let looks = 0;
  /** @type {Pick<HostSample, 'diskTotalBytes' | 'diskUsedBytes'>} */
  let disk = { diskTotalBytes: null, diskUsedBytes: null };

  return () => {
    const now = cpuTimes();
    const total = now.total - before.total;
    const cpu = total > 0 ? Math.round((1 - (now.idle - before.idle) / total) * 1000) / 10 : 0;
    before = now;
    if (looks++ % DISK_EVERY === 0) disk = diskOf(home);
    const [load1, load5, load15] = loadavg();
    const memoryTotalBytes = totalmem();
    return {
      cpu: Math.max(0, cpu),
      cores,
      memoryTotalBytes,
      memoryUsedBytes: memoryTotalBytes - freemem(),
      load1,
      load5,
      load15,
      ...disk,
      uptimeS: Math.round(uptime()),
    };
  };
}

/**
 * os.cpus() also asks for the clock of each core, which takes a millisecond for a few dozen of
 * them.
 */
function cpuTimes() {
  if (process.platform !== 'linux')
    return cpus().reduce(
      (sum, { times }) => ({
        total: sum.total + times.user + times.nice + times.sys + times.idle + times.irq,
        idle: sum.idle + times.idle,
      }),
      { total: 0, idle: 0 },
    );
  const text = readFileSync('/proc/stat', 'latin1');
  // user nice system idle iowait irq softirq steal; guests are within user: proc(5).
  const times = text.slice(0, text.indexOf('\n')).split(/\s+/).slice(1, 9).map(Number);
  return { total: times.reduce((sum, time) => sum + time, 0), idle: times[3] + times[4] };
}

/** @param {string} home */
function diskOf(home) {
  try {
    const { blocks, bavail, bfree, bsize } = statfsSync(home);
    // What only root may use is neither used nor to be had.
    return { diskTotalBytes: (blocks - bfree + bavail) * bsize, diskUsedBytes: (blocks - bfree) * bsize };
  } catch {
    return { diskTotalBytes: null, diskUsedBytes: null };
  }
}

/**
 * The kernel walks through all mappings of the process for it, and holds them meanwhile: half a
 * millisecond and more.
 */
const EVERY_MS = 10_000;

/** Of so many processes in one look. */
const READS_MAX = 8;

/** @typedef {{ pssBytes: number | null, privateBytes: number | null }} PrivateMemory */

/**
 * @typedef {(pids: number[]) => Map<number, PrivateMemory>} ReadPrivateMemory  As far as it is
 *   known; who asks again knows more.
 */

/** @type {PrivateMemory} */
const UNKNOWN = { pssBytes: null, privateBytes: null };

/**
 * What is a process's own, for those that somebody looks at.
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

/**
 * @param {number} pid
 * @returns {PrivateMemory}
 */
export function readRollup(pid) {
  try {
    const text = readFileSync(`/proc/${pid}/smaps_rollup`, 'latin1');
    const sum = (/** @type {RegExp} */ pattern) =>
      [...text.matchAll(pattern)].reduce((total, [, kb]) => total + Number(kb) * 1024, 0);
    return { pssBytes: sum(/^Pss:\s+(\d+) kB/gm), privateBytes: sum(/^Private_(?:Clean|Dirty):\s+(\d+) kB/gm) };
  } catch {
    return UNKNOWN; // It ended meanwhile, is another user's, or the system does not tell.
  }
}
