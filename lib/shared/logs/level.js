import { stripVTControlCharacters } from 'node:util';
import { readBeginning } from './json-beginning.js';

/** @typedef {typeof LEVELS[number]} Level */

/** From the least to the most important. */
export const LEVELS = /** @type {const} */ (['trace', 'debug', 'info', 'warn', 'error', 'fatal']);

/** What other loggers call them: winston's npm and syslog levels, Google's severities, and the usual short forms. @type {Record<string, Level>} */
const WORDS = {
  trace: 'trace', silly: 'trace', finest: 'trace',
  debug: 'debug', verbose: 'debug', dbg: 'debug',
  info: 'info', information: 'info', informational: 'info', notice: 'info', http: 'info', default: 'info',
  warn: 'warn', warning: 'warn',
  error: 'error', err: 'error',
  fatal: 'fatal', critical: 'fatal', crit: 'fatal', alert: 'fatal', emergency: 'fatal', emerg: 'fatal', panic: 'fatal',
};

/** Where a level may stand, the surest first. */
const KEYS = /** @type {const} */ (['level', 'severity', 'log.level']);

/** Most lines have none, and then nothing needs to be parsed. */
const MENTION = /"(?:level|severity|log\.level)"/;

/**
 * The level of a line that is a JSON record of pino, bunyan, winston or their like.
 * @param {string} line
 * @returns {Level|null}  Null when it is none, or says no level that is known.
 */
export function levelOf(line) {
  if (line[0] !== '{' || !MENTION.test(line)) return null;
  const record = recordOf(line);
  return record ? levelOfRecord(record) : null;
}

/**
 * The same for a line of which there is only the beginning.
 * @param {string} text
 * @returns {Level|null|undefined}  Undefined: it is a record, and its level may stand in the rest.
 */
export function levelOfBeginning(text) {
  const record = text[0] === '{' ? readBeginning(text, KEYS) : null;
  return record && (levelOfRecord(record) ?? undefined);
}

/**
 * @param {string} line
 * @returns {Record<string, unknown>|null}  Null when the line is no JSON object.
 */
export function recordOf(line) {
  if (line[0] !== '{') return null;
  try {
    return JSON.parse(line);
  } catch {
    return null;
  }
}

/**
 * @param {Record<string, unknown>} record
 * @returns {Level|null}
 */
export function levelOfRecord(record) {
  for (const key of KEYS) {
    const level = readLevel(record[key]);
    if (level) return level;
  }
  return null;
}

/**
 * @param {unknown} value
 * @returns {Level|null}
 */
function readLevel(value) {
  if (typeof value === 'string') {
    const word = stripVTControlCharacters(value).trim().toLowerCase();
    return Object.hasOwn(WORDS, word) ? WORDS[word] : /^\d+$/.test(word) ? ofNumber(Number(word)) : null;
  }
  return typeof value === 'number' ? ofNumber(value) : null;
}

/**
 * pino's and bunyan's numbers; one between two levels belongs to the lower. Below 10 is syslog's scale, which runs the other way: not taken for either.
 * @param {number} number
 */
function ofNumber(number) {
  if (!(number >= 10)) return null;
  return LEVELS[Math.min(Math.floor(number / 10), LEVELS.length) - 1];
}
