import {
  LOG_COMPRESSIONS,
  LOG_INTERVALS,
  LOG_OVERFLOWS,
  LOG_RULES,
  LOG_TYPES,
  parseShipTarget,
  SHIP_TARGET_FORMS,
  SHIP_TARGETS_MAX,
  TIME_FORMAT,
} from '../../shared/spec/logs.js';
import { BYTES_FORMS, DURATION_FORMS, parseBytes, parseDuration } from '../../shared/units.js';
import { readFlag, readPath, badOption, KINDS, enumKind } from './readers.js';

/** @import { StartOption } from './options.js' */
/** @import { ValueKind } from './readers.js' */

const SIZE_FORMS = `0 for no limit, or from 1K, as ${BYTES_FORMS}`;
const AGE_FORMS = `0 for any age, or ${DURATION_FORMS}`;
const FILE_FORMS = 'a path, "none" or "default"';

const PATH_SCHEMA = { type: 'string' };

const NONE_OR_SIZE = { type: ['integer', 'string', 'null'] };

/** @type {StartOption[]} */
export const LOG_OPTIONS = [
  {
    name: 'out_file',
    aliases: ['out', 'output', 'out_log'],
    flags: '-o, --output <path>',
    key: 'output',
    field: 'outFile',
    read: asFile,
    accepted: FILE_FORMS,
    schema: PATH_SCHEMA,
    default: '$NCLUST_HOME/logs/<name>-out.log',
    help: 'file for its standard output; "none" for no file, "default" for <name>-out.log',
    meaning: 'file for its standard output',
  },
  {
    name: 'error_file',
    aliases: ['error', 'err', 'err_file', 'err_log', 'error_log'],
    flags: '-e, --error <path>',
    key: 'error',
    field: 'errorFile',
    read: asFile,
    accepted: FILE_FORMS,
    schema: PATH_SCHEMA,
    default: '$NCLUST_HOME/logs/<name>-error.log',
    help: 'file for its standard error; "none" for no file, "default" for <name>-error.log',
    meaning: 'file for its standard error',
  },
  {
    name: 'log_file',
    aliases: ['log'],
    flags: '-l, --log [path]',
    key: 'log',
    field: 'logFile',
    read: asCombinedFile,
    accepted: 'true for <name>.log, a path, or "none"',
    schema: { type: ['string', 'boolean'] },
    default: 'none',
    help: 'also write both streams to one file (default <name>.log); "none" to disable',
    meaning: 'also write both streams to this file',
  },
  {
    name: 'merge_logs',
    aliases: ['combine_logs'],
    flags: '--merge-logs',
    key: 'mergeLogs',
    field: 'mergeLogs',
    ...KINDS.flag,
    default: 'true in fork mode without "instances", else false',
    help: 'one pair of files for all instances',
  },
  {
    flags: '--no-merge-logs',
    key: 'mergeLogs',
    field: 'mergeLogs',
    ...KINDS.flag,
    help: 'a pair of files for each instance',
  },
  {
    name: 'disable_logs',
    flags: '--disable-logs',
    key: 'disableLogs',
    field: 'disableLogs',
    ...KINDS.flag,
    default: 'false',
    help: 'do not keep its output',
  },
  {
    flags: '--no-disable-logs',
    key: 'disableLogs',
    field: 'disableLogs',
    ...KINDS.flag,
    help: 'keep its output again',
  },
  {
    name: 'log_type',
    flags: '--log-type <type>',
    key: 'logType',
    field: 'logType',
    ...enumKind(LOG_TYPES),
    default: 'raw',
    help: 'raw, or json for one record a line (default: raw)',
  },
  {
    name: 'log_date_format',
    flags: '--log-date-format <format>',
    key: 'logDateFormat',
    field: 'logDateFormat',
    read: asDateFormat,
    accepted: `a format such as "${TIME_FORMAT}", or "none"`,
    schema: { type: 'string' },
    default: 'none',
    help: 'write the date before each line, in this format of dayjs; "none" to disable',
    meaning: 'write the date before each line, in this format of dayjs',
  },
  // --time comes after --log-date-format: if the user gives both, the later row wins, as in PM2.
  {
    name: 'time',
    flags: '--time',
    key: 'time',
    field: 'logDateFormat',
    ...KINDS.flag,
    read: (value, where) => (readFlag(value, where) ? TIME_FORMAT : null),
    default: 'false',
    help: `write the date before each line: ${TIME_FORMAT}`,
  },
  {
    name: 'log_max_size',
    flags: '--log-max-size <size>',
    key: 'logMaxSize',
    field: 'logMaxSizeBytes',
    read: orDefault(asSize),
    accepted: `${SIZE_FORMS}, or "default"`,
    schema: NONE_OR_SIZE,
    unit: 'bytes',
    default: 'the setting logs.max_size',
    help: 'rotate a log file of this size; "default" for the value of "nclust set"',
    meaning: 'rotate a log file of this size',
  },
  {
    name: 'log_interval',
    flags: '--log-interval <interval>',
    key: 'logInterval',
    field: 'logInterval',
    ...wordOrDefault(LOG_INTERVALS),
    default: 'the setting logs.interval',
    help: 'also rotate a log file this often: hourly, daily, weekly or never',
    meaning: 'also rotate a log file this often',
  },
  {
    name: 'log_max_files',
    flags: '--log-max-files <number>',
    key: 'logMaxFiles',
    field: 'logMaxFiles',
    read: orDefault(asFileCount),
    accepted: `${LOG_RULES.logMaxFiles.accepted}, or "default"`,
    schema: { type: ['integer', 'string'] },
    default: 'the setting logs.max_files',
    help: 'rotated files to keep for each log file',
  },
  {
    name: 'log_max_age',
    flags: '--log-max-age <time>',
    key: 'logMaxAge',
    field: 'logMaxAgeMs',
    read: orDefault(asAge),
    accepted: `${AGE_FORMS}, or "default"`,
    schema: NONE_OR_SIZE,
    unit: 'ms',
    default: 'the setting logs.max_age',
    help: 'delete rotated files that are older than this; 0 for no limit',
    meaning: 'delete rotated files that are older than this',
  },
  {
    name: 'log_max_total',
    flags: '--log-max-total <size>',
    key: 'logMaxTotal',
    field: 'logMaxTotalBytes',
    read: orDefault(asSize),
    accepted: `${SIZE_FORMS}, or "default"`,
    schema: NONE_OR_SIZE,
    unit: 'bytes',
    default: 'the setting logs.max_app_total',
    help: 'size of all its log files together',
  },
  {
    name: 'log_compress',
    flags: '--log-compress <how>',
    key: 'logCompress',
    field: 'logCompress',
    ...wordOrDefault(LOG_COMPRESSIONS),
    default: 'the setting logs.compress',
    help: 'how to compress rotated files: gzip, zstd or none',
    meaning: 'how to compress rotated files',
  },
  {
    name: 'log_overflow',
    flags: '--log-overflow <how>',
    key: 'logOverflow',
    field: 'logOverflow',
    ...enumKind(LOG_OVERFLOWS),
    default: 'block',
    help: 'if the disk is slow, the app waits (block), or nclust drops and counts lines (drop) (default: block)',
  },
  {
    name: 'log_rate_limit',
    flags: '--log-rate-limit <size>',
    key: 'logRateLimit',
    field: 'logRateLimitBytes',
    read: asRate,
    accepted: `${SIZE_FORMS}, or "none"`,
    schema: NONE_OR_SIZE,
    unit: 'bytes',
    default: 'none',
    help:
      'size that an instance may write per second; nclust drops and counts lines above it; "none" for ' +
      'no limit (default: none)',
    meaning: 'size that an instance may write per second; nclust drops and counts lines above it',
  },
  {
    name: 'log_ship',
    flags: '--log-ship <target>',
    key: 'logShip',
    field: 'logShip',
    isRepeatable: true,
    read: asShipTargets,
    accepted: `a target or a list of at most ${SHIP_TARGETS_MAX}, each ${SHIP_TARGET_FORMS}`,
    schema: { type: ['string', 'array'], items: { type: 'string' } },
    default: 'none',
    help:
      'also send its lines to syslog+udp://host:port, syslog+tcp://host:port, syslog+unix:///path or ' +
      'exec:command; may be given several times; "none" to disable',
    meaning: 'also send its lines to these targets',
  },
];

