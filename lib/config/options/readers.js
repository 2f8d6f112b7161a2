import { homedir } from 'node:os';
import { join } from 'node:path';
import { NclustError } from '../../shared/errors.js';
import { INSTANCES_FORMS } from '../../shared/host/cpus.js';
import { signalName } from '../../shared/host/signals.js';
import { DURATION_FORMS, parseDuration, TIMER_MAX_MS, UNLIMITED } from '../../shared/units.js';

// Each reader turns a value of the command line or of a config file into a value of the spec. If
// the value is invalid, the reader throws ERR_NCLUST_USAGE. The error names the option or key path,
// the found value and the accepted values.

const TEXT_FORMS = 'a text that is not empty';
const WORDS_FORMS = 'a text whose quotes are closed, or a list of texts';
const WHOLE_FORMS = 'a whole number from 0';
const COUNT_FORMS = 'a whole number from 0, or Infinity';
const FLAG_FORMS = 'true or false';
const EXIT_CODES_FORMS = 'exit codes from 0 to 255';
const SIGNAL_FORMS = 'a signal such as SIGTERM, or its number';

/**
 * @param {string} where  Option or key path.
 * @param {unknown} found
 * @param {string} accepted
 */
export function badOption(where, found, accepted) {
  return refusal(where, shown(found), accepted);
}

/**
 * Like badOption(), but shows only the type of the value, because it may be a secret.
 * @param {string} where
 * @param {unknown} found
 * @param {string} accepted
 */
export function badKind(where, found, accepted) {
  const kind = Array.isArray(found) ? 'a list' : found === null ? 'nothing' : WORD_OF[typeof found];
  return refusal(where, kind, accepted);
}

/** @type {Record<string, string>} */
const WORD_OF = {
  string: 'a text',
  number: 'a number',
  bigint: 'a number',
  boolean: 'true or false',
  object: 'an object',
  function: 'a function',
  symbol: 'a symbol',
  undefined: 'nothing',
};

/**
 * @param {string} where
 * @param {string} found
 * @param {string} accepted
 */
function refusal(where, found, accepted) {
  return new NclustError('ERR_NCLUST_USAGE', `${where} is ${found}; accepted: ${accepted}.`, {
    data: { where, found, accepted },
  });
}

/** @param {unknown} value */
function shown(value) {
  // Does not use JSON for numbers, because JSON.stringify() turns NaN and Infinity into null.
  const text =
    typeof value === 'function'
      ? 'a function'
      : typeof value === 'number'
        ? String(value)
        : (JSON.stringify(value) ?? typeof value);
  return text.length > 200 ? `${text.slice(0, 200)}...` : text;
}

/**
 * @param {unknown} value
 * @param {string} where
 */
function readText(value, where) {
  const text = typeof value === 'number' ? String(value) : value;
  if (typeof text !== 'string' || text.trim() === '') throw badOption(where, value, TEXT_FORMS);
  return text;
}

/**
 * Values that stand for "not set" in a config file, as in `cwd: process.env.APP_DIR || ''`.
 * @param {unknown} value
 */
export function isUnset(value) {
  return value === undefined || value === null || value === '' || value === false;
}

/**
 * Expands "~" also where no shell does: in a config file, in the library and in `--cwd=~/app`.
 * @param {string} path
 */
export function expandHome(path) {
  return /^~(\/|$)/.test(path) ? join(homedir(), path.slice(1)) : path;
}

/**
 * @param {unknown} value
 * @param {string} where
 */
export function readPath(value, where) {
  return expandHome(readText(value, where));
}

/**
 * @param {unknown} value
 * @param {string} where
 */
function asWords(value, where) {
  if (Array.isArray(value) && value.every((word) => ['string', 'number', 'boolean'].includes(typeof word)))
    return value.map(String);
  if (typeof value === 'number') return [String(value)];
  if (typeof value === 'string') return splitWords(value, where);
  throw badOption(where, value, WORDS_FORMS);
}

/**
 * @param {unknown} value
 * @param {string} where
 */
function asInstances(value, where) {
  const text =
    typeof value === 'number' && !Object.is(value, -0) ? String(value) : typeof value === 'string' ? value.trim() : '';
  if (text === 'max' || text === '0') return 'max';
  if (/^\d{1,5}$/.test(text)) return Number(text);
  if (/^-\d{1,5}$/.test(text) && Number(text) !== 0) return text;
  if (/^\d+(\.\d+)?%$/.test(text) && Number.parseFloat(text) > 0) return text;
  throw badOption(where, value, INSTANCES_FORMS);
}

/**
 * @param {unknown} value
 * @param {string} where
 */
function asWhole(value, where) {
  if (
    (typeof value === 'number' || typeof value === 'string') &&
    /^\d+$/.test(String(value)) &&
    Number.isSafeInteger(Number(value))
  )
    return Number(value);
  throw badOption(where, value, WHOLE_FORMS);
}

/**
 * @param {unknown} value
 * @param {string} where
 */
