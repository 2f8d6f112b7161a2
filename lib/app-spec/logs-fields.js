import { LOG_COMPRESSIONS, LOG_INTERVALS } from '../shared/settings/rules.js';
import { BYTES_FORMS, DURATION_FORMS, parseBytes, parseDuration } from '../shared/units.js';
import { flag, isDigits, isFigure, isFilled, isText, isWhole, oneOf, orNull } from './kinds.js';
import { parseShipTarget, SHIP_TARGET_FORMS, SHIP_TARGETS_MAX } from './ship-target.js';
import { badOption, reader, readPath } from './values.js';
import { inGroup, option, row, setting } from './row.js';

/** @import { Kind } from './kinds.js' */
/** @import { FieldRow } from './table.js' */

/** The format of `time: true`, as in PM2. */
export const TIME_FORMAT = 'YYYY-MM-DDTHH:mm:ss';

/** Refuses 10, because the user means "10M". A limit of 10 bytes would rotate nearly every line. */
const SIZE_MIN_BYTES = 1024;
const FILES_MAX = 10_000;
const DATE_FORMAT_MAX = 100;

const SIZE_FORMS = `0 for no limit, or from 1K, as ${BYTES_FORMS}`;
const FORMAT_FORMS = `a format such as "${TIME_FORMAT}", of 1 to ${DATE_FORMAT_MAX} characters on one line`;
const NONE_OR_SIZE = { type: ['integer', 'string', 'null'] };

/** @type {Kind} */
const FILE = {
  read: asFile,
  accepted: 'a path, "none" or "default"',
  schema: { type: 'string' },
  accepts: isText,
  stored: 'a path, "" for the default one, or "/dev/null" for none',
  type: 'string',
};

/** @type {Kind} */
const SIZE = {
  ...reader(SIZE_FORMS, asSize),
  schema: NONE_OR_SIZE,
  suffix: 'Bytes',
  accepts: isSize,
  stored: `0 for no limit, or a whole number from ${SIZE_MIN_BYTES}`,
  type: 'number',
};

/** @type {Kind} */
const AGE = {
  ...reader(`0 for any age, or ${DURATION_FORMS}`, (value) =>
    isFigure(value) ? (parseDuration(value) ?? undefined) : undefined,
  ),
  schema: NONE_OR_SIZE,
  suffix: 'Ms',
  accepts: isWhole,
  stored: 'a whole number from 0',
  type: 'number',
};

/** @type {Kind} */
const FILE_COUNT = {
  ...reader(`a whole number from 0 to ${FILES_MAX}`, (value) =>
    isDigits(value) && isFileCount(Number(value)) ? Number(value) : undefined,
  ),
  schema: { type: ['integer', 'string'] },
  accepts: isFileCount,
  type: 'number',
};

/** @type {Kind} */
const COMBINED_FILE = {
  ...FILE,
  read: asCombinedFile,
  accepted: 'true for <name>.log, a path, or "none"',
  schema: { type: ['string', 'boolean'] },
  stored: 'a path, "default" for <name>.log, or "" for none',
};

/** @type {Kind} */
const DATE_FORMAT = {
  ...orNull({ accepts: isDateFormat, stored: FORMAT_FORMS, type: 'string' }, 'no dates'),
  read: asDateFormat,
  accepted: `a format such as "${TIME_FORMAT}", or "none"`,
  schema: { type: 'string' },
};

/** @type {Kind} */
const TIME = { ...flag, read: (value, where) => (flag.read(value, where) ? TIME_FORMAT : null) };

/** @type {Kind} */
const RATE = {
  ...SIZE,
  read: (value, where) => (value === 'none' ? 0 : SIZE.read(value, where)),
  accepted: `${SIZE_FORMS}, or "none"`,
};

/** @type {Kind} */
const SHIP_TARGETS = {
  read: asShipTargets,
  accepted: `a target or a list of at most ${SHIP_TARGETS_MAX}, each ${SHIP_TARGET_FORMS}`,
  schema: { type: ['string', 'array'], items: { type: 'string' } },
  accepts: areShipTargets,
  stored: `a list of at most ${SHIP_TARGETS_MAX} targets, each ${SHIP_TARGET_FORMS}`,
  type: 'string[]',
};