/**
 * @param {unknown} value
 * @param {string} where
 */
function asFile(value, where) {
  if (value === 'none') return '/dev/null';
  return value === 'default' ? '' : readPath(value, where);
}

/**
 * @param {unknown} value
 * @param {string} where
 */
function asCombinedFile(value, where) {
  if (value === true) return 'default';
  return value === 'none' || value === false ? '' : readPath(value, where);
}

/**
 * @param {unknown} value
 * @param {string} where
 */
function asDateFormat(value, where) {
  if (value === 'none' || value === false) return null;
  if (LOG_RULES.logDateFormat.accepts(value)) return value;
  throw badOption(where, value, `${LOG_RULES.logDateFormat.accepted}, or "none"`);
}

/**
 * @param {unknown} value
 * @param {string} where
 */
function asSize(value, where) {
  const bytes = isFigure(value) ? parseBytes(value) : null;
  if (bytes !== null && LOG_RULES.logRateLimitBytes.accepts(bytes)) return bytes;
  throw badOption(where, value, SIZE_FORMS);
}

/**
 * @param {unknown} value
 * @param {string} where
 */
function asRate(value, where) {
  return value === 'none' ? 0 : asSize(value, where);
}

/**
 * @param {unknown} value
 * @param {string} where
 */
function asFileCount(value, where) {
  if (isFigure(value) && /^\d+$/.test(String(value)) && LOG_RULES.logMaxFiles.accepts(Number(value)))
    return Number(value);
  throw badOption(where, value, LOG_RULES.logMaxFiles.accepted);
}

/**
 * @param {unknown} value
 * @param {string} where
 */
function asAge(value, where) {
  const ms = isFigure(value) ? parseDuration(value) : null;
  if (ms !== null) return ms;
  throw badOption(where, value, AGE_FORMS);
}

/**
 * @param {unknown} value
 * @param {string} where
 */
function asShipTargets(value, where) {
  const targets = [...new Set(Array.isArray(value) ? value : [value])];
  if (targets.length === 1 && targets[0] === 'none') return [];
  const bad = targets.find((target) => typeof target !== 'string' || parseShipTarget(target) === null);
  if (bad !== undefined) throw badOption(where, bad, SHIP_TARGET_FORMS);
  if (targets.length > SHIP_TARGETS_MAX)
    throw badOption(where, targets.join(' '), `at most ${SHIP_TARGETS_MAX} targets`);
  return targets;
}

/**
 * @param {unknown} value
 * @returns {value is string | number}
 */
function isFigure(value) {
  return typeof value === 'string' || typeof value === 'number';
}

/**
 * @template T
 * @param {(value: unknown, where: string) => T} read
 * @returns {(value: unknown, where: string) => T | null}
 */
function orDefault(read) {
  return (value, where) => (value === 'default' ? null : read(value, where));
}

/**
 * @param {string[]} words
 * @returns {ValueKind}
 */
function wordOrDefault(words) {
  const kind = enumKind([...words, 'default']);
  return { ...kind, read: orDefault(kind.read) };
}
