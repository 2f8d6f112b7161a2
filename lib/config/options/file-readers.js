import { badKind, badOption } from './readers.js';

// Readers of what only a config file can hold.

export const ENVIRONMENT_FORMS = 'an object whose values are texts, numbers, true, false, objects or lists';
export const MODE_FORMS = 'fork or cluster';
export const PORT_FORMS = 'a number from 0 to 65535, or the path of a Unix socket';

/**
 * A variable without a value is not declared: `TOKEN: process.env.TOKEN` in a shell that has none means none.
 * @param {unknown} value
 * @param {string} where
 * @returns {Record<string, string>}
 */
export function asEnvironment(value, where) {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw badKind(where, value, ENVIRONMENT_FORMS);
  const declared = Object.entries(value).filter(([, one]) => one !== undefined && one !== null);
  return Object.fromEntries(declared.map(([key, one]) => [checkVariable(key, where), asVariable(one, `${where}.${key}`)]));
}

/**
 * @param {unknown} value
 * @param {string} where
 * @returns {'cluster'|'fork'}
 */
export function asMode(value, where) {
  const mode = typeof value === 'string' ? value.replace(/_mode$/, '') : '';
  if (mode === 'cluster' || mode === 'fork') return mode;
  throw badOption(where, value, MODE_FORMS);
}

/**
 * @param {unknown} value
 * @param {string} where
 * @returns {string}
 */
export function asPort(value, where) {
  const text = typeof value === 'number' || typeof value === 'string' ? String(value).trim() : '';
  const isPort = /^\d+$/.test(text) ? Number(text) <= 65_535 : text.includes('/');
  if (isPort) return text;
  throw badOption(where, value, PORT_FORMS);
}

/**
 * @param {string} key
 * @param {string} where
 */
function checkVariable(key, where) {
  if (key !== '' && !/[=\0]/.test(key)) return key;
  throw badOption(where, key, 'variables whose names are not empty and hold no "="');
}

/**
 * The value itself is not shown: it may be a password.
 * @param {unknown} value
 * @param {string} where
 */
function asVariable(value, where) {
  const text = typeof value === 'object' ? JSON.stringify(value) : ['string', 'number', 'boolean', 'bigint'].includes(typeof value) ? String(value) : null;
  if (text !== null && !text.includes('\0')) return text;
  throw badKind(where, value, 'a text without a NUL, a number, true, false, an object or a list');
}
