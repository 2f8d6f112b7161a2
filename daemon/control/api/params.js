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

/** @type {Reader<string>} */
export const text = (value, path) => {
  if (typeof value === 'string' && value !== '') return value;
  throw new BadParams(path, 'a text that is not empty');
};

/** @type {Reader<string[]>} */
export const texts = (value, path) => {
  if (Array.isArray(value) && value.length > 0) return value.map((item, at) => text(item, `${path}[${at}]`));
  throw new BadParams(path, 'a list of at least one text');
};

/** @type {Reader<boolean>} */
export const flag = (value, path) => {
  if (typeof value === 'boolean') return value;
  throw new BadParams(path, 'true or false');
};

/** @type {Reader<unknown[]>} */
export const list = (value, path) => {
  if (Array.isArray(value) && value.length > 0) return value;
  throw new BadParams(path, 'a list that is not empty');
};

/** @type {Reader<Record<string, unknown>>} */
export const record = (value, path) => {
  if (isRecord(value)) return value;
  throw new BadParams(path, 'an object');
};

/** @type {Reader<Record<string, string>>} */
export const variables = (value, path) => {
  const given = record(value, path);
  for (const [key, item] of Object.entries(given))
    if (typeof item !== 'string') throw new BadParams(`${path}.${key}`, 'a text');
  return /** @type {Record<string, string>} */ (given);
};

/**
 * @param {number} max
 * @returns {Reader<number>}
 */
export const wholeUpTo = (max) => (value, path) => {
  if (Number.isSafeInteger(value) && /** @type {number} */ (value) >= 0 && /** @type {number} */ (value) <= max)
    return /** @type {number} */ (value);
  throw new BadParams(path, `a whole number from 0 to ${max}`);
};

/**
 * @template {string} T
 * @param {readonly T[]} words
 * @returns {Reader<T[]>}
 */
export const readSome = (words) => (value, path) => {
  if (Array.isArray(value) && value.length > 0 && value.every((item) => words.includes(item))) return value;
  throw new BadParams(path, `a list of ${words.map((word) => `"${word}"`).join(' and ')}`);
};

/**
 * @template T
 * @param {Reader<T>} reader
 * @param {T} [fallback]
 * @returns {Reader<T | undefined>}
 */
export const optional = (reader, fallback) => (value, path) =>
  value === undefined || value === null ? fallback : reader(value, path);

/**
 * @template T
 * @param {Reader<T>} reader
 * @param {T} fallback
 * @returns {Reader<T>}
 */
export const withDefault = (reader, fallback) => (value, path) =>
  value === undefined || value === null ? fallback : reader(value, path);

/**
 * @template {Record<string, Reader<any>>} S
 * @param {S} shape
 * @param {Record<string, unknown>} given
 * @returns {{ [K in keyof S]: ReturnType<S[K]> }}
 */
export function readParams(shape, given) {
  return /** @type {any} */ (
    Object.fromEntries(Object.entries(shape).map(([key, reader]) => [key, reader(given[key], key)]))
  );
}

export const CHANGE_PARAMS = { wait: withDefault(flag, true), progress: withDefault(flag, false), token: text };
