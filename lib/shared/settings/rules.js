import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs';
import { nullIfMissing } from '../daemon/files.js';
import { nearWords } from '../did-you-mean.js';
import { NclustError } from '../errors.js';
import { isRecord } from '../is-record.js';
import { BYTES_FORMS, DURATION_FORMS, parseBytes, parseDuration } from '../units.js';
import {
  LISTEN_FORMS,
  OTLP_FORMS,
  parseListen,
  parseOtlp,
  parseWebTarget,
  WEB_TARGET_FORMS,
} from './listen-address.js';
import { findNotifyRule, NOTIFY_KEYS } from './notify-keys.js';

/**
 * nclust stores a setting as the user wrote it ("10mb"), and parses the text at each use.
 * @typedef {object} SettingRule
 * @property {(text: string) => unknown} parse  Null: the text is invalid.
 * @property {string} accepted
 * @property {string} fallback
 * @property {string} help
 * @property {(text: string) => string} [show]  The text without its secret parts. Missing: the text
 *   has none.
 */

const SIZE_MIN = 1024;

export const LOG_INTERVALS = ['hourly', 'daily', 'weekly', 'never'];
export const LOG_COMPRESSIONS = ['gzip', 'zstd', 'none'];

/** @satisfies {Record<string, SettingRule>} */
export const SETTINGS = {
  'logs.max_size': size('10M', 'size at which a log file is rotated'),
  'logs.interval': defineChoice(LOG_INTERVALS, 'never', 'when a log file is rotated, whatever its size'),
  'logs.max_files': rule(
    (text) => (/^\d+$/.test(text) && Number(text) <= 10_000 ? Number(text) : null),
    'a whole number from 0 (keep none) to 10000',
    '10',
    'number of rotated files kept for each log file',
  ),
  'logs.max_age': rule(
    orNone(parseDuration),
    `0 (no limit) or ${DURATION_FORMS}`,
    '0',
    'age at which a rotated file is removed',
  ),
  'logs.max_app_total': size('200M', 'limit for all logs of one app together'),
  'logs.max_total': size('2G', 'limit for all logs in the home together'),
  'logs.compress': defineChoice(LOG_COMPRESSIONS, 'gzip', 'compression of rotated files'),
  'metrics.listen': rule(parseListen, LISTEN_FORMS, 'none', 'where /metrics is served for Prometheus'),
  'metrics.allow_remote': defineChoice(['true', 'false'], 'false', 'whether that address may be reachable by others'),
  'metrics.otlp': rule(parseOtlp, OTLP_FORMS, 'none', 'the OpenTelemetry collector for metrics'),
  'metrics.otlp_interval': rule(atLeastASecond, `from 1s: ${DURATION_FORMS}`, '10s', 'interval at which they are sent'),
  'troubles.frames': defineChoice(['true', 'false'], 'true', 'whether the code that blocks a loop is recorded'),
  'web.listen': rule(parseWebTarget, WEB_TARGET_FORMS, 'none', 'where the dashboard is served (nclust web)'),
  'web.actions': defineChoice(['true', 'false'], 'false', 'whether the dashboard may change apps'),
  'web.allow_remote': defineChoice(['true', 'false'], 'false', 'whether that address may be reachable by others'),
};

/** @typedef {keyof typeof SETTINGS} SettingKey */

/** @type {Record<string, SettingKey>} */
const PM2_LOGROTATE = {
  max_size: 'logs.max_size',
  retain: 'logs.max_files',
  compress: 'logs.compress',
  rotateInterval: 'logs.interval',
};

/**
 * @typedef {object} ReadSettings
 * @property {Record<string, string>} given  All texts and numbers of the file, as text.
 * @property {Record<SettingKey, any>} values  The values of all settings. `Infinity`: no limit.
 * @property {string[]} problems  A sentence for each entry that cannot be used.
 * @property {string | null} broken  Why the whole file cannot be used.
 */

