import { NclustError } from '../shared/errors.js';
import { INSTANCES_FORMS } from '../shared/cpus.js';
import { signalName } from '../shared/signals.js';
import { DURATION_FORMS, parseDuration } from '../shared/units.js';
import { splitWords } from './split-words.js';

// Each turns what was typed into the value of a spec, or throws ERR_NCLUST_USAGE naming the option, what was found and what is accepted.

/**
 * @param {string} flag
 * @param {unknown} found
 * @param {string} accepted
 */
export function badOption(flag, found, accepted) {
  return new NclustError('ERR_NCLUST_USAGE', `${flag} is ${JSON.stringify(found)}; accepted: ${accepted}.`);
}

/**
 * @param {string} value
 * @param {string} flag
 */
export function asText(value, flag) {
  if (value.trim() === '') throw badOption(flag, value, 'a text that is not empty');
  return value;
}

/**
 * @param {string} value
 * @param {string} flag
 */
export function asWords(value, flag) {
  return splitWords(value, flag);
}

/**
 * @param {string} value
 * @param {string} flag
 */
export function asInstances(value, flag) {
  const text = value.trim();
  if (text === 'max' || text === '0') return 'max';
  if (/^\d{1,5}$/.test(text)) return Number(text);
  if (/^-\d{1,5}$/.test(text) && Number(text) !== 0) return text;
  if (/^\d+(\.\d+)?%$/.test(text) && Number.parseFloat(text) > 0) return text;
  throw badOption(flag, value, INSTANCES_FORMS);
}

/**
 * @param {string} value
 * @param {string} flag
 */
export function asWhole(value, flag) {
  if (/^\d+$/.test(value) && Number.isSafeInteger(Number(value))) return Number(value);
  throw badOption(flag, value, 'a whole number from 0');
}

/**
 * @param {string} value
 * @param {string} flag
 */
export function asDuration(value, flag) {
  const ms = parseDuration(value);
  if (ms === null || ms > 2_147_483_647) throw badOption(flag, value, DURATION_FORMS);
  return ms;
}

/**
 * @param {string[]} words
 * @returns {(value: string, flag: string) => string}
 */
export function oneOf(words) {
  return (value, flag) => {
    if (words.includes(value)) return value;
    throw badOption(flag, value, words.join(', '));
  };
}

/**
 * @param {string[]} values
 * @param {string} flag
 */
export function asExitCodes(values, flag) {
  const codes = values.flatMap((value) => value.split(/[\s,]+/)).filter(Boolean).map(Number);
  if (codes.length > 0 && codes.every((code) => Number.isInteger(code) && code >= 0 && code <= 255)) return codes;
  throw badOption(flag, values.join(' '), 'exit codes from 0 to 255');
}

/**
 * @param {string} value
 * @param {string} flag
 */
export function asSignal(value, flag) {
  const name = signalName(value);
  if (name) return name;
  throw badOption(flag, value, 'a signal such as SIGTERM, or its number');
}