/** Files of the output of an app. @type {FieldRow[]} */
export const LOGS = inGroup('Logs:', [
  row('out_file', FILE, '', {
    aliases: ['out', 'output', 'out_log'],
    flags: '-o, --output <path>',
    defaultText: '$NCLUST_HOME/logs/<name>-out.log',
    help: 'file for its standard output; "none" for no file, "default" for <name>-out.log',
    meaning: 'file for its standard output',
    note: 'Empty: the default path. "/dev/null", "NULL": no file.',
  }),
  row('error_file', FILE, '', {
    aliases: ['error', 'err', 'err_file', 'err_log', 'error_log'],
    flags: '-e, --error <path>',
    defaultText: '$NCLUST_HOME/logs/<name>-error.log',
    help: 'file for its standard error; "none" for no file, "default" for <name>-error.log',
    meaning: 'file for its standard error',
  }),
  row('log_file', COMBINED_FILE, '', {
    aliases: ['log'],
    flags: '-l, --log [path]',
    help: 'also write both streams to one file (default <name>.log); "none" to disable',
    meaning: 'also write both streams to this file',
    note: 'Empty: no file. "default": <name>.log.',
  }),
  row('merge_logs', orNull(flag, 'the default'), null, {
    aliases: ['combine_logs'],
    flags: '--merge-logs',
    defaultText: 'true in fork mode without "instances", else false',
    isPm2: true,
    help: 'one pair of files for all instances',
    note: 'Null: true only in fork mode without `instances`.',
  }),
  option('--no-merge-logs', 'mergeLogs', flag, { help: 'a pair of files for each instance' }),
  row('disable_logs', flag, false, {
    flags: '--disable-logs',
    isPm2: true,
    help: 'do not keep its output',
    note: 'No files, and no lines for followers.',
  }),
  option('--no-disable-logs', 'disableLogs', flag, { help: 'keep its output again' }),
  row('log_type', oneOf(['raw', 'json']), 'raw', {
    flags: '--log-type <type>',
    isPm2: true,
    help: 'raw, or json for one record a line',
  }),
  row('log_date_format', DATE_FORMAT, null, {
    flags: '--log-date-format <format>',
    isPm2: true,
    help: 'write the date before each line, in this format of dayjs; "none" to disable',
    meaning: 'write the date before each line, in this format of dayjs',
  }),
  // --time comes after --log-date-format: if the user gives both, the later row wins, as in PM2.
  setting('time', TIME, {
    flags: '--time',
    field: 'logDateFormat',
    defaultText: 'false',
    help: `write the date before each line: ${TIME_FORMAT}`,
  }),
  row('log_max_size', orHome(SIZE), null, {
    flags: '--log-max-size <size>',
    defaultText: 'the setting logs.max_size',
    help: 'rotate a log file of this size; "default" for the value of "nclust set"',
    meaning: 'rotate a log file of this size',
  }),
  row('log_interval', oneOfOrHome(LOG_INTERVALS), null, {
    flags: '--log-interval <interval>',
    defaultText: 'the setting logs.interval',
    help: 'also rotate a log file this often: hourly, daily, weekly or never',
    meaning: 'also rotate a log file this often',
  }),
  row('log_max_files', orHome(FILE_COUNT), null, {
    flags: '--log-max-files <number>',
    defaultText: 'the setting logs.max_files',
    help: 'rotated files to keep for each log file',
  }),
  row('log_max_age', orHome(AGE), null, {
    flags: '--log-max-age <time>',
    defaultText: 'the setting logs.max_age',
    help: 'delete rotated files that are older than this; 0 for no limit',
    meaning: 'delete rotated files that are older than this',
  }),
  row('log_max_total', orHome(SIZE), null, {
    flags: '--log-max-total <size>',
    defaultText: 'the setting logs.max_app_total',
    help: 'size of all its log files together',
  }),
  row('log_compress', oneOfOrHome(LOG_COMPRESSIONS), null, {
    flags: '--log-compress <how>',
    defaultText: 'the setting logs.compress',
    help: 'how to compress rotated files: gzip, zstd or none',
    meaning: 'how to compress rotated files',
  }),
  row('log_overflow', oneOf(['block', 'drop']), 'block', {
    flags: '--log-overflow <how>',
    help: 'if the disk is slow, the app waits (block), or nclust drops and counts lines (drop)',
  }),
  row('log_rate_limit', RATE, 0, {
    flags: '--log-rate-limit <size>',
    defaultText: 'none',
    help: 'size that an instance may write per second; nclust drops and counts lines above it; "none" for no limit',
    meaning: 'size that an instance may write per second; nclust drops and counts lines above it',
    note: 'Per second and instance. 0: no limit.',
  }),
  row('log_ship', SHIP_TARGETS, [], {
    flags: '--log-ship <target>',
    isRepeatable: true,
    help:
      'also send its lines to syslog+udp://host:port, syslog+tcp://host:port, syslog+unix:///path or ' +
      'exec:command; may be given several times; "none" to disable',
    meaning: 'also send its lines to these targets',
  }),
]);

/**
 * @param {Kind} kind
 * @param {Kind} [given]  Gives the form of users. Default: `kind`, or "default".
 * @returns {Kind}  Null: the default of the home (`nclust set`).
 */
function orHome(kind, given = { ...kind, accepted: `${kind.accepted}, or "default"` }) {
  return {
    ...orNull(kind, 'the default of the home'),
    read: (value, where) => (value === 'default' ? null : given.read(value, where)),
    accepted: given.accepted,
    schema: given.schema,
  };
}

/** @param {string[]} options */
function oneOfOrHome(options) {
  return orHome(oneOf(options), oneOf([...options, 'default']));
}

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
  if (isDateFormat(value)) return value;
  throw badOption(where, value, `${FORMAT_FORMS}, or "none"`);
}

/** @param {unknown} value */
function isDateFormat(value) {
  return isFilled(value) && value.length <= DATE_FORMAT_MAX && !/[\u0000-\u001f\u007f]/.test(value);
}

/** @param {unknown} value */
function asSize(value) {
  const bytes = isFigure(value) ? parseBytes(value) : null;
  return isSize(bytes) ? bytes : undefined;
}

/** @param {unknown} value */
function isSize(value) {
  return isWhole(value) && (value === 0 || value >= SIZE_MIN_BYTES);
}

/** @param {unknown} value */
function isFileCount(value) {
  return isWhole(value) && value <= FILES_MAX;
}

/**
 * @param {unknown} value
 * @param {string} where
 */
function asShipTargets(value, where) {
  const targets = [...new Set([value].flat())];
  if (targets.length === 1 && targets[0] === 'none') return [];
  const bad = targets.find((target) => !areShipTargets([target]));
  if (bad !== undefined) throw badOption(where, bad, SHIP_TARGET_FORMS);
  if (!areShipTargets(targets)) throw badOption(where, targets.join(' '), `at most ${SHIP_TARGETS_MAX} targets`);
  return targets;
}

/** @param {unknown} value */
function areShipTargets(value) {
  return (
    Array.isArray(value) &&
    value.length <= SHIP_TARGETS_MAX &&
    value.every((item) => isText(item) && parseShipTarget(item) !== null)
  );
}
