/** How often all processes are looked at, in ms. */
const TICK_MS = 2_000;

/** How long what was read of a pid is kept for the next reading, in ms. With it pidusage keeps /proc/PID/stat open: after a thousand crashes a minute of that was a thousand descriptors. */
const KEPT_MS = 5_000;

/** @typedef {{cpu: number, memoryBytes: number}} Usage  Percent of one core, and bytes resident. */

/** Reads all pids in one call; one that is gone is null or missing. @typedef {(pids: number[], o: {maxage: number}) => Promise<Record<string, {cpu: number, memory: number}|null>>} ReadUsage */

/**
 * Knows what each process uses.
 * @typedef {object} Sampler
 * @property {(pid: number) => Usage} usageOf  As of the last tick.
 * @property {(pids: number[]) => Promise<void>} lookAtNew  Reads the pids that no tick has seen yet.
 * @property {() => void} close
 */

/**
 * @param {object} o
 * @param {import('../clock.js').Clock} o.clock
 * @param {ReadUsage} o.read
 * @param {() => number[]} o.pids  That run now.
 * @param {() => void} o.onTick
 * @returns {Sampler}
 */
export function createSampler({ clock, read, pids, onTick }) {
  /** @type {Map<number, Usage>} */
  let latest = new Map();
  let isReading = false;

  /** @param {number[]} wanted */
  async function look(wanted) {
    const stats = wanted.length === 0 ? {} : await read(wanted, { maxage: KEPT_MS });
    return new Map(Object.entries(stats).flatMap(([pid, stat]) => (stat ? [[Number(pid), { cpu: round(stat.cpu), memoryBytes: stat.memory }]] : [])));
  }

  async function tick() {
    onTick();
    if (isReading) return; // A machine so slow that it has not finished the last one.
    isReading = true;
    try {
      latest = await look(pids());
    } catch {
      // A process ended while it was read: the next tick is soon.
    } finally {
      isReading = false;
    }
  }

  const cancel = clock.every(TICK_MS, () => void tick());
  return {
    usageOf: (pid) => latest.get(pid) ?? { cpu: 0, memoryBytes: 0 },
    async lookAtNew(running) {
      const fresh = await look(running.filter((pid) => !latest.has(pid))).catch(() => new Map());
      for (const [pid, usage] of fresh) latest.set(pid, usage);
    },
    close: cancel,
  };
}

/** @param {number} cpu */
function round(cpu) {
  return Math.round(cpu * 10) / 10;
}
