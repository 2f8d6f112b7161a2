// A value of an app has two forms: as the user writes it on the command line or in a config file,
// and as the spec stores it. A kind reads the first and checks the second.
import { INSTANCES_FORMS } from '../shared/host/cpus.js';
import { signalName } from '../shared/host/signals.js';
import { DURATION_FORMS, formatDuration, parseDuration, TIMER_MAX_MS, UNLIMITED } from '../shared/units.js';
import { badOption, reader, readPath, readText, splitWords, TEXT_FORMS } from './values.js';

/**
 * @typedef {object} StoredKind
 * @property {(value: unknown) => boolean} accepts  Whether a spec may store the value.
 * @property {string} [stored]  The values that a spec may store, in words. Default: `accepted`.
 * @property {string} type  In TypeScript.
 *
 * @typedef {object} GivenKind
 * @property {(value: any, where: string) => any} read  Turns the value of the user into the stored
 *   value. `where` is the option or the key path. Throws ERR_NCLUST_USAGE.
 * @property {string} accepted  The values that a user may give, in words.
 * @property {Record<string, unknown>} schema  In JSON Schema.
 * @property {string} [suffix]  The unit at the end of the name of the field.
 * @property {(value: any) => string} [show]  A default, for the help.
 *
 * @typedef {StoredKind & GivenKind} Kind
 */

const EXIT_CODES_FORMS = 'exit codes from 0 to 255';

/**
 * Refuses a text with NUL, because execve() would cut the text at NUL.
 * @param {unknown} value
 * @returns {value is string}
 */
export function isText(value) {
  return typeof value === 'string' && !value.includes('\0');
}

/**
 * @param {unknown} value
 * @returns {value is string}
 */
export function isFilled(value) {
  return isText(value) && value.trim() !== '';
}

/**
 * @param {unknown} value
 * @returns {value is number}
 */
export function isWhole(value) {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}

/**
 * @param {unknown} value
 * @returns {value is string | number}
 */
export function isFigure(value) {
  return typeof value === 'string' || typeof value === 'number';
}

/** @param {unknown} value */
export function isDigits(value) {
  return isFigure(value) && /^\d+$/.test(String(value));
}

/** @type {Kind} */
export const text = {
  read: readText,
  accepted: TEXT_FORMS,
  schema: { type: 'string' },
  accepts: isText,
  stored: 'a text',
  type: 'string',
};

/** @type {Kind} */
export const path = { ...text, read: readPath };

/** Also accepts a number, because YAML reads a text such as 123 without quotes as a number. */
export const word = { ...text, schema: { type: ['string', 'number'] } };

/** @type {Kind} */
export const words = {
  ...reader('a text whose quotes are closed, or a list of texts', asWords),
  schema: { type: ['string', 'array'], items: { type: ['string', 'number'] } },
  accepts: (value) => Array.isArray(value) && value.every(isText),
  stored: 'a list of texts',
  type: 'string[]',
};

/** @type {Kind} */
export const flag = {
  ...reader('true or false', asFlag),
  schema: { type: 'boolean' },
  accepts: (value) => typeof value === 'boolean',
  type: 'boolean',
};

/** @type {Kind} */
export const whole = {
  ...reader('a whole number from 0', (value) =>
    isDigits(value) && isWhole(Number(value)) ? Number(value) : undefined,
  ),
  schema: { type: 'integer', minimum: 0 },
  accepts: (value) => isWhole(value) && value <= TIMER_MAX_MS,
  stored: `a whole number from 0 to ${TIMER_MAX_MS}`,
  type: 'number',
};

/** @type {Kind} */
export const count = {
  ...whole,
  ...reader('a whole number from 0, or Infinity', asCount),
  schema: { type: ['integer', 'string'], minimum: 0 },
};

/** @type {Kind} */
export const duration = {
  ...whole,
  ...reader(DURATION_FORMS, asDuration),
  schema: { type: ['number', 'string'] },
  suffix: 'Ms',
  show: (ms) => (ms === 0 ? 'none' : formatDuration(ms)),
};

