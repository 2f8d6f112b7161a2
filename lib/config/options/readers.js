import { NclustError } from '../../shared/errors.js';
import { INSTANCES_FORMS } from '../../shared/host/cpus.js';
import { signalName } from '../../shared/host/signals.js';
import { DURATION_FORMS, parseDuration } from '../../shared/units.js';
import { splitWords } from './split-words.js';

// Each turns what was typed, or what a config file holds, into the value of a spec, or throws ERR_NCLUST_USAGE naming the option or key path, what was
// found and what is accepted.

export const TEXT_FORMS = 'a text that is not empty';
export const WORDS_FORMS = 'a text whose quotes are closed, or a list of texts';
export const WHOLE_FORMS = 'a whole number from 0';
export const FLAG_FORMS = 'true or false';
export const EXIT_CODES_FORMS = 'exit codes from 0 to 255';
export const SIGNAL_FORMS = 'a signal such as SIGTERM, or its number';

/**
 * @param {string} where  Option or key path.
 * @param {unknown} found
 * @param {string} accepted
 */
export function badOption(where, found, accepted) {
  return refusal(where, shown(found), accepted);
}

/**
 * The same for what may be a secret: only its kind is shown.
 * @param {string} where
 * @param {unknown} found
 * @param {string} accepted
 */
export function badKind(where, found, accepted) {
  const kind = Array.isArray(found) ? 'a list' : found === null ? 'nothing' : WORD_OF[typeof found];
  return refusal(where, kind, accepted);
}

/** @type {Record<string, string>} */
const WORD_OF = { string: 'a text', number: 'a number', bigint: 'a number', boolean: 'true or false', object: 'an object', function: 'a function', symbol: 'a symbol', undefined: 'nothing' };

/**
 * @param {string} where
 * @param {string} found
 * @param {string} accepted
 */
function refusal(where, found, accepted) {
  return new NclustError('ERR_NCLUST_USAGE', `${where} is ${found}; accepted: ${accepted}.`, { data: { where, found, accepted } });
}

/** @param {unknown} value */
function shown(value) {
  // NaN and Infinity are null in JSON.
  const text = typeof value === 'function' ? 'a function' : typeof value === 'number' ? String(value) : JSON.stringify(value) ?? typeof value;
  return text.length > 200 ? `${text.slice(0, 200)}...` : text;
}

/**
 * @param {unknown} value
 * @param {string} where
 */
export function asText(value, where) {
  const text = typeof value === 'number' ? String(value) : value;
  if (typeof text !== 'string' || text.trim() === '') throw badOption(where, value, TEXT_FORMS);
  return text;
}

/**
 * @param {unknown} value
 * @param {string} where
 * @returns {string[]}
 */
export function asWords(value, where) {
  if (Array.isArray(value) && value.every((word) => ['string', 'number', 'boolean'].includes(typeof word))) return value.map(String);
  if (typeof value === 'number') return [String(value)];
  if (typeof value === 'string') return splitWords(value, where);
  throw badOption(where, value, WORDS_FORMS);
}

/**
 * @param {unknown} value
 * @param {string} where
 * @returns {number|string}
 */
export function asInstances(value, where) {
  const text = typeof value === 'number' && !Object.is(value, -0) ? String(value) : typeof value === 'string' ? value.trim() : '';
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
export function asWhole(value, where) {
  if ((typeof value === 'number' || typeof value === 'string') && /^\d+$/.test(String(value)) && Number.isSafeInteger(Number(value))) return Number(value);
  throw badOption(where, value, WHOLE_FORMS);
}

/**
 * @param {unknown} value
 * @param {string} where
 */
export function asDuration(value, where) {
  const ms = typeof value === 'number' || typeof value === 'string' ? parseDuration(value) : null;
  if (ms === null || ms > 2_147_483_647) throw badOption(where, value, DURATION_FORMS);
  return ms;
}

/**
 * @param {unknown} value
 * @param {string} where
 */
export function asFlag(value, where) {
  if (value === 'true' || value === true) return true;
  if (value === 'false' || value === false) return false;
  throw badOption(where, value, FLAG_FORMS);
}

/**
 * @param {string[]} words
 * @returns {(value: unknown, where: string) => string}
 */
export function oneOf(words) {
  return (value, where) => {
    if (typeof value === 'string' && words.includes(value)) return value;
    throw badOption(where, value, words.join(', '));
  };
}

/**
 * @param {unknown} value
 * @param {string} where
 */
export function asExitCodes(value, where) {
  const values = Array.isArray(value) ? value : [value];
  const codes = values.flatMap((one) => String(one).split(/[\s,]+/)).filter(Boolean).map(Number);
  if (codes.length > 0 && codes.every((code) => Number.isInteger(code) && code >= 0 && code <= 255)) return codes;
  throw badOption(where, values.some((one) => typeof one === 'object') ? value : values.join(' '), EXIT_CODES_FORMS);
}

/**
 * @param {unknown} value
 * @param {string} where
 */
export function asSignal(value, where) {
  const name = typeof value === 'string' || typeof value === 'number' ? signalName(String(value)) : null;
  if (name) return name;
  throw badOption(where, value, SIGNAL_FORMS);
}
