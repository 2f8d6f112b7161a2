import { isRecord } from '../../../lib/shared/is-record.js';
import { RPC_ERROR } from '../../../lib/shared/wire/rpc.js';

export class BadParams extends Error {
  /**
   * @param {string} path
   * @param {string} accepted
   */
  constructor(path, accepted) {
    super(`"${path}" has to be ${accepted}.`);
    this.name = 'BadParams';
    this.code = RPC_ERROR.invalidParams;
  }
}

/**
 * @template T
 * @typedef {(value: unknown, path: string) => T} Reader  Throws BadParams.
 */

/**
 * @param {(value: any) => boolean} isFit
 * @param {string} accepted  For the error.
 * @returns {Reader<any>}
 */
export const reader = (isFit, accepted) => (value, path) => {
  if (isFit(value)) return value;
  throw new BadParams(path, accepted);
};

/** @type {Reader<string>} */
export const text = reader((value) => typeof value === 'string' && value !== '', 'a text that is not empty');

/** @type {Reader<boolean>} */
export const flag = reader((value) => typeof value === 'boolean', 'true or false');

/** @type {Reader<unknown[]>} */
export const list = reader((value) => Array.isArray(value) && value.length > 0, 'a list that is not empty');

/** @type {Reader<Record<string, unknown>>} */
export const record = reader(isRecord, 'an object');

/** Limit for the name, because every notification repeats it. */
const SUBSCRIPTION_MAX_CHARS = 200;

/** @type {Reader<string>} */
export const subscriptionName = (value, path) => {
  const name = typeof value === 'number' ? String(value) : text(value, path);
  if (name.length <= SUBSCRIPTION_MAX_CHARS) return name;
  throw new BadParams(path, `a text of at most ${SUBSCRIPTION_MAX_CHARS} characters`);
};

/** @type {Reader<string[]>} */
export const texts = (value, path) => {
  if (Array.isArray(value) && value.length > 0) return value.map((item, at) => text(item, `${path}[${at}]`));
  throw new BadParams(path, 'a list of at least one text');
};

export const anyText = reader((value) => typeof value === 'string', 'a text');

/**
 * @template T
 * @param {Reader<T>} read
 * @returns {Reader<Record<string, T>>}
 */
export const recordOf = (read) => (value, path) =>
  Object.fromEntries(Object.entries(record(value, path)).map(([key, item]) => [key, read(item, `${path}.${key}`)]));

/** @type {Reader<Record<string, string>>} */
export const variables = recordOf(anyText);

/**
 * @param {number} max
 * @returns {Reader<number>}
 */
export const wholeUpTo = (max) =>
  reader((value) => Number.isSafeInteger(value) && value >= 0 && value <= max, `a whole number from 0 to ${max}`);

/**
 * @template {string} T
 * @param {readonly T[]} words
 * @returns {Reader<T[]>}
 */
export const readSome = (words) =>
  reader(
    (value) => Array.isArray(value) && value.length > 0 && value.every((item) => words.includes(item)),
    `a list of ${words.map((word) => `"${word}"`).join(' and ')}`,
  );

/**
 * @template {string} T
 * @param {readonly T[]} words
 * @returns {Reader<T>}
 */
export const oneOf = (words) => reader((value) => words.includes(value), words.map((word) => `"${word}"`).join(' or '));

/**
 * @template T
 * @param {Reader<T>} read
 * @param {T} fallback
 * @returns {Reader<T>}
 */
export const withDefault = (read, fallback) => (value, path) => read(value ?? fallback, path);

/**
 * @template T
 * @param {Reader<T>} read
 * @returns {Reader<T | undefined>}
 */
export const optional = (read) => (value, path) =>
  value === undefined || value === null ? undefined : read(value, path);

/** A switch that is off unless the client gives it. */
export const toggle = withDefault(flag, false);

/**
 * @template {Record<string, Reader<any>>} S
 * @param {S} shape
 * @param {Record<string, unknown>} given
 * @param {string} [at]  For errors: where `given` is, with a dot at the end.
 * @returns {{ [K in keyof S]: ReturnType<S[K]> }}
 */
export function readParams(shape, given, at = '') {
  const read = Object.entries(shape).map(([key, of]) => [key, of(given[key], at + key)]);
  return /** @type {any} */ (Object.fromEntries(read));
}

export const CHANGE_PARAMS = { wait: withDefault(flag, true), progress: toggle, token: text };