/** @type {Kind} */
export const signal = {
  ...reader('a signal such as SIGTERM, or its number', (value) =>
    isFigure(value) ? (signalName(value) ?? undefined) : undefined,
  ),
  schema: { type: ['string', 'number'] },
  accepts: (value) => typeof value === 'string' && /^SIG[A-Z0-9]+$/.test(value),
  stored: 'a signal name such as "SIGTERM"',
  type: 'string',
};

/** @type {Kind} */
export const exitCodes = {
  read: asExitCodes,
  accepted: EXIT_CODES_FORMS,
  schema: { type: ['array', 'integer', 'string'], items: { type: 'integer', minimum: 0, maximum: 255 } },
  accepts: (value) => Array.isArray(value) && value.every((code) => isWhole(code) && code <= 255),
  stored: 'a list of exit codes from 0 to 255',
  type: 'number[]',
};

/** @type {Kind} */
export const instances = {
  ...reader(INSTANCES_FORMS, asInstances),
  schema: { type: ['integer', 'string'] },
  accepts: isInstances,
  type: 'number | string',
};

/**
 * @param {string[]} options
 * @returns {Kind}
 */
export function oneOf(options) {
  const accepts = (/** @type {unknown} */ value) => typeof value === 'string' && options.includes(value);
  return {
    ...reader(options.join(', '), (value) => (accepts(value) ? value : undefined)),
    schema: { enum: options },
    accepts,
    stored: options.map((option) => `"${option}"`).join(' or '),
    type: options.map((option) => `'${option}'`).join(' | '),
  };
}

/**
 * The spec may store null. Users cannot write null.
 * @template {StoredKind} K
 * @param {K} kind
 * @param {string} meaning  Of null.
 * @returns {K}
 */
export function orNull(kind, meaning) {
  const { accepts, accepted, stored = accepted, type } = /** @type {Kind} */ (/** @type {unknown} */ (kind));
  return {
    ...kind,
    accepts: (/** @type {unknown} */ value) => value === null || accepts(value),
    stored: `${stored}, or null for ${meaning}`,
    type: `${type} | null`,
  };
}

/**
 * @param {unknown} value
 * @param {string} where
 */
function asWords(value, where) {
  if (Array.isArray(value) && value.every((one) => ['string', 'number', 'boolean'].includes(typeof one)))
    return value.map(String);
  if (typeof value === 'number') return [String(value)];
  return typeof value === 'string' ? splitWords(value, where) : undefined;
}

/** @param {unknown} value */
function asInstances(value) {
  const typed =
    typeof value === 'number' && !Object.is(value, -0) ? String(value) : typeof value === 'string' ? value.trim() : '';
  if (typed === 'max' || typed === '0') return 'max';
  if (/^\d{1,5}$/.test(typed)) return Number(typed);
  if (/^-\d{1,5}$/.test(typed) && Number(typed) !== 0) return typed;
  return /^\d+(\.\d+)?%$/.test(typed) && Number.parseFloat(typed) > 0 ? typed : undefined;
}

/** @param {unknown} value */
function isInstances(value) {
  if (typeof value === 'number') return isWhole(value);
  return (
    typeof value === 'string' &&
    (value === 'max' || /^-\d+$/.test(value) || (/^\d+(\.\d+)?%$/.test(value) && Number.parseFloat(value) > 0))
  );
}

/** @param {unknown} value */
function asCount(value) {
  if (Number(value) === Infinity && value !== '') return UNLIMITED;
  return isDigits(value) ? Math.min(Number(value), UNLIMITED) : undefined;
}

/** @param {unknown} value */
function asDuration(value) {
  if (value === Infinity) return TIMER_MAX_MS;
  const ms = isFigure(value) ? parseDuration(value) : null;
  return ms === null || ms > TIMER_MAX_MS ? undefined : ms;
}

/** @param {unknown} value */
function asFlag(value) {
  if (value === 'true' || value === true) return true;
  return value === 'false' || value === false ? false : undefined;
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
