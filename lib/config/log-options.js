import { LOG_COMPRESSIONS, LOG_INTERVALS, LOG_OVERFLOWS, LOG_RULES, LOG_TYPES, TIME_FORMAT } from '../shared/log-spec.js';
import { parseShipTarget, SHIP_TARGET_FORMS, SHIP_TARGETS_MAX } from '../shared/ship-target.js';
import { BYTES_FORMS, DURATION_FORMS, parseBytes, parseDuration } from '../shared/units.js';
import { asText, badOption, oneOf } from './option-readers.js';

const SIZE_FORMS = `0 for no limit, or from 1K, as ${BYTES_FORMS}`;

/** What start, restart and reload take about the output of an app. @type {import('./options.js').StartOption[]} */
export const LOG_OPTIONS = [
  { flags: '-o, --output <path>', key: 'output', field: 'outFile', read: asFile, help: 'file for its standard output; "none", or "default" for the one in the home' },
  { flags: '-e, --error <path>', key: 'error', field: 'errorFile', read: asFile, help: 'file for its standard error; "none", or "default" for the one in the home' },
  { flags: '-l, --log [path]', key: 'log', field: 'logFile', read: asCombinedFile, help: 'one more file with both, by default <name>.log; "none" for none' },
  { flags: '--merge-logs', key: 'mergeLogs', field: 'mergeLogs', read: (value) => value, help: 'one pair of files for all instances' },
  { flags: '--no-merge-logs', key: 'mergeLogs', field: 'mergeLogs', read: (value) => value, help: 'a pair of files for each instance' },
  { flags: '--disable-logs', key: 'disableLogs', field: 'disableLogs', read: (value) => value, help: 'keep nothing of what it writes' },
  { flags: '--no-disable-logs', key: 'disableLogs', field: 'disableLogs', read: (value) => value, help: 'keep it again' },
  { flags: '--log-type <type>', key: 'logType', field: 'logType', read: oneOf(LOG_TYPES), help: 'raw, or json for one record a line (default: raw)' },
  // Before --log-date-format, which says more and counts when both are given.
  { flags: '--time', key: 'time', field: 'logDateFormat', read: () => TIME_FORMAT, help: `the date before each line, as ${TIME_FORMAT}` },
  { flags: '--log-date-format <format>', key: 'logDateFormat', field: 'logDateFormat', read: asDateFormat, help: 'the date before each line, in the signs of dayjs; "none" for none' },
  { flags: '--log-max-size <size>', key: 'logMaxSize', field: 'logMaxSizeBytes', read: orDefault(asSize), help: 'how large a log file gets before it is rotated; "default" for the setting of the home' },
  { flags: '--log-interval <interval>', key: 'logInterval', field: 'logInterval', read: wordOrDefault(LOG_INTERVALS), help: 'when it is rotated however small it is: hourly, daily, weekly or never' },
  { flags: '--log-max-files <number>', key: 'logMaxFiles', field: 'logMaxFiles', read: orDefault(asFileCount), help: 'how many rotated files are kept of each log file' },
  { flags: '--log-max-age <time>', key: 'logMaxAge', field: 'logMaxAgeMs', read: orDefault(asAge), help: 'how old a rotated file gets; 0 for any age' },
  { flags: '--log-max-total <size>', key: 'logMaxTotal', field: 'logMaxTotalBytes', read: orDefault(asSize), help: 'how much room all its log files take together' },
  { flags: '--log-compress <how>', key: 'logCompress', field: 'logCompress', read: wordOrDefault(LOG_COMPRESSIONS), help: 'how rotated files are compressed: gzip, zstd or none' },
  { flags: '--log-overflow <how>', key: 'logOverflow', field: 'logOverflow', read: oneOf(LOG_OVERFLOWS), help: 'when the disk is slow the app waits (block), or lines are lost and counted (drop) (default: block)' },
  { flags: '--log-rate-limit <size>', key: 'logRateLimit', field: 'logRateLimitBytes', read: asRate, help: 'how much an instance may write in a second; what is above is lost and counted; "none" for no limit (default: none)' },
  { flags: '--log-ship <target>', key: 'logShip', field: 'logShip', isRepeatable: true, read: asShipTargets, help: 'send its lines to syslog+udp://host:port, syslog+tcp://host:port, syslog+unix:///path or exec:command too; may be given several times; "none" for none' },
];

/** @param {string} value @param {string} flag */
function asFile(value, flag) {
  if (value === 'none') return '/dev/null';
  return value === 'default' ? '' : asText(value, flag);
}

/** @param {string|true} value @param {string} flag */
function asCombinedFile(value, flag) {
  if (value === true) return 'default';
  return value === 'none' ? '' : asText(value, flag);
}

/** @param {string} value @param {string} flag */
function asDateFormat(value, flag) {
  if (value === 'none') return null;
  if (LOG_RULES.logDateFormat.accepts(value)) return value;
  throw badOption(flag, value, `${LOG_RULES.logDateFormat.accepted}, or "none"`);
}

/** @param {string} value @param {string} flag */
function asSize(value, flag) {
  const bytes = parseBytes(value);
  if (bytes !== null && LOG_RULES.logRateLimitBytes.accepts(bytes)) return bytes;
  throw badOption(flag, value, SIZE_FORMS);
}

/** @param {string} value @param {string} flag */
function asRate(value, flag) {
  return value === 'none' ? 0 : asSize(value, flag);
}

/** @param {string} value @param {string} flag */
function asFileCount(value, flag) {
  if (/^\d+$/.test(value) && LOG_RULES.logMaxFiles.accepts(Number(value))) return Number(value);
  throw badOption(flag, value, LOG_RULES.logMaxFiles.accepted);
}

/** @param {string} value @param {string} flag */
function asAge(value, flag) {
  const ms = parseDuration(value);
  if (ms !== null) return ms;
  throw badOption(flag, value, `0 for any age, or ${DURATION_FORMS}`);
}

/** @param {string[]} values @param {string} flag */
function asShipTargets(values, flag) {
  const targets = [...new Set(values)];
  if (targets.length === 1 && targets[0] === 'none') return [];
  const bad = targets.find((target) => parseShipTarget(target) === null);
  if (bad !== undefined) throw badOption(flag, bad, SHIP_TARGET_FORMS);
  if (targets.length > SHIP_TARGETS_MAX) throw badOption(flag, targets.join(' '), `at most ${SHIP_TARGETS_MAX} targets`);
  return targets;
}

/**
 * @template T
 * @param {(value: string, flag: string) => T} read
 * @returns {(value: string, flag: string) => T|null}
 */
function orDefault(read) {
  return (value, flag) => (value === 'default' ? null : read(value, flag));
}

/** @param {string[]} words */
function wordOrDefault(words) {
  const read = oneOf([...words, 'default']);
  return (/** @type {string} */ value, /** @type {string} */ flag) => (read(value, flag) === 'default' ? null : value);
}
