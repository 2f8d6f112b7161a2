import { createSerial } from '../../../lib/shared/serial.js';
import { createProcTreeReader, mayHaveChildren } from '../host/processes.js';
import { measureCpu } from './cpu-meter.js';
import { NO_DESCRIPTORS, readDescriptors } from './descriptors.js';
import { createPidusageReader, KEPT_MS } from './pidusage-reader.js';

/** @import { Tree } from '../../../lib/shared/metrics.js' */
/** @import { Measured, Timed } from './cpu-meter.js' */
/** @import { Descriptors } from './descriptors.js' */

/**
 * @typedef {object} ProcessUsage  `cpu`: percent of one core since the last measurement; at the first
 *   measurement, since the start. `cpuMs`: CPU time since the start; missing if not measured.
 * @property {number} cpu
 * @property {number} memoryBytes
 * @property {number} processes
 * @property {Tree | null} tree  Null: the system does not report descendants.
 * @property {number} [cpuMs]
 */

/** @typedef {ProcessUsage & Descriptors} Usage */

/**
 * @typedef {object} MeasuredProcess
 * @property {number} pid
 * @property {boolean} isTree  Whether its usage includes its descendants.
 * @property {boolean} [isManager]  Its descendants are not of interest.
 */

/**
 * @typedef {(wanted: MeasuredProcess[]) => Promise<Map<number, Usage>>} ReadUsage  Measures processes by
 *   pid. A process that has exited is missing.
 */

/**
 * @typedef {object} Known
 * @property {number} reads
 * @property {Descriptors} descriptors
 * @property {Measured} own
 * @property {boolean} isParent  It counts alone, and has children.
 * @property {Measured | null} family  With its children, if it has any.
 */

/** Descriptors of a process are counted at the first and then at every tenth measurement. */
const FDS_EVERY = 10;
/** A process that counts alone is asked for its children as often as this. */
const CHILDREN_EVERY = 5;
/** Without a process that counts as a tree, the process table is read at most this often. */
const TABLE_EVERY_MS = 5_000;

/**
 * Measures trees, with exited children, from /proc, and other processes with pidusage. Calls must
 * not overlap.
 * @param {object} [o]
 * @param {ReturnType<typeof createPidusageReader>} [o.readPids]
 * @param {ReturnType<typeof createProcTreeReader> | null} [o.readTrees]
 *   Null: only the root of a tree counts.
 * @param {(pid: number) => boolean} [o.hasChildren]
 * @param {(pid: number) => string} [o.programOf]
 * @param {(pid: number) => number} [o.runDelayOf]
 * @param {() => number} [o.nowMono]
 * @returns {ReadUsage}
 */
export function createUsageReader({
  readPids = createPidusageReader(),
  readTrees = process.platform === 'linux' ? createProcTreeReader() : null,
  hasChildren = mayHaveChildren,
  programOf,
  runDelayOf,
  nowMono = () => performance.now(),
} = {}) {
  /** @type {Map<number, Known>} */
  const known = new Map();

  /**
   * @param {MeasuredProcess} one
   * @param {Timed | null} alone
   * @param {Timed | null} withTree  One of the two is not null.
   * @returns {Usage}
   */
  function readUsage({ pid, isTree, isManager }, alone, withTree) {
    const { reading } = /** @type {Timed} */ (alone ?? withTree);
    const last = known.get(pid);
    const before = last?.own.reading.start === reading.start ? last : null;
    const reads = (before?.reads ?? 0) + 1;
    const isDue = (/** @type {number} */ every) => before === null || (reads + pid) % every === 0;
    const isFdsDue = isDue(FDS_EVERY);
    const descriptors = before === null || isFdsDue ? readDescriptors(pid) : before.descriptors;
    const isAlone = readTrees !== null && !isTree && !isManager;
    const isParent = isAlone && (isDue(CHILDREN_EVERY) ? hasChildren(pid) : before?.isParent === true);
    const measure = (/** @type {Timed | null} */ given, /** @type {Measured | null} */ earlier) =>
      given && measureCpu(pid, given, { before: earlier, isNameDue: isFdsDue, programOf, runDelayOf });
    const own = /** @type {Measured} */ (measure(alone ?? withTree, before?.own ?? null));
    const family = alone && measure(withTree, before?.family ?? null);
    known.set(pid, { reads, descriptors, own, isParent, family });
    return {
      cpu: own.cpu,
      memoryBytes: reading.memoryBytes,
      processes: reading.processes,
      ...descriptors,
      cpuMs: own.cpuMs,
      tree: readTrees === null || isManager ? null : toTree(family ?? own),
    };
  }

  return async (wanted) => {
    const roots = new Set(readTrees ? wanted.flatMap(({ pid, isTree }) => (isTree ? pid : [])) : []);
    const parents = wanted.flatMap(({ pid }) => (known.get(pid)?.isParent ? pid : []));
    const treesMono = nowMono();
    const trees = readTrees?.([...roots, ...parents], roots.size > 0 ? 0 : TABLE_EVERY_MS) ?? new Map();
    const singles = await readPids(wanted.flatMap(({ pid }) => (roots.has(pid) ? [] : pid)));
    const singlesMono = nowMono();
    /** @type {Map<number, Usage>} */
    const found = new Map();
    for (const one of wanted) {
      const [single, tree] = [singles.get(one.pid), trees.get(one.pid)];
      const alone = single ? { reading: single, atMono: singlesMono } : null;
      const withTree = tree ? { reading: tree, atMono: treesMono } : null;
      if (single || (tree && one.isTree)) found.set(one.pid, readUsage(one, alone, withTree));
      // On Linux, pidusage reports a reused pid as missing at least once. The old values are
      // deleted then, so that the new process does not inherit them.
      else known.delete(one.pid);
    }
    for (const [pid, { own }] of known) if (nowMono() - own.atMono > KEPT_MS) known.delete(pid);
    return found;
  };
}

/**
 * @param {Measured} measured
 * @returns {Tree}
 */
function toTree({ cpu, top, reading: { processes, memoryBytes } }) {
  return { processes, cpu, memoryBytes, top };
}

/**
 * @typedef {object} Sampler
 * @property {(pid: number) => Usage} usageOf  The last measurement. Zeros: not measured.
 * @property {() => Promise<void>} measureNew
 *   Measures processes that no tick has measured yet. Never rejects.
 * @property {() => Promise<void>} measure  To be called once a tick. Never rejects.
 */

/** @type {Usage} */
const NOTHING = { cpu: 0, memoryBytes: 0, processes: 0, ...NO_DESCRIPTORS, tree: null };

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
