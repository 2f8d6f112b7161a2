// The keeper and control work for all apps. So an instance may take only a share of their time,
// whatever its messages are. If it takes more, the keeper reads its next messages later.

/** CPU time of keeper and control for one instance, as a share of one core. */
const SHARE = 0.15;
/**
 * For the user of the keeper, who could end the keeper. An honest worker passes on thousands of
 * connections a second.
 */
const OWN_SHARE = 0.6;
/** An instance may take this much CPU time at once, for example while it starts. */
const BURST_MS = 150;

/** @typedef {ReturnType<typeof createBudget>} Budget */

/**
 * @param {object} [o]
 * @param {boolean} [o.isOwn]  The instance belongs to the user of the keeper.
 * @param {() => number} [o.nowMono]
 * @param {() => number} [o.cpuMs]  CPU time, because waiting for a CPU is not the fault of the
 *   instance.
 */
export function createBudget({ isOwn = false, nowMono = () => performance.now(), cpuMs = readCpuMs } = {}) {
  const share = isOwn ? OWN_SHARE : SHARE;
  let spentMs = 0;
  let lastMono = nowMono();

  /** @param {number} ms */
  const spend = (ms) => {
    const now = nowMono();
    spentMs = Math.max(0, spentMs - (now - lastMono) * share) + ms;
    lastMono = now;
  };

  return {
    /** @param {number} ms  CPU time that is spent elsewhere, in control. */
    spend,
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
      spend(0);
      return Math.max(0, (spentMs - BURST_MS) / share);
    },
  };
}

function readCpuMs() {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}