/**
 * @param {string | null} text  Null: there is no file.
 * @param {(key: string, value: unknown) => boolean} [isPossible]  Whether this machine can use the
 *   value.
 * @returns {ReadSettings}  Never throws.
 */
export function readSettings(text, isPossible = () => true) {
  const { record, broken } = parseRecord(text);
  const entries = Object.entries(record);
  const usable = entries.filter(([key, value]) => parse(key, value, isPossible) !== null);
  const values = { ...defaults(), ...Object.fromEntries(usable.map(([key, value]) => [key, parse(key, value)])) };
  return {
    given: Object.fromEntries(entries.flatMap(([key, value]) => (isScalar(value) ? [[key, String(value)]] : []))),
    values: /** @type {Record<SettingKey, any>} */ (values),
    problems: entries.filter((entry) => !usable.includes(entry)).map(([key, value]) => describeProblem(key, value)),
    broken,
  };
}

/** @typedef {{ key: string, value: string, isSet: boolean, help: string }} ShownSetting */

/**
 * If the given value of a setting is missing or invalid, shows the default.
 * @param {Record<string, string>} given
 * @returns {ShownSetting[]}
 */
export function describeSettings(given) {
  const receivers = Object.keys(given).filter((key) => findNotifyRule(key) && parse(key, given[key]) !== null);
  return [...Object.keys(SETTINGS), ...receivers.sort()].map((key) => {
    const { fallback, help } = /** @type {SettingRule} */ (findRule(key));
    const isSet = Object.hasOwn(given, key) && parse(key, given[key]) !== null;
    return { key, value: isSet ? showSetting(key, given[key]) : fallback, isSet, help };
  });
}

/**
 * @param {string} key
 * @param {string} text
 * @returns {string}  For output: without its secret parts.
 */
export function showSetting(key, text) {
  return findRule(key)?.show?.(text) ?? text;
}

/**
 * @param {ShownSetting[]} settings
 * @param {string} key
 * @returns {ShownSetting[]}  Empty if the key is unknown.
 */
export function selectKey(settings, key) {
  return settings.filter((one) => one.key === key);
}

/** @param {string} key */
export function checkKey(key) {
  if (!findRule(key))
    throw new NclustError('ERR_NCLUST_BAD_SETTING', `There is no setting "${key}".`, {
      hint: suggestion(key),
      data: { key },
    });
}

/**
 * @param {string} key
 * @param {string} text
 */
export function checkSetting(key, text) {
  checkKey(key);
  const { parse, accepted, fallback, show } = /** @type {SettingRule} */ (findRule(key));
  if (parse(text) === null)
    throw new NclustError(
      'ERR_NCLUST_BAD_SETTING',
      `"${key}" cannot be ${show ? 'this text' : `"${text}"`}; accepted: ${accepted}.`,
      { hint: `The default is ${fallback}.`, data: { key, accepted } },
    );
}

/**
 * @param {string} key
 * @returns {SettingRule | null}
 */
function findRule(key) {
  return Object.hasOwn(SETTINGS, key) ? SETTINGS[/** @type {SettingKey} */ (key)] : findNotifyRule(key);
}

/**
 * @param {string | null} text
 * @returns {{ record: Record<string, unknown>, broken: string | null }}
 */
function parseRecord(text) {
  if (text === null) return { record: {}, broken: null };
  try {
    const value = JSON.parse(text);
    if (isRecord(value)) return { record: value, broken: null };
    return { record: {}, broken: 'it does not contain an object' };
  } catch (error) {
    return { record: {}, broken: `it is not JSON (${/** @type {Error} */ (error).message})` };
  }
}

function defaults() {
  return Object.fromEntries(Object.entries(SETTINGS).map(([key, rule]) => [key, rule.parse(rule.fallback)]));
}

/**
 * @param {string} key
 * @param {unknown} value
 * @param {(key: string, value: unknown) => boolean} [isPossible]
 * @returns {unknown}
 */
