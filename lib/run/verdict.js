import { constants } from 'node:os';
import { describeEnd } from '../shared/death-text.js';

/** @import { Death, SlotStatus } from '../shared/wire/protocol.js' */

/** Shells report this plus the number of the signal for a process that a signal has ended. */
const BY_SIGNAL = 128;

/**
 * @typedef {object} Verdict
 * @property {boolean} isOver  No instance runs or waits for a restart.
 * @property {boolean} isByCommand  A user has stopped an instance or deleted all apps, and may
 *   start them again.
 * @property {number} exitStatus  Exit status of the first instance that failed. 0: no failure.
 */

/**
 * @param {SlotStatus[]} slots
 * @returns {Verdict}
 */
export function judge(slots) {
  const failed = slots.filter(hasFailed).sort((one, other) => diedAtMs(one) - diedAtMs(other));
  return {
    isOver: slots.every(({ status }) => status === 'stopped' || status === 'errored'),
    isByCommand: slots.length === 0 || slots.some(({ status, lastDeath }) => status === 'stopped' && lastDeath?.by),
    exitStatus: failed.length === 0 ? 0 : chooseStatus(failed[0].lastDeath) || 1,
  };
}

/** @param {SlotStatus[]} slots  After a stop. */
export function killedSlots(slots) {
  return slots.filter(({ lastDeath }) => lastDeath?.signal === 'SIGKILL' && lastDeath.by);
}

/** @param {SlotStatus} slot */
export function describeGivenUp({ name, id, lastDeath }) {
  const how = lastDeath ? describeEnd(lastDeath) : 'could not be started';
  return `"${name}" (id ${id}) failed too often and is not restarted: it ${how}.`;
}

/** @param {SlotStatus} slot */
function hasFailed({ status, lastDeath }) {
  return (
    status === 'errored' ||
    (status === 'stopped' && lastDeath !== null && !lastDeath.by && chooseStatus(lastDeath) !== 0)
  );
}

/** @param {SlotStatus} slot */
function diedAtMs({ lastDeath }) {
  return lastDeath?.atMs ?? 0;
}

/** @param {Death | null} death */
function chooseStatus(death) {
  if (death?.signal) return BY_SIGNAL + (constants.signals[/** @type {NodeJS.Signals} */ (death.signal)] ?? 0);
  return death?.code ?? 1;
}
