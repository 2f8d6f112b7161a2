/** @import { Shipped } from '../../../../lib/shared/wire/protocol.js' */

/** How long a loss is told about after the last of it, in ms. */
const TOLD_MS = 3_600_000;

/**
 * What became of the lines of an app on their way to one target. It outlives connections and processes, and the instances that wrote.
 * @typedef {object} Tally
 * @property {(count: number) => void} sent
 * @property {(count: number) => void} lost
 * @property {(reason: string|null) => void} setProblem  Why nothing can be sent now.
 * @property {() => Shipped} counters
 * @property {() => string|null} notice  What was lost in the last hour, for people.
 */

/**
 * @param {string} target
 * @param {string} name  Of the app.
 * @param {() => number} nowMs
 * @returns {Tally}
 */
export function createTally(target, name, nowMs) {
  let sent = 0;
  let dropped = 0;
  let droppedAtMs = 0;
  /** @type {string|null} */
  let problem = null;
  return {
    sent(count) {
      sent += count;
    },
    lost(count) {
      dropped += count;
      if (count > 0) droppedAtMs = nowMs();
    },
    setProblem(reason) {
      problem = reason;
    },
    counters: () => ({ target, sent, dropped, problem }),
    notice() {
      if (dropped === 0 || nowMs() - droppedAtMs > TOLD_MS) return null;
      return `${dropped} lines of "${name}" could not be sent to "${target}" (${problem ?? 'it was too slow'}) and are lost there.`;
    },
  };
}
