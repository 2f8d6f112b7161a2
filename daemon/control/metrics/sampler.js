/** @import { ReadUsage, Usage, Wanted } from './usage.js' */

/**
 * Knows what each process uses.
 * @typedef {object} Sampler
 * @property {(pid: number) => Usage} usageOf  As of the last tick.
 * @property {() => Promise<void>} lookAtNew  Reads what no tick has seen yet. Never rejects.
 * @property {() => Promise<void>} look  To be called once a tick. Never rejects.
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

  /** @param {() => Promise<void>} one  When those before it are done. A process may end while it is read: the next tick is soon. */
  function inTurn(one) {
    turn = turn.then(one).catch(() => {});
    return turn;
  }

  return {
    usageOf: (pid) => latest.get(pid) ?? NOTHING,
    lookAtNew: () => inTurn(async () => {
      const fresh = await read(wanted().filter(({ pid }) => !latest.has(pid)));
      for (const [pid, usage] of fresh) latest.set(pid, usage);
    }),
    async look() {
      if (isReading) return; // A machine so slow that it has not finished the last one.
      isReading = true;
      await inTurn(async () => {
        latest = await read(wanted());
      });
      isReading = false;
    },
  };
}
