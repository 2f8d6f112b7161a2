import { NclustError } from '../../shared/errors.js';
import { LEVELS } from '../../shared/logs/level.js';
import { compile } from '../../shared/logs/safe-pattern.js';
import { parseDuration } from '../../shared/units.js';

/** @import { Level } from '../../shared/logs/level.js' */
/** @import { Grep } from '../../shared/logs/safe-pattern.js' */

/** Maximum number of lines in one answer of the manager. */
const LINES_MAX = 100_000;

/**
 * Parameters of the method `logs`.
 * @typedef {object} LogQuery
 * @property {boolean} follow
 * @property {number} [lines]
 * @property {('out' | 'err')[]} [streams]
 * @property {number} [since]
 * @property {number} [until]
 * @property {Grep} [grep]
 * @property {Level} [level]
 */

/**
 * @param {Record<string, any>} options  From commander.
 * @param {number} nowMs
 * @returns {LogQuery}
 */
export function readLogOptions(options, nowMs) {
  const { out, err, lines, since, until, grep, level } = options;
  if (options.follow && options.nostream) throw usage('--follow and --nostream contradict each other.');
  if (options.follow && until !== undefined)
    throw usage('--follow and --until contradict each other: --follow has no end.');
  /** @type {LogQuery} */
  const query = { follow: options.nostream !== true && until === undefined };
  if (lines !== undefined) query.lines = readLines(lines);
  if (out !== err) query.streams = [out ? 'out' : 'err'];
  if (since !== undefined) query.since = readSince(since, nowMs);
  if (until !== undefined) query.until = readMoment('--until', until, nowMs);
  if (grep !== undefined) query.grep = readGrep(grep);
  if (level !== undefined) query.level = readLevel(level);
  if (query.since !== undefined && query.until !== undefined && query.since > query.until)
    throw usage(`--since "${since}" is later than --until "${until}".`);
  return query;
}

/**
 * Reads a pattern such as `timeout`, or a pattern between slashes with flags: `/time.?out/i`.
 * @param {string} text
 * @returns {Grep}
 */
export function readGrep(text) {
  if (text === '') throw usage('--grep is "".', 'Give a text or a regular expression to look for.');
  const match = /^\/(.+)\/([a-z]*)$/s.exec(text);
  // The whole text "/api/users" is the pattern, because "users" are not flags.
  const grep =
    match && /^[imsu]*$/.test(match[2]) ? { source: match[1], flags: match[2] } : { source: text, flags: '' };
  compile(grep);
  return grep;
}

/**
 * @param {string} text
 * @param {string} [hint]
 */
export function readLines(text, hint = 'For more lines, give a start time: --since 2h.') {
  if (/^\d{1,6}$/.test(text) && Number(text) <= LINES_MAX) return Number(text);
  throw usage(`--lines is "${text}"; accepted: a whole number from 0 to ${LINES_MAX}.`, hint);
}

/**
 * @param {string} text
 * @param {number} nowMs
 * @param {string} [hint]
 */
export function readSince(text, nowMs, hint) {
  const moment = readMoment('--since', text, nowMs, hint);
  if (moment > nowMs) throw usage(`--since is "${text}", which is in the future.`, hint);
  return moment;
}

/**
 * @param {string} flag
 * @param {string} text
 * @param {number} nowMs
 * @param {string} [hint]
 */
function readMoment(flag, text, nowMs, hint) {
  const moment = parseMoment(text, nowMs);
  if (moment === null) throw usage(`${flag} is "${text}"; accepted: ${MOMENT_FORMS}.`, hint);
  // Returns at least 0, because the manager accepts no time before 1970.
  return Math.max(0, moment);
}

/** @param {string} text */
function readLevel(text) {
  const level = LEVELS.find((one) => one === text.toLowerCase());
  if (level) return level;
  throw usage(`--level is "${text}"; accepted: ${LEVELS.join(', ')}.`);
}

/**
 * @param {string} message
 * @param {string} [hint]
 */
export function usage(message, hint = 'nclust help logs') {
  return new NclustError('ERR_NCLUST_USAGE', message, { hint });
}

export const MOMENT_FORMS =
  'how long ago ("2h", "30m", 5000 for milliseconds), a time of day ("14:30"), a date ("2026-11-21", ' +
  '"2026-11-21T14:30:05Z") or milliseconds since 1970';

/**
 * From this value on, a bare number is a point in time (1973 or later). A smaller number is a
 * duration.
 */
const EPOCH_FROM = 1e11;

const DAY_MS = 86_400_000;

/**
 * A text without an offset is local time.
 * @param {string} text
 * @param {number} nowMs
 * @returns {number | null}  Milliseconds since 1970. Null: invalid.
 */
export function parseMoment(text, nowMs) {
  const trimmed = text.trim();
  const number = /^\d+$/.test(trimmed) ? Number(trimmed) : null;
  if (number !== null && number >= EPOCH_FROM) return Number.isSafeInteger(number) ? number : null;
  const agoMs = parseDuration(trimmed);
  if (agoMs !== null) return nowMs - agoMs;
  return parseTimeOfDay(trimmed, nowMs) ?? parseDate(trimmed);
}

/**
 * Returns the last moment with this time of day, or null if the text is not a time of day. At
 * 00:10, "23:50" means 23:50 of yesterday.
 * @param {string} text
 * @param {number} nowMs
 */
function parseTimeOfDay(text, nowMs) {
  const match = /^([01]?\d|2[0-3]):([0-5]\d)(?::([0-5]\d))?$/.exec(text);
  if (!match) return null;
  const moment = new Date(nowMs);
  moment.setHours(Number(match[1]), Number(match[2]), Number(match[3] ?? 0), 0);
  if (moment.getTime() > nowMs) moment.setDate(moment.getDate() - 1);
  return moment.getTime();
}

/** @param {string} text */
function parseDate(text) {
  const match = /^(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?)(Z|[+-]\d\d:?\d\d)?)?$/i.exec(text);
  if (!match) return null;
  const [, year, month, day, time = '00:00', offset = ''] = match;
  // Date.UTC() turns the 31st of February into the 3rd of March, so check the result.
  const midnight = Date.UTC(Number(year), Number(month) - 1, Number(day));
  if (Number.isNaN(midnight) || new Date(midnight).toISOString().slice(0, 10) !== `${year}-${month}-${day}`)
    return null;
  const ms = Date.parse(`${year}-${month}-${day}T${time}${offset.toUpperCase().replace(/(\d\d)(\d\d)$/, '$1:$2')}`);
  return Number.isNaN(ms) || Math.abs(ms - midnight) > 2 * DAY_MS ? null : ms;
}
