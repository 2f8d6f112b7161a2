/** @typedef {import('../shared/wire/protocol.js').SlotStatus} SlotStatus */

/**
 * Whether everything that should run does, or has failed at its first attempt.
 * @param {Pick<SlotStatus, 'status'|'restarts'>[]} slots
 */
export function isDecided(slots) {
  return slots.every(({ status, restarts }) => restarts > 0 || (status !== 'launching' && status !== 'stopping'));
}

/**
 * One line for `systemctl status`.
 * @param {Pick<SlotStatus, 'status'>[]} slots
 */
export function standing(slots) {
  const count = (/** @type {string[]} */ ...words) => slots.filter(({ status }) => words.includes(status)).length;
  const stopped = count('stopped');
  const parts = [
    `${count('online')} of ${slots.length - stopped} instances are up`,
    ...told(count('waiting restart'), 'waiting to be restarted'),
    ...told(count('errored'), 'given up'),
    ...told(stopped, 'stopped'),
  ];
  return parts.join(', ');
}

/** @param {number} number @param {string} what */
function told(number, what) {
  return number > 0 ? [`${number} ${what}`] : [];
}
