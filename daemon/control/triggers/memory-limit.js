/** @import { ManagerLog } from '../context.js' */
/** @import { Cancel, Clock } from '../host/clock.js' */
/** @import { ReadTrees } from '../host/processes.js' */

const TICK_MS = 1_000;

/**
 * An instance that exceeds its limit this soon after its first check does not leak: its limit is
 * too low.
 */
const AT_ONCE_MS = 5_000;

const PAUSE_MAX_MS = 10 * 60_000;

const BACKOFF_MIN_MS = 100;

const MB = 1024 ** 2;

/**
 * @typedef {object} Limited
 * @property {string} name
 * @property {number} id  The id of the slot.
 * @property {number} pid
 * @property {number} startedAtMs
 * @property {number} limitBytes
 * @property {number} minUptimeMs
 * @property {number} backoffMs
 */

/**
 * `misses`: instances in a row that were above the limit at or soon after their first check.
 * @typedef {{ bytes: number, misses: number }} MemoryState
 */

/**
 * @typedef {object} MemoryWatch
 * @property {(ids: Set<number>) => void} sync  The slots that have a limit.
 * @property {(id: number) => MemoryState | null} describe
 * @property {() => void} close
 */

/**
 * Reports at most one instance of each app in a check. The next check finds the other instances.
 * @param {object} o
 * @param {Clock} o.clock
 * @param {ReadTrees} o.readTrees
 * @param {(pids: number[]) => number | null} o.sharedBytes
 * @param {() => Limited[]} o.limited  Without apps that are being replaced.
 * @param {ManagerLog} o.managerLog
 * @param {(one: Limited, reason: string) => void} o.onAbove
 * @returns {MemoryWatch}
 */
export function createMemoryWatch({ clock, readTrees, sharedBytes, limited, managerLog, onAbove }) {
  /** @type {Map<number, MemoryState>} */
  const slots = new Map();
  /** @type {Cancel | null} */
  let cancel = null;
  let isReading = false;

  async function tick() {
    if (isReading) return;
    const before = limited();
    if (before.length === 0) return;
    isReading = true;
    try {
      judge(await readTrees(before.map(({ pid }) => pid)), before);
    } catch (error) {
      managerLog('memory-unreadable', { message: /** @type {Error} */ (error).message });
    } finally {
      isReading = false;
    }
  }

  /**
   * @param {Awaited<ReturnType<ReadTrees>>} trees
   * @param {Limited[]} before
   */
  function judge(trees, before) {
    /** @type {Map<string, { one: Limited, bytes: number }>} */
    const worst = new Map();
    for (const one of before) {
      const tree = trees.get(one.pid);
      if (!tree) continue;
      const bytes =
        tree.bytes > one.limitBytes && tree.pids.length > 1 ? (sharedBytes(tree.pids) ?? tree.bytes) : tree.bytes;
      const { misses } = slots.get(one.id) ?? { misses: 0 };
      slots.set(one.id, { bytes, misses });
      const most = worst.get(one.name);
      const isHigher = bytes - one.limitBytes > (most ? most.bytes - most.one.limitBytes : 0);
      if (isHigher && getAge(one) >= pauseMs(one, misses)) worst.set(one.name, { one, bytes });
    }
    for (const { one, bytes } of worst.values()) {
      const { misses } = /** @type {MemoryState} */ (slots.get(one.id));
      slots.set(one.id, { bytes, misses: getAge(one) < pauseMs(one, misses) + AT_ONCE_MS ? misses + 1 : 0 });
      onAbove(one, `${megabytes(bytes)} above ${megabytes(one.limitBytes)}`);
    }
  }

  /** @param {Limited} one */
  function getAge({ startedAtMs }) {
    const ageMs = clock.nowMs() - startedAtMs;
    // After the wall clock was set back, the age is not known, and counts as old enough.
    return ageMs < 0 ? Infinity : ageMs;
  }

  return {
    sync(ids) {
      for (const id of slots.keys()) if (!ids.has(id)) slots.delete(id);
      if (ids.size > 0 === (cancel !== null)) return;
      cancel?.();
      cancel = ids.size > 0 ? clock.every(TICK_MS, () => void tick()) : null;
    },
    describe: (id) => slots.get(id) ?? null,
    close: () => cancel?.(),
  };
}

/**
 * The age from which an instance's memory counts.
 * @param {Pick<Limited, 'minUptimeMs' | 'backoffMs'>} one
 * @param {number} misses
 */
export function pauseMs({ minUptimeMs, backoffMs }, misses) {
  if (misses === 0) return minUptimeMs;
  return Math.max(minUptimeMs, Math.min(PAUSE_MAX_MS, Math.max(BACKOFF_MIN_MS, backoffMs) * 2 ** misses));
}

/** @param {number} bytes */
function megabytes(bytes) {
  const mb = bytes / MB;
  return `${mb < 100 ? Number(mb.toFixed(1)) : Math.round(mb)} MB`;
}
