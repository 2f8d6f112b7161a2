import { describeCron, describeLostLines, describeMemoryLimit, describeTrigger } from '../figures/facts.js';
import { formatBytes } from '../figures/format.js';
import { completeSpec } from '../app-spec/check.js';
import { formatDuration } from '../shared/units.js';
import { toOneLine } from './text.js';

/** @import { AppSpec } from '../app-spec/types.js' */
/** @import { Shipped, SlotStatus, WatchShown } from '../shared/wire/protocol.js' */
/** @import { Cell } from './table.js' */

/**
 * The paths of the out log and of the error log always have a row. Other settings have a row only
 * if they differ from the default.
 * @param {SlotStatus} slot
 * @returns {[string, string][]}
 */
export function logRows({ outFile, errorFile, logFile, logLost, shipping, spec }) {
  return [
    ...(logFile ? [row('entire log path', logFile)] : []),
    ['out log path', outFile],
    ['error log path', errorFile],
    ...(logLost ? [row('log lines lost', describeLostLines(logLost))] : []),
    ...(spec
      ? [
          ...formatRows(spec),
          ...limitRows(spec),
          ...(shipping ?? spec.logShip?.map(unreportedShipping) ?? []).map(shippingRow),
        ]
      : []),
  ];
}

/**
 * @param {AppSpec} spec
 * @returns {[string, string][]}
 */
function formatRows({ disableLogs, logType, logDateFormat }) {
  return [
    ...(disableLogs ? [row('disable logs', 'yes: its output is not kept')] : []),
    ...(logType === 'json' ? [row('log type', 'json, a record per line')] : []),
    ...(logDateFormat ? [row('log date format', toOneLine(logDateFormat))] : []),
  ];
}

/**
 * @param {AppSpec} spec
 * @returns {[string, string][]}
 */
function limitRows({
  logMaxSizeBytes,
  logInterval,
  logMaxFiles,
  logMaxAgeMs,
  logMaxTotalBytes,
  logCompress,
  logOverflow,
  logRateLimitBytes,
}) {
  return [
    ...limit('log max size', logMaxSizeBytes, formatBytes),
    ...(logInterval ? [row('log interval', logInterval)] : []),
    ...(logMaxFiles === null || logMaxFiles === undefined ? [] : [row('log max files', String(logMaxFiles))]),
    ...limit('log max age', logMaxAgeMs, formatDuration),
    ...limit('log max total', logMaxTotalBytes, formatBytes),
    ...(logCompress ? [row('log compress', logCompress)] : []),
    ...(logOverflow === 'drop' ? [row('log overflow', 'drop: lines are lost when the disk is slow')] : []),
    ...(logRateLimitBytes > 0
      ? [row('log rate limit', `${formatBytes(logRateLimitBytes)} a second for each instance`)]
      : []),
  ];
}

/**
 * @param {string} title
 * @param {number | null | undefined} value
 * @param {(value: number) => string} format
 * @returns {[string, string][]}
 */
function limit(title, value, format) {
  if (value === null || value === undefined) return [];
  return [row(title, value === 0 ? 'none' : format(value))];
}

/**
 * The row for an earlier version of the manager, which does not report the shipping.
 * @param {string} target
 * @returns {Shipped}
 */
function unreportedShipping(target) {
  return { target, sent: 0, dropped: 0, problem: null };
}

/**
 * @param {Shipped} shipped
 * @returns {[string, string]}
 */
function shippingRow({ target, sent, dropped, problem }) {
  const counts = `${sent} lines sent${dropped > 0 ? `, ${dropped} lost` : ''}`;
  return row('logs go to', toOneLine(`${target} (${counts}${problem === null ? '' : `; ${problem}`})`));
}

/**
 * @param {string} title
 * @param {string} text
 * @returns {[string, string]}
 */
function row(title, text) {
  return [title, text];
}

/**
 * @param {SlotStatus} slot  With detail.
 * @param {number} nowMs
 */
export function triggerRows({ spec: given, status, triggers, pidFile, watching }, nowMs) {
  if (!given) return [];
  const spec = completeSpec(given);
  const next = (/** @type {number} */ atMs) =>
    `${new Date(atMs).toISOString()} (in ${formatDuration(Math.max(0, atMs - nowMs))})`;
  return [
    ...(pidFile ? [['pid path', pidFile]] : []),
    ['watch & reload', watchText(spec, triggers?.watch ?? null, watching)],
    ...(triggers?.watch?.problem
      ? [['watch problem', /** @type {Cell} */ ({ text: triggers.watch.problem, style: 'yellow' })]]
      : []),
    ...(spec.cronRestart === null
      ? []
      : [['cron restart', describeCron(spec.cronRestart, { nextRunMs: triggers?.nextRunMs ?? null, status }, next)]]),
    ...(spec.maxMemoryBytes === 0
      ? []
      : [['max memory restart', describeMemoryLimit(spec.maxMemoryBytes, triggers?.memory ?? null)]]),
    ...(triggers?.last
      ? [['last trigger', `${new Date(triggers.last.atMs).toISOString()} ${describeTrigger(triggers.last)}`]]
      : []),
  ];
}

/**
 * @param {NonNullable<SlotStatus['spec']>} spec
 * @param {WatchShown | null} watch
 * @param {boolean} isWatching
 */
function watchText({ watch: given, watchOff }, watch, isWatching) {
  if (given.length === 0) return 'disabled';
  if (watchOff) return `disabled for now: ${given.join(', ')}`;
  if (!watch || !isWatching) return `when it runs: ${given.join(', ')}`;
  return `${watch.isReady ? '' : 'not yet: '}${watch.paths.join(', ')}`;
}
