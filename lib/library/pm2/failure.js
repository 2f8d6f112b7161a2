import { asNclustError, NclustError } from '../../shared/errors.js';

/** What programs compare with. Everything else is told in our own words. */
const NOT_FOUND = 'process or namespace not found';
const NOTHING_THERE = 'process name not found';

/** @type {Record<string, string>} */
const NOT_FOUND_BY = { scale: 'App not found', sendSignalToProcessName: 'Unknown process name', sendSignalToProcessId: 'Unknown process id', trigger: 'Unknown process', msgProcess: 'Unknown process' };

/**
 * @param {unknown} thrown
 * @param {string} method
 * @param {unknown} what  Its first argument.
 * @returns {NclustError}  In PM2's words where programs look at them; `code` and `hint` are ours.
 */
export function inPm2Words(thrown, method, what) {
  const error = asNclustError(thrown);
  if (method === 'sendDataToProcessId') return error;
  if (error.code === 'ERR_NCLUST_APP_NOT_FOUND') return reworded(error, NOT_FOUND_BY[method] ?? (what === 'all' ? NOTHING_THERE : NOT_FOUND));
  if (error.code === 'ERR_NCLUST_APP_EXISTS') return reworded(error, 'Script already launched');
  return error;
}

/** @param {NclustError} error @param {string} message */
function reworded(error, message) {
  const { code, hint, data } = error;
  return new NclustError(/** @type {import('../../shared/errors.js').ErrorCode} */ (code), message, { hint: hint ?? error.message, data, cause: error });
}
