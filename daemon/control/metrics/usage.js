import { countFds, createProcTreeReader } from '../host/processes.js';
import { createPidusageReader, KEPT_MS } from './pidusage-reader.js';

/**
 * @typedef {object} Usage  `cpu`: percent of one core since it was last read. `cpuMs`: used since
 *   it began; missing where nothing has been read.
 * @property {number} cpu
 * @property {number} memoryBytes
 * @property {number} processes
 * @property {number | null} fds
 * @property {number} [cpuMs]
 */

/** @typedef {{ pid: number, isTree: boolean }} Wanted  `isTree`: with everything below it. */

/**
 * What belongs to each of these pids; one that is gone is missing.
 * @typedef {(wanted: Wanted[]) => Promise<Map<number, Usage>>} ReadUsage
 */

/**
 * @typedef {object} Reading  `start`: with the pid it is an identity; empty if the source does not
 *   report it.
 * @property {string} start
 * @property {number} cpuMs
 * @property {number} ageMs
 * @property {number} memoryBytes
 * @property {number} processes
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

/** Descriptors are counted at every tenth look. */
const FDS_EVERY = 10;

/**
 * Single processes are read by pidusage; trees, with the children that have ended, from /proc.
 * Calls must not overlap.
 * @param {object} [o]
 * @param {ReturnType<typeof createPidusageReader>} [o.readPids]
 * @param {ReturnType<typeof createProcTreeReader> | null} [o.readTrees]  Null: a tree is its root
 *   alone.
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
  function usageOf([pid, { start, cpuMs, ageMs, memoryBytes, processes }]) {
    const known = befores.get(pid);
    const before = known?.start === start ? known : null;
    const atMono = nowMono();
    const reads = (before?.reads ?? 0) + 1;
    const fds = before === null || (reads + pid) % FDS_EVERY === 0 ? countFds(pid) : before.fds;
    // Of a tree the sum falls when one leaves it that nobody waits for.
    const mostMs = Math.max(cpuMs, before?.mostMs ?? 0);
    befores.set(pid, { start, cpuMs, mostMs, atMono, fds, reads });
    const cpu = before === null ? percent(cpuMs, ageMs) : percent(cpuMs - before.cpuMs, atMono - before.atMono);
    return [pid, { cpu, memoryBytes, processes, fds, cpuMs: mostMs }];
  }

  return async (wanted) => {
    const roots = new Set(readTrees ? wanted.flatMap(({ pid, isTree }) => (isTree ? pid : [])) : []);
    const others = wanted.flatMap(({ pid }) => (roots.has(pid) ? [] : pid));
    const trees = [...(readTrees?.([...roots]) ?? [])].map(usageOf);
    const singles = [...(await readPids(others))].map(usageOf);
    const found = new Map([...trees, ...singles]);
    // On Linux a pid that pidusage knows is missing once before it can be another process: the one
    // that gets it inherits no past.
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
 * Knows what each process uses.
 * @typedef {object} Sampler
 * @property {(pid: number) => Usage} usageOf  As of the last tick.
 * @property {() => Promise<void>} measureNew  Reads what no tick has seen yet. Never rejects.
 * @property {() => Promise<void>} measure  To be called once a tick. Never rejects.
 */

/** @type {Usage} */
const NOTHING = { cpu: 0, memoryBytes: 0, processes: 0, fds: null };

/**
 * @param {object} o
 * @param {ReadUsage} o.read  Its calls do not overlap.
 * @param {() => Wanted[]} o.wanted  What runs now.
 * @returns {Sampler}
 */
export function createSampler({ read, wanted }) {
  /** @type {Map<number, Usage>} */
  let latest = new Map();
  let isReading = false;
  let turn = Promise.resolve();

  /**
   * @param {() => Promise<void>} one  When those before it are done. A process may end while it is
   *   read: the next tick is soon.
   */
  function inTurn(one) {
    turn = turn.then(one).catch(() => {});
    return turn;
  }

  return {
    usageOf: (pid) => latest.get(pid) ?? NOTHING,
    measureNew: () =>
      inTurn(async () => {
        const fresh = await read(wanted().filter(({ pid }) => !latest.has(pid)));
        for (const [pid, usage] of fresh) latest.set(pid, usage);
      }),
    async measure() {
      if (isReading) return; // A machine so slow that it has not finished the last one.
      isReading = true;
      await inTurn(async () => {
        latest = await read(wanted());
      });
      isReading = false;
    },
  };
}