function parse(key, value, isPossible = () => true) {
  if (!isScalar(value)) return null;
  const parsed = findRule(key)?.parse(String(value)) ?? null;
  return isPossible(key, parsed) ? parsed : null;
}

/** @param {unknown} value */
function isScalar(value) {
  return typeof value === 'string' || typeof value === 'number';
}

/**
 * @param {string} key
 * @param {unknown} value
 */
function describeProblem(key, value) {
  const rule = findRule(key);
  if (!rule) return `there is no setting "${key}" (${suggestion(key)})`;
  const { accepted, fallback, show } = rule;
  const shown = show ? 'this value' : JSON.stringify(value)?.slice(0, 80);
  return `"${key}" cannot be ${shown} here (accepted: ${accepted}), and ${fallback} counts`;
}

/** @param {string} key */
function suggestion(key) {
  const known = [...Object.keys(SETTINGS), ...NOTIFY_KEYS];
  const [module, option] = key.split(':');
  const near = module === 'pm2-logrotate' ? [PM2_LOGROTATE[option] ?? []].flat() : nearWords(key, known);
  return near.length > 0
    ? `Did you mean ${near
        .slice(0, 5)
        .map((word) => `"${word}"`)
        .join(' or ')}?`
    : `There are: ${known.join(', ')}.`;
}

/**
 * @template {(text: string) => unknown} Parse
 * @param {Parse} parse
 * @param {string} accepted
 * @param {string} fallback
 * @param {string} help
 */
function rule(parse, accepted, fallback, help) {
  return { parse, accepted, fallback, help };
}

/**
 * @param {string} fallback
 * @param {string} help
 * @returns {SettingRule}
 */
function size(fallback, help) {
  const atLeast = (/** @type {string} */ text) => {
    const bytes = parseBytes(text);
    return bytes === 0 || (bytes ?? 0) >= SIZE_MIN ? bytes : null;
  };
  return rule(orNone(atLeast), `0 (no limit), or from 1K: ${BYTES_FORMS}`, fallback, help);
}

/** @param {string} text */
function atLeastASecond(text) {
  const ms = parseDuration(text);
  return ms !== null && ms >= 1_000 ? ms : null;
}

/**
 * @param {string[]} words
 * @param {string} fallback
 * @param {string} help
 * @returns {SettingRule}
 */
function defineChoice(words, fallback, help) {
  return rule((text) => (words.includes(text) ? text : null), words.join(', '), fallback, help);
}

/**
 * @param {(text: string) => number | null} parse
 * @returns {(text: string) => number | null}  Infinity for 0.
 */
function orNone(parse) {
  return (text) => {
    const value = parse(text);
    return value === 0 ? Infinity : value;
  };
}

/** Without O_NONBLOCK, open(2) waits for the other end of a named pipe. */
const FLAGS = constants.O_RDONLY | constants.O_NONBLOCK;

/**
 * @param {string} file
 * @param {(key: string, value: unknown) => boolean} [isPossible]
 * @returns {ReadSettings}  Never throws. If the file cannot be read, `broken` contains the reason.
 */
export function readSettingsFile(file, isPossible) {
  try {
    return readSettings(readSettingsText(file), isPossible);
  } catch (error) {
    const { code, message } = /** @type {NodeJS.ErrnoException} */ (error);
    return { ...readSettings(null), broken: `it cannot be read (${code ?? message})` };
  }
}

/**
 * @param {string} file
 * @returns {string | null}  Null: the file does not exist. Throws other errors of the file system,
 *   and an error without a code if the path leads to a pipe or device.
 */
export function readSettingsText(file) {
  const fd = nullIfMissing(() => openSync(file, FLAGS));
  if (fd === null) return null;
  try {
    const stat = fstatSync(fd);
    if (!stat.isFile() && !stat.isDirectory()) throw new Error('it is not a file');
    return readFileSync(fd, 'utf8');
  } finally {
    closeSync(fd);
  }
}
