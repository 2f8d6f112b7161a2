import { createSerial } from '../../../lib/shared/serial.js';
import { countFds, createProcTreeReader } from '../host/processes.js';
import { createPidusageReader, KEPT_MS } from './pidusage-reader.js';

/** @import { Reading } from '../host/processes.js' */

/**
 * @typedef {object} Usage  `cpu`: percent of one core since the last measurement; at the first
 *   measurement, since the start. `cpuMs`: CPU time since the start; missing if not measured.
 * @property {number} cpu
 * @property {number} memoryBytes
 * @property {number} processes
 * @property {number | null} fds
 * @property {number} [cpuMs]
 */

/** @typedef {{ pid: number, isTree: boolean }} MeasuredProcess  `isTree`: including descendants. */

/**
 * @typedef {(wanted: MeasuredProcess[]) => Promise<Map<number, Usage>>} ReadUsage  Measures processes by
 *   pid. A process that has exited is missing.
 */

/**
 * @typedef {object} Before
 * @property {string} start
 * @property {number} cpuMs
 * @property {number} mostMs
 * @property {number} atMono
 * @property {number | null} fds
 * @property {number} reads
 */

/** Descriptors of a process are counted at the first and then at every tenth measurement. */
const FDS_EVERY = 10;

/**
 * Measures trees, with exited children, from /proc, and other processes with pidusage. Calls must
 * not overlap.
 * @param {object} [o]
 * @param {ReturnType<typeof createPidusageReader>} [o.readPids]
 * @param {ReturnType<typeof createProcTreeReader> | null} [o.readTrees]
 *   Null: only the root of a tree counts.
 * @param {() => number} [o.nowMono]
 * @returns {ReadUsage}
 */
export function createUsageReader({
  readPids = createPidusageReader(),
  readTrees = process.platform === 'linux' ? createProcTreeReader() : null,
  nowMono = () => performance.now(),
} = {}) {
  /** @type {Map<number, Before>} */
  const befores = new Map();

  /**
   * @param {[number, Reading]} read
   * @returns {[number, Usage]}
   */
  function readUsage([pid, { start, cpuMs, ageMs, memoryBytes, processes }]) {
    const known = befores.get(pid);
    const before = known?.start === start ? known : null;
    const atMono = nowMono();
    const reads = (before?.reads ?? 0) + 1;
    const fds = before === null || (reads + pid) % FDS_EVERY === 0 ? countFds(pid) : before.fds;
    // Reports the highest sum so far, because the sum of a tree falls if a process exits and its
    // parent does not wait for it.
    const mostMs = Math.max(cpuMs, before?.mostMs ?? 0);
    befores.set(pid, { start, cpuMs, mostMs, atMono, fds, reads });
    const cpu = before === null ? percent(cpuMs, ageMs) : percent(cpuMs - before.cpuMs, atMono - before.atMono);
    return [pid, { cpu, memoryBytes, processes, fds, cpuMs: mostMs }];
  }

  return async (wanted) => {
    const roots = new Set(readTrees ? wanted.flatMap(({ pid, isTree }) => (isTree ? pid : [])) : []);
    const others = wanted.flatMap(({ pid }) => (roots.has(pid) ? [] : pid));
    const trees = [...(readTrees?.([...roots]) ?? [])].map(readUsage);
    const singles = [...(await readPids(others))].map(readUsage);
    const found = new Map([...trees, ...singles]);
    // On Linux, pidusage reports a reused pid as missing at least once. The old values are deleted
    // then, so that the new process does not inherit them.
    for (const { pid } of wanted) if (!found.has(pid)) befores.delete(pid);
    for (const [pid, { atMono }] of befores) if (nowMono() - atMono > KEPT_MS) befores.delete(pid);
    return found;
  };
}

/**
 * @param {number} cpuMs
 * @param {number} ms
 */
function percent(cpuMs, ms) {
  return ms > 0 ? Math.max(0, Math.round((cpuMs * 1000) / ms) / 10) : 0;
}

/**
 * @typedef {object} Sampler
 * @property {(pid: number) => Usage} usageOf  The last measurement. Zeros: not measured.
 * @property {() => Promise<void>} measureNew
 *   Measures processes that no tick has measured yet. Never rejects.
 * @property {() => Promise<void>} measure  To be called once a tick. Never rejects.
 */

/** @type {Usage} */
const NOTHING = { cpu: 0, memoryBytes: 0, processes: 0, fds: null };

/**
 * @param {object} o
 * @param {ReadUsage} o.read  Called only after the previous call has ended.
 * @param {() => MeasuredProcess[]} o.wanted  The processes that run now.
 * @returns {Sampler}
 */
export function createSampler({ read, wanted }) {
  /** @type {Map<number, Usage>} */
  let latest = new Map();
  let isReading = false;
  const serial = createSerial();
  /** Drops errors, because the next tick follows soon. @param {() => Promise<void>} one */
  const inTurn = (one) => serial(one).catch(() => {});

  return {
    usageOf: (pid) => latest.get(pid) ?? NOTHING,
    measureNew: () =>
      inTurn(async () => {
        const fresh = await read(wanted().filter(({ pid }) => !latest.has(pid)));
        for (const [pid, usage] of fresh) latest.set(pid, usage);
      }),
    async measure() {
      if (isReading) return; // The machine is so slow that the last measurement still runs.
      isReading = true;
      await inTurn(async () => {
        latest = await read(wanted());
      });
      isReading = false;
    },
  };
}
