/** @import { ReadUsage, Usage, Wanted } from './usage.js' */

/**
 * Knows what each process uses.
 * @typedef {object} Sampler
 * @property {(pid: number) => Usage} usageOf  As of the last tick.
 * @property {() => Promise<void>} lookAtNew  Reads what no tick has seen yet.
 * @property {() => Promise<void>} look  To be called once a tick. Never rejects.
 */

/** @type {Usage} */
const NOTHING = { cpu: 0, memoryBytes: 0, processes: 0, fds: null };

/**
 * @param {object} o
 * @param {ReadUsage} o.read
 * @param {() => Wanted[]} o.wanted  What runs now.
 * @returns {Sampler}
 */
export function createSampler({ read, wanted }) {
  /** @type {Map<number, Usage>} */
  let latest = new Map();
  let isReading = false;

  return {
    usageOf: (pid) => latest.get(pid) ?? NOTHING,
    async lookAtNew() {
      const fresh = await read(wanted().filter(({ pid }) => !latest.has(pid))).catch(() => new Map());
      for (const [pid, usage] of fresh) latest.set(pid, usage);
    },
    async look() {
      if (isReading) return; // A machine so slow that it has not finished the last one.
      isReading = true;
      try {
        latest = await read(wanted());
      } catch {
        // A process ended while it was read: the next tick is soon.
      } finally {
        isReading = false;
      }
    },
  };
}
