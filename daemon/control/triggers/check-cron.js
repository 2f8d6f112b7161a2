import { NclustError } from '../../../lib/shared/errors.js';
import { cronerNextRun } from './cron.js';

/**
 * A client that is no command line of ours may have sent it.
 * @param {string} pattern  Throws ERR_NCLUST_BAD_SPEC with what croner says.
 */
export function checkCron(pattern) {
  try {
    cronerNextRun(pattern, 0);
  } catch (error) {
    throw new NclustError('ERR_NCLUST_BAD_SPEC', `"cronRestart" is ${JSON.stringify(pattern)}; accepted: a cron pattern (${/** @type {Error} */ (error).message}).`, { data: { keyPath: 'cronRestart' }, cause: error });
  }
}
