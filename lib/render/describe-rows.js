import { formatDuration } from '../shared/units.js';
import { formatBytes } from './slots.js';
import { oneLine } from './text.js';

/** @typedef {import('../shared/wire/protocol.js').SlotStatus} SlotStatus */
/** @typedef {import('../shared/spec/spec.js').AppSpec} AppSpec */

/**
 * What becomes of the output. What is not set is not told, because then the defaults count.
 * @param {SlotStatus} slot
 * @returns {[string, string][]}
 */
export function logRows({ outFile, errorFile, logFile, logLost, shipping, spec }) {
  return [
    ...(logFile ? [row('entire log path', logFile)] : []),
    ['out log path', outFile],
    ['error log path', errorFile],
    ...(logLost ? [row('log lines lost', `${logLost.lines} (${formatBytes(logLost.bytes)}) in the last hour: ${logLost.reason}`)] : []),
    ...(spec ? [...formatRows(spec), ...limitRows(spec), ...(shipping ?? spec.logShip?.map(unknown) ?? []).map(shippingRow)] : []),
  ];
}

/**
 * @param {AppSpec} spec
 * @returns {[string, string][]}
 */
function formatRows({ disableLogs, logType, logDateFormat }) {
  return [
    ...(disableLogs ? [row('disable logs', 'yes: nothing of its output is kept')] : []),
    ...(logType === 'json' ? [row('log type', 'json, a record per line')] : []),
    ...(logDateFormat ? [row('log date format', oneLine(logDateFormat))] : []),
  ];
}

/**
 * @param {AppSpec} spec
 * @returns {[string, string][]}
 */
function limitRows({ logMaxSizeBytes, logInterval, logMaxFiles, logMaxAgeMs, logMaxTotalBytes, logCompress, logOverflow, logRateLimitBytes }) {
  return [
    ...limit('log max size', logMaxSizeBytes, formatBytes),
    ...(logInterval ? [row('log interval', logInterval)] : []),
    ...(logMaxFiles === null || logMaxFiles === undefined ? [] : [row('log max files', String(logMaxFiles))]),
    ...limit('log max age', logMaxAgeMs, formatDuration),
    ...limit('log max total', logMaxTotalBytes, formatBytes),
    ...(logCompress ? [row('log compress', logCompress)] : []),
    ...(logOverflow === 'drop' ? [row('log overflow', 'drop: lines are lost when the disk is slow')] : []),
    ...(logRateLimitBytes > 0 ? [row('log rate limit', `${formatBytes(logRateLimitBytes)} a second and instance`)] : []),
  ];
}

/**
 * @param {string} title
 * @param {number|null|undefined} value
 * @param {(value: number) => string} format
 * @returns {[string, string][]}
 */
function limit(title, value, format) {
  if (value === null || value === undefined) return [];
  return [row(title, value === 0 ? 'none' : format(value))];
}

/**
 * Of a manager that has not told.
 * @param {string} target
 * @returns {import('../shared/wire/protocol.js').Shipped}
 */
function unknown(target) {
  return { target, sent: 0, dropped: 0, problem: null };
}

/**
 * @param {import('../shared/wire/protocol.js').Shipped} shipped
 * @returns {[string, string]}
 */
function shippingRow({ target, sent, dropped, problem }) {
  const counts = `${sent} lines sent${dropped > 0 ? `, ${dropped} lost` : ''}`;
  return row('logs go to', oneLine(`${target} (${counts}${problem === null ? '' : `; ${problem}`})`));
}

/**
 * @param {string} title
 * @param {string} text
 * @returns {[string, string]}
 */
function row(title, text) {
  return [title, text];
}
