import { describeEnd, quoteErrorLine } from '../shared/death-text.js';
import { formatDuration } from '../shared/units.js';

/** @import { Death } from '../shared/wire/protocol.js' */

/**
 * Whether the program finished its work: it exited without an error, and nclust does not restart
 * it.
 * @param {Death} death
 * @param {{ autorestart: boolean }} slot
 */
export function isFinish({ cause, code, signal }, { autorestart }) {
  return !autorestart && cause === 'crash' && code === 0 && signal === null;
}

/**
 * Like `exited with code 1 after 400ms, before it was up, "Error: no database"`.
 * @param {Death} death
 * @param {{ autorestart: boolean }} slot
 */
export function describeDeath(death, slot) {
  if (isFinish(death, slot)) return `finished with code 0 after ${formatDuration(death.uptimeMs)}`;
  const isEarly = !death.wasReady && death.cause !== 'boot-timeout' && death.cause !== 'spawn-failed';
  return `${describeEnd(death)}${isEarly ? ', before it was up' : ''}${quoteErrorLine(death)}`;
}
