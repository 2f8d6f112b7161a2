import { readRecordLevel, parseRecord } from '../shared/logs/level.js';
import { formatTime } from './log-time.js';
import { cutText } from './text.js';

/** @import { Level } from '../shared/logs/level.js' */
/** @import { LogEntry } from '../shared/wire/protocol.js' */
/** @import { Paint } from './paint.js' */

const VALUE_MAX_CHARS = 80;
const FIELDS_MAX = 12;

/**
 * A time below this number is in seconds (up to the year 5138). Any other time is in ms (from
 * 1973).
 */
const SECONDS_MAX = 1e11;

const TIME_KEYS = ['time', 'timestamp', '@timestamp', 'ts'];

/** These fields are shown in another form, or have the same value in each line of an app. */
const HIDDEN = new Set([
  ...TIME_KEYS,
  ...'level severity log.level msg message pid hostname v ecs.version stack'.split(' '),
]);

/** @type {Record<Level, (paint: Paint, word: string) => string>} */
const LEVEL_STYLES = {
  trace: (paint, word) => paint('grey', word),
  debug: (paint, word) => paint('blue', word),
  info: (paint, word) => paint('green', word),
  warn: (paint, word) => paint('yellow', word),
  error: (paint, word) => paint('red', word),
  fatal: (paint, word) => paint('inverse', paint('red', word)),
};

/**
 * Renders a record of pino, bunyan, winston or a similar logger. Long fields are cut.
 * @param {LogEntry} entry
 * @param {{ paint: Paint, hasTime: boolean }} o  hasTime: the caller prints a time before the line.
 * @returns {string[] | null}  Lines. Null: the line is not a JSON record with a known level.
 */
export function prettyRecord({ line, name, atMs }, { paint, hasTime }) {
  const record = parseRecord(line);
  const level = record && readRecordLevel(record);
  if (!record || !level) return null;
  const [message, ...more] = asText(record.msg ?? record.message).split(/\r?\n/);
  const time = hasTime ? '' : paint('grey', shownTime(parseTime(record) ?? atMs));
  const fields = paint('grey', formatFields(record, name).join(' '));
  const head = [time, LEVEL_STYLES[level](paint, level.toUpperCase().padEnd(5)), message, fields]
    .filter((part) => part !== '')
    .join(' ');
  const stack = formatStack(record);
  return [head, ...more.map((text) => `    ${text}`), ...stack.map((text) => paint('grey', `    ${text}`))];
}

/** @param {Record<string, unknown>} record */
function parseTime(record) {
  for (const key of TIME_KEYS) {
    const ms = readTime(record[key]);
    if (ms !== null) return ms;
  }
  return null;
}

/** @param {unknown} value */
function readTime(value) {
  const number =
    typeof value === 'number' ? value : typeof value === 'string' && /^\d+(\.\d+)?$/.test(value) ? Number(value) : null;
  const ms = number === null ? Date.parse(String(value)) : number < SECONDS_MAX ? number * 1_000 : number;
  return Number.isNaN(new Date(ms).getTime()) ? null : ms;
}

/** @param {number | null} ms */
function shownTime(ms) {
  return ms === null ? '' : formatTime(ms, 'HH:mm:ss.SSS');
}

/**
 * @param {Record<string, unknown>} record
 * @param {string} appName  The line already begins with this name, so the field `name` is hidden
 *   if it has the same value.
 */
function formatFields(record, appName) {
  const shown = Object.entries(record).filter(
    ([key, value]) => !HIDDEN.has(key) && !(key === 'name' && value === appName) && value !== undefined,
  );
  const fields = shown
    .slice(0, FIELDS_MAX)
    .map(([key, value]) => `${key}=${cutText(fieldText(value), VALUE_MAX_CHARS)}`);
  return shown.length > FIELDS_MAX ? [...fields, `and ${shown.length - FIELDS_MAX} more`] : fields;
}

/** @param {unknown} value */
function fieldText(value) {
  if (isError(value)) return `${value.type ?? value.name ?? 'Error'}: ${value.message ?? ''}`;
  return typeof value === 'string' ? quoteWord(value) : asText(value);
}

/** @param {string} value */
export function quoteWord(value) {
  return /^[^\s"=]+$/.test(value) ? value : JSON.stringify(value);
}

/** @param {Record<string, unknown>} record */
function formatStack(record) {
  const [error] = [record.err, record.error, record].filter(isError);
  return error ? error.stack.split(/\r?\n/) : [];
}

/**
 * @param {unknown} value
 * @returns {value is { stack: string, type?: unknown, name?: unknown, message?: unknown }}
 */
function isError(value) {
  return typeof value === 'object' && value !== null && 'stack' in value && typeof value.stack === 'string';
}

/** @param {unknown} value */
function asText(value) {
  return value === undefined ? '' : typeof value === 'string' ? value : JSON.stringify(value);
}