function asCount(value, where) {
  if (Number(value) === Infinity && value !== '') return UNLIMITED;
  if (typeof value !== 'number' && typeof value !== 'string') throw badOption(where, value, COUNT_FORMS);
  const count = /^\d+$/.test(String(value)) ? Number(value) : Number.NaN;
  if (Number.isNaN(count)) throw badOption(where, value, COUNT_FORMS);
  return Math.min(count, UNLIMITED);
}

/**
 * @param {unknown} value
 * @param {string} where
 */
function asDuration(value, where) {
  if (value === Infinity) return TIMER_MAX_MS;
  const ms = typeof value === 'number' || typeof value === 'string' ? parseDuration(value) : null;
  if (ms === null || ms > TIMER_MAX_MS) throw badOption(where, value, DURATION_FORMS);
  return ms;
}

/**
 * @param {unknown} value
 * @param {string} where
 */
export function readFlag(value, where) {
  if (value === 'true' || value === true) return true;
  if (value === 'false' || value === false) return false;
  throw badOption(where, value, FLAG_FORMS);
}

/**
 * @param {string[]} words
 * @returns {(value: unknown, where: string) => string}
 */
function oneOf(words) {
  return (value, where) => {
    if (typeof value === 'string' && words.includes(value)) return value;
    throw badOption(where, value, words.join(', '));
  };
}

/**
 * @param {unknown} value
 * @param {string} where
 */
function asExitCodes(value, where) {
  const values = [value].flat();
  const codes = values
    .flatMap((one) => String(one).split(/[\s,]+/))
    .filter(Boolean)
    .map(Number);
  if (codes.length > 0 && codes.every((code) => Number.isInteger(code) && code >= 0 && code <= 255)) return codes;
  throw badOption(where, values.some((one) => typeof one === 'object') ? value : values.join(' '), EXIT_CODES_FORMS);
}

/**
 * @param {unknown} value
 * @param {string} where
 */
function asSignal(value, where) {
  const name = typeof value === 'string' || typeof value === 'number' ? signalName(String(value)) : null;
  if (name) return name;
  throw badOption(where, value, SIGNAL_FORMS);
}

/**
 * The properties of a row that depend only on the kind of its value.
 * @typedef {object} ValueKind
 * @property {(value: any, where: string) => any} read
 * @property {string} accepted
 * @property {Record<string, unknown>} schema
 */

/** @satisfies {Record<string, ValueKind>} */
export const KINDS = {
  text: { read: readText, accepted: TEXT_FORMS, schema: { type: 'string' } },
  path: { read: readPath, accepted: TEXT_FORMS, schema: { type: 'string' } },
  /** Also accepts a number, because YAML reads a text such as 123 without quotes as a number. */
  word: { read: readText, accepted: TEXT_FORMS, schema: { type: ['string', 'number'] } },
  words: {
    read: asWords,
    accepted: WORDS_FORMS,
    schema: { type: ['string', 'array'], items: { type: ['string', 'number'] } },
  },
  flag: { read: readFlag, accepted: FLAG_FORMS, schema: { type: 'boolean' } },
  count: { read: asCount, accepted: COUNT_FORMS, schema: { type: ['integer', 'string'], minimum: 0 } },
  whole: { read: asWhole, accepted: WHOLE_FORMS, schema: { type: 'integer', minimum: 0 } },
  duration: { read: asDuration, accepted: DURATION_FORMS, schema: { type: ['number', 'string'] } },
  signal: { read: asSignal, accepted: SIGNAL_FORMS, schema: { type: ['string', 'number'] } },
  exitCodes: {
    read: asExitCodes,
    accepted: EXIT_CODES_FORMS,
    schema: { type: ['array', 'integer', 'string'], items: { type: 'integer', minimum: 0, maximum: 255 } },
  },
  instances: { read: asInstances, accepted: INSTANCES_FORMS, schema: { type: ['integer', 'string'] } },
};

/**
 * @param {string[]} words
 * @returns {ValueKind}
 */
export function enumKind(words) {
  return { read: oneOf(words), accepted: words.join(', '), schema: { enum: words } };
}

/**
 * Splits a line into words as a shell does, with quotes and backslashes, but without expansion.
 * @param {string} line
 * @param {string} keyPath
 * @returns {string[]}
 */
export function splitWords(line, keyPath) {
  /** @type {string[]} */
  const words = [];
  const piece = /\s+|'([^']*)'|"((?:[^"\\]|\\.)*)"|\\(.)|([^\s'"\\]+)/gsy;
  let word = '';
  let isInWord = false;
  while (piece.lastIndex < line.length) {
    const match = piece.exec(line);
    if (!match)
      throw new NclustError(
        'ERR_NCLUST_USAGE',
        `${keyPath} is ${JSON.stringify(line)}; accepted: words whose quotes are closed.`,
      );
    const [all, single, double, escaped, plain] = match;
    if (/^\s/.test(all) && single === undefined && double === undefined && escaped === undefined) {
      if (isInWord) words.push(word);
      word = '';
      isInWord = false;
    } else {
      word += single ?? double?.replace(/\\(["\\$`])/g, '$1') ?? escaped ?? plain;
      isInWord = true;
    }
  }
  return isInWord ? [...words, word] : words;
}
