import { stripVTControlCharacters } from 'node:util';
import { tryTo } from '../daemon/files.js';

/** @typedef {typeof LEVELS[number]} Level */

/** From the least to the most important. */
export const LEVELS = /** @type {const} */ (['trace', 'debug', 'info', 'warn', 'error', 'fatal']);

/** winston's npm and syslog levels, Google's severities, and common short forms. */
const OTHER_WORDS = {
  trace: ['silly', 'finest'],
  debug: ['verbose', 'dbg'],
  info: ['information', 'informational', 'notice', 'http', 'default'],
  warn: ['warning'],
  error: ['err'],
  fatal: ['critical', 'crit', 'alert', 'emergency', 'emerg', 'panic'],
};

/** @type {Map<string, Level>} */
const BY_WORD = new Map(LEVELS.flatMap((level) => [level, ...OTHER_WORDS[level]].map((word) => [word, level])));

/** The most reliable key first. */
const KEYS = /** @type {const} */ (['level', 'severity', 'log.level']);

/** detectLevel() parses only lines that match this pattern. Most lines do not match. */
const MENTION = /"(?:level|severity|log\.level)"/;

/**
 * Reads JSON records of pino, bunyan, winston and similar loggers.
 * @param {string} line
 * @returns {Level | null}
 */
export function detectLevel(line) {
  if (line[0] !== '{' || !MENTION.test(line)) return null;
  const record = parseRecord(line);
  return record ? readRecordLevel(record) : null;
}

/**
 * @param {string} text
 * @returns {Level | null | undefined}  Undefined: the rest of the record may contain the level.
 */
export function detectLevelEarly(text) {
  const record = text[0] === '{' ? readBeginning(text, KEYS) : null;
  return record && (readRecordLevel(record) ?? undefined);
}

/**
 * @param {string} line
 * @returns {Record<string, unknown> | null}
 */
export function parseRecord(line) {
  return line[0] === '{' ? parsed(line) : null;
}

/** @param {Record<string, unknown>} record */
export function readRecordLevel(record) {
  return KEYS.map((key) => readLevel(record[key])).find((level) => level !== null) ?? null;
}

/** @param {unknown} value */
function readLevel(value) {
  if (typeof value === 'string') {
    const word = stripVTControlCharacters(value).trim().toLowerCase();
    return BY_WORD.get(word) ?? (/^\d+$/.test(word) ? ofNumber(Number(word)) : null);
  }
  return typeof value === 'number' ? ofNumber(value) : null;
}

/**
 * Reads numbers of pino and bunyan. Ignores numbers below 10, because syslog uses 0 for
 * the most important level.
 * @param {number} number
 */
function ofNumber(number) {
  if (!(number >= 10)) return null;
  return LEVELS[Math.min(Math.floor(number / 10), LEVELS.length) - 1];
}

const SPACE = /[ \t\r\n]*/y;
const STRING = /"[^"\\]*(?:\\.[^"\\]*)*"/y;
const SCALAR = /[\w.+-]+/y;

const FILLING = /[^"{}[\]]+/y;

/**
 * @param {string} text  From its "{".
 * @param {readonly string[]} keys
 * @returns {Record<string, unknown> | null}  Null: it is not the beginning of a JSON object.
 */
function readBeginning(text, keys) {
  /** @type {Record<string, unknown>} */
  const record = {};
  const reader = createReader(text);
  if (reader.take('{') === null) return null;
  do {
    const key = reader.read(STRING);
    if (key === null || reader.take(':') === null) return reader.isAtEnd() ? record : null;
    const value = reader.value();
    if (value === null || reader.isAtEnd()) return reader.isAtEnd() ? record : null;
    const name = parsed(key);
    if (typeof name === 'string' && keys.includes(name)) record[name] = parsed(value);
  } while (reader.take(',') !== null);
  reader.take('}');
  return reader.isAtEnd() ? record : null;
}

/** @param {string} text */
function createReader(text) {
  let at = 0;

  /** @param {RegExp} pattern */
  function match(pattern) {
    pattern.lastIndex = at;
    const found = pattern.exec(text)?.[0] ?? null;
    at += found?.length ?? 0;
    return found;
  }

  /**
   * @param {RegExp} pattern
   * @returns {string | null}  Null: the next token does not match, or is not complete.
   */
  function read(pattern) {
    match(SPACE);
    const found = match(pattern);
    if (found === null && text[at] === '"') at = text.length;
    return found;
  }

  /** @param {string} sign */
  function take(sign) {
    match(SPACE);
    if (text[at] !== sign) return null;
    at += 1;
    return sign;
  }

  function nested() {
    const from = at;
    let depth = 0;
    do {
      const sign = text[at];
      if (sign === '"') read(STRING);
      else if (match(FILLING) === null) {
        depth += sign === '{' || sign === '[' ? 1 : -1;
        at += 1;
      }
    } while (depth > 0 && at < text.length);
    return text.slice(from, at);
  }

  return {
    read,
    take,
    value() {
      match(SPACE);
      return text[at] === '{' || text[at] === '[' ? nested() : (read(STRING) ?? match(SCALAR));
    },
    isAtEnd() {
      match(SPACE);
      return at >= text.length;
    },
  };
}

/** @param {string} json */
function parsed(json) {
  return tryTo(() => JSON.parse(json), null);
}
