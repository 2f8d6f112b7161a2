import { isAbsolute, resolve } from 'node:path';
import { flag, isFilled, isText, isWhole, oneOf, nullable } from './rules.js';

/** @import { Rule } from './rules.js' */

/** Limits the memory, because each target has its own buffer. */
export const SHIP_TARGETS_MAX = 8;

export const SHIP_TARGET_FORMS =
  '"syslog+udp://host:port", "syslog+tcp://host:port", "syslog+unix:///path" or "exec:command"; the first ' +
  'three may end in "?facility=local0"';

/** The index of a facility is its number in RFC 5424, 6.2.1. */
const FACILITIES = [
  'kern',
  'user',
  'mail',
  'daemon',
  'auth',
  'syslog',
  'lpr',
  'news',
  'uucp',
  'cron',
  'authpriv',
  'ftp',
  'ntp',
  'audit',
  'alert',
  'clock',
  'local0',
  'local1',
  'local2',
  'local3',
  'local4',
  'local5',
  'local6',
  'local7',
];

/**
 * @typedef {{ kind: 'udp' | 'tcp', host: string, port: number, facility: number }
 *   | { kind: 'unix', path: string, facility: number }
 *   | { kind: 'exec', command: string }} ShipTarget
 */

/**
 * @param {string} text
 * @returns {ShipTarget | null}
 */
