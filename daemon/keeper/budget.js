// The keeper and control work for all apps. So an instance may take only a share of their time,
// whatever its messages are. If it takes more, the keeper reads its next messages later.

/**
 * CPU time of keeper and control for one instance, as a share of one core. All instances that take
 * more have this share together.
 */
const SHARE = 0.15;
/**
 * For the user of the keeper, who could end the keeper. An honest worker passes on thousands of
 * connections a second.
 */
const OWN_SHARE = 0.6;
/** An instance may take this much CPU time at once, for example while it starts. */
const BURST_MS = 150;

/** An instance that has not taken too much for this long no longer shares with the others. */
const FORGET_MS = 1_000;

/** By instance: when it last took too much. @typedef {Map<object, number>} Greedy */

/** @type {Greedy} */
const ALL = new Map();

/** @typedef {ReturnType<typeof createBudget>} Budget */

/**
 * @param {object} [o]
 * @param {boolean} [o.isOwn]  The instance belongs to the user of the keeper.
 * @param {Greedy} [o.greedy]  Of all instances of other users.
 * @param {() => number} [o.nowMono]
 * @param {() => number} [o.cpuMs]  CPU time, because waiting for a CPU is not the fault of the
 *   instance.
 */
export function createBudget({
  isOwn = false,
  greedy = ALL,
  nowMono = () => performance.now(),
  cpuMs = readCpuMs,
} = {}) {
  const self = {};
  let spentMs = 0;
  let lastMono = nowMono();

  /** @param {number} now */
  const computeShare = (now) => {
    if (isOwn) return OWN_SHARE;
    for (const [one, atMono] of greedy) if (now - atMono > FORGET_MS) greedy.delete(one);
    return SHARE / Math.max(1, greedy.size);
  };

  /** @param {number} ms */
  const spend = (ms) => {
    const now = nowMono();
    const share = computeShare(now);
    spentMs = Math.max(0, spentMs - (now - lastMono) * share) + ms;
    lastMono = now;
    if (spentMs > BURST_MS && !isOwn) greedy.set(self, now);
    return share;
  };

  return {
    /** @param {number} ms  CPU time that is spent elsewhere, in control. */
    spend(ms) {
      spend(ms);
    },
    /** @param {() => void} work  Synchronous. Must not call run() of the same budget. */
    run(work) {
      const before = cpuMs();
      try {
        work();
      } finally {
        spend(cpuMs() - before);
      }
    },
    /** Time until the instance may take more, in ms. 0: now. */
    get waitMs() {
      const share = spend(0);
      return Math.max(0, (spentMs - BURST_MS) / share);
    },
  };
}

function readCpuMs() {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}
