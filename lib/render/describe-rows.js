import { describeCron, describeLostLines, describeMemoryLimit, describeTrigger } from '../figures/facts.js';
import { clockTime, formatBytes } from '../figures/format.js';
import { completeSpec } from '../app-spec/check.js';
import { showReceivers } from '../app-spec/notify-fields.js';
import { formatDuration } from '../shared/units.js';
import { toOneLine } from './text.js';

/** @import { AppSpec } from '../app-spec/types.js' */
/** @import { Shipped, SlotStatus, WatchShown } from '../shared/wire/protocol.js' */
/** @import { Cell } from './table.js' */

/**
 * Leaves out rows without a text.
 * @param {[title: string, text: Cell | null | undefined | false][]} rows
 */
export function known(rows) {
  return /** @type {[string, Cell][]} */ (rows.filter(([, text]) => text));
}

/**
 * The paths of the out log and of the error log always have a row. Other settings have a row only
 * if they differ from the default.
 * @param {SlotStatus} slot
 * @returns {Cell[][]}
 */
export function logRows({ outFile, errorFile, logFile, logLost, shipping, spec }) {
  return [
    ...known([['entire log path', logFile]]),
    ['out log path', outFile],
    ['error log path', errorFile],
    ...known([['log lines lost', logLost && describeLostLines(logLost)]]),
    ...(spec ? settingRows(spec) : []),
    ...(spec ? (shipping ?? spec.logShip?.map(unreportedShipping) ?? []).map(shippingRow) : []),
  ];
}

/** @param {AppSpec} spec */
function settingRows(spec) {
  const limitBytes = spec.logRateLimitBytes;
  return known([
    ['disable logs', spec.disableLogs && 'yes: its output is not kept'],
    ['log type', spec.logType === 'json' && 'json, a record per line'],
    ['log date format', spec.logDateFormat && toOneLine(spec.logDateFormat)],
    ['log max size', limit(spec.logMaxSizeBytes, formatBytes)],
    ['log interval', spec.logInterval],
    ['log max files', spec.logMaxFiles?.toString()],
    ['log max age', limit(spec.logMaxAgeMs, formatDuration)],
    ['log max total', limit(spec.logMaxTotalBytes, formatBytes)],
    ['log compress', spec.logCompress],
    ['log overflow', spec.logOverflow === 'drop' && 'drop: lines are lost when the disk is slow'],
    ['log rate limit', limitBytes > 0 && `${formatBytes(limitBytes)} a second for each instance`],
  ]);
}

/**
 * @param {number | null | undefined} value
 * @param {(value: number) => string} format
 */
function limit(value, format) {
  if (value === null || value === undefined) return null;
  return value === 0 ? 'none' : format(value);
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
  return ['logs go to', toOneLine(`${target} (${counts}${problem === null ? '' : `; ${problem}`})`)];
}

/**
 * @param {SlotStatus} slot  With detail.
 * @param {number} nowMs
 * @returns {Cell[][]}
 */
export function triggerRows({ spec: given, status, triggers, pidFile, watching }, nowMs) {
  if (!given) return [];
  const spec = completeSpec(given);
  const next = (/** @type {number} */ atMs) =>
    `${clockTime(atMs, nowMs)} (in ${formatDuration(Math.max(0, atMs - nowMs))})`;
  const { watch = null, nextRunMs = null, memory = null, last = null } = triggers ?? {};
  const { cronRestart, maxMemoryBytes } = spec;
  return [
    ...known([['pid path', pidFile]]),
    ...(showReceivers(spec.notify) ?? []).map(({ to }) => ['notifies', toOneLine(to)]),
    ['watch & reload', watchText(spec, watch, watching)],
    ...known([
      ['watch problem', watch?.problem ? { text: watch.problem, style: 'yellow' } : null],
      ['cron restart', cronRestart !== null && describeCron(cronRestart, { nextRunMs, status }, next)],
      ['max memory restart', maxMemoryBytes > 0 && describeMemoryLimit(maxMemoryBytes, memory)],
      ['last trigger', last && `${clockTime(last.atMs, nowMs)} ${describeTrigger(last)}`],
    ]),
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