export function parseShipTarget(text) {
  const [, kind, rest] = /^(?:syslog\+)?(udp|tcp|unix|exec):(.+)$/s.exec(text) ?? [];
  if (kind === 'exec') return text.startsWith('exec:') && rest.trim() !== '' ? { kind, command: rest } : null;
  if (!kind || !text.startsWith('syslog+') || !rest.startsWith('//')) return null;
  const [, place, name] = /^\/\/([^?#]+)(?:\?facility=([a-z\d]+))?$/.exec(rest) ?? [];
  const facility = FACILITIES.indexOf(name ?? 'user');
  if (!place || facility === -1) return null;
  if (kind === 'unix') return place.startsWith('/') ? { kind, path: place, facility } : null;
  const [, inBrackets, plain, digits] = /^(?:\[([\da-f:.]+)\]|([^\s:/@[\]]+)):(\d{1,5})$/i.exec(place) ?? [];
  const port = Number(digits);
  return port >= 1 && port <= 65_535
    ? { kind: /** @type {'udp' | 'tcp'} */ (kind), host: inBrackets ?? plain, port, facility }
    : null;
}

/**
 * Null: the default of the home (`nclust set`), unless the field has another note about null.
 * @typedef {object} LogSpec
 * @property {string} outFile  Empty: the default path. "/dev/null", "NULL": no file.
 * @property {string} errorFile
 * @property {string} logFile  Has both streams. Empty: no file. "default": <name>.log.
 * @property {boolean | null} mergeLogs  Null: true only in fork mode without `instances`.
 * @property {'raw' | 'json'} logType
 * @property {string | null} logDateFormat  Time before each line, in dayjs' format. Null: no time.
 * @property {boolean} disableLogs  No files, and no lines for followers.
 * @property {string[]} logShip
 * @property {'block' | 'drop'} logOverflow  If the disk is slow, the app waits or lines are lost.
 * @property {number} logRateLimitBytes  Per second and instance. 0: no limit.
 * @property {number | null} logMaxSizeBytes  0: no limit.
 * @property {'hourly' | 'daily' | 'weekly' | 'never' | null} logInterval  Independent of the size.
 * @property {number | null} logMaxFiles  Rotated files to keep for each log file. 0: no file.
 * @property {number | null} logMaxAgeMs  0: no limit.
 * @property {number | null} logMaxTotalBytes  For all log files of the app. 0: no limit.
 * @property {'gzip' | 'zstd' | 'none' | null} logCompress
 */

const NO_PATHS = ['', 'NULL'];

const HOME_DEFAULT = 'the default of the home';

/** Refuses 10, because the user means "10M". A limit of 10 bytes would rotate nearly every line. */
const SIZE_MIN_BYTES = 1024;

const SIZE_FORMS = `0 for no limit, or a whole number from ${SIZE_MIN_BYTES}`;

const FILES_MAX = 10_000;

/** The format of `time: true`, as in PM2. */
export const TIME_FORMAT = 'YYYY-MM-DDTHH:mm:ss';

export const LOG_TYPES = ['raw', 'json'];
export const LOG_OVERFLOWS = ['block', 'drop'];
export const LOG_INTERVALS = ['hourly', 'daily', 'weekly', 'never'];
export const LOG_COMPRESSIONS = ['gzip', 'zstd', 'none'];
const DATE_FORMAT_MAX = 100;

/** @type {{ [K in keyof LogSpec]: Rule }} */
export const LOG_RULES = {
  outFile: { accepts: isText, accepted: 'a path, "" for the default one, or "/dev/null" for none', fallback: '' },
  errorFile: { accepts: isText, accepted: 'a path, "" for the default one, or "/dev/null" for none', fallback: '' },
  logFile: { accepts: isText, accepted: 'a path, "default" for <name>.log, or "" for none', fallback: '' },
  mergeLogs: {
    accepts: (value) => value === null || typeof value === 'boolean',
    accepted: 'true, false or null',
    fallback: null,
  },
  logType: oneOf(LOG_TYPES, 'raw'),
  logDateFormat: nullable(
    {
      accepts: isDateFormat,
      accepted: `a format such as "YYYY-MM-DDTHH:mm:ss", of 1 to ${DATE_FORMAT_MAX} characters on one line`,
    },
    'no dates',
  ),
  disableLogs: flag(false),
  logShip: {
    accepts: areShipTargets,
    accepted: `a list of at most ${SHIP_TARGETS_MAX} targets, each ${SHIP_TARGET_FORMS}`,
    fallback: [],
  },
  logOverflow: oneOf(LOG_OVERFLOWS, 'block'),
  logRateLimitBytes: { accepts: isSize, accepted: SIZE_FORMS, fallback: 0 },
  logMaxSizeBytes: nullable({ accepts: isSize, accepted: SIZE_FORMS }, HOME_DEFAULT),
  logInterval: nullable(oneOf(LOG_INTERVALS), HOME_DEFAULT),
  logMaxFiles: nullable(
    { accepts: (value) => isWhole(value) && value <= FILES_MAX, accepted: `a whole number from 0 to ${FILES_MAX}` },
    HOME_DEFAULT,
  ),
  logMaxAgeMs: nullable({ accepts: isWhole, accepted: 'a whole number from 0' }, HOME_DEFAULT),
  logMaxTotalBytes: nullable({ accepts: isSize, accepted: SIZE_FORMS }, HOME_DEFAULT),
  logCompress: nullable(oneOf(LOG_COMPRESSIONS), HOME_DEFAULT),
};

/**
 * @template {LogSpec & { cwd: string }} Spec
 * @param {Spec} spec
 * @returns {Spec}
 */
export function resolveLogPaths(spec) {
  const { cwd, outFile, errorFile, logFile } = spec;
  return {
    ...spec,
    outFile: resolvePath(outFile, cwd),
    errorFile: resolvePath(errorFile, cwd),
    logFile: logFile === 'default' ? logFile : resolvePath(logFile, cwd),
  };
}

/**
 * @param {string} path
 * @param {string} cwd
 */
function resolvePath(path, cwd) {
  return NO_PATHS.includes(path) || isAbsolute(path) ? path : resolve(cwd, path);
}

/** @param {unknown} value */
function isSize(value) {
  return isWhole(value) && (value === 0 || value >= SIZE_MIN_BYTES);
}

/** @param {unknown} value */
function isDateFormat(value) {
  return isFilled(value) && value.length <= DATE_FORMAT_MAX && !/[\u0000-\u001f\u007f]/.test(value);
}

/** @param {unknown} value */
function areShipTargets(value) {
  return (
    Array.isArray(value) &&
    value.length <= SHIP_TARGETS_MAX &&
    value.every((item) => isText(item) && parseShipTarget(item) !== null)
  );
}
