import { isDeepStrictEqual } from 'node:util';
import { FIELDS } from './table.js';
import { MASK } from './layers.js';
import { showReceivers } from './notify-fields.js';

/** @import { Field, Needs } from './table.js' */
/** @import { AppSpec } from './types.js' */

/**
 * @typedef {object} SpecChange
 * @property {string} field
 * @property {string} attribute  The name in a config file; for a variable "env.PORT".
 * @property {unknown} before  Null: there was no value.
 * @property {unknown} after  Null: there is no value.
 */

/** @typedef {{ changes: SpecChange[], needs: Set<Needs> }} SpecDiff */

/** The diff lists each changed key of these fields as a change of its own. */
const RECORDS = ['env', 'shellEnv', 'fileEnv', 'secrets', 'watchOptions'];

const SECRET_KEY =
  /pass(word|wd|phrase)?|secret|token|credential|api_?key|access_?key|private_?key|auth|_key$|_pw$|_dsn$|^dsn$/i;

/** A password inside an address. */
const SECRET_VALUE = /^[a-z][a-z0-9+.-]*:\/\/[^/@\s]*:[^/@\s]+@/i;

/**
 * Ignores the number of instances in the specs, because the number of running instances counts.
 * @param {AppSpec} before
 * @param {AppSpec} after
 * @param {object} [o]
 * @param {boolean} [o.isShellNew]  Whether new shell variables replace the old.
 * @returns {SpecDiff}
 */
export function diffSpecs(before, after, { isShellNew = false } = {}) {
  const old = /** @type {Record<string, unknown>} */ (/** @type {unknown} */ (before));
  const wanted = /** @type {Record<string, unknown>} */ (/** @type {unknown} */ (after));
  const fields = [...new Set([...Object.keys(old), ...Object.keys(wanted)])].filter(
    (field) => field !== 'instances' && !isDeepStrictEqual(old[field], wanted[field]),
  );
  const rows = fields
    .map((field) => ({ ...listNeeds(field, isShellNew), field }))
    .filter(({ needs }) => needs !== 'along');
  const telling = rows.filter(({ isDerived }) => !isDerived);
  const shown = telling.length > 0 ? telling : rows;
  return {
    needs: new Set(rows.map(({ needs }) => needs)),
    changes: shown.flatMap(({ field, shownAs }) => listChanges(field, shownAs, old[field], wanted[field])),
  };
}

/**
 * An unknown field comes from another version of nclust. Only a new process can use the field.
 * @param {string} field
 * @param {boolean} isShellNew
 * @returns {Pick<Field, 'needs' | 'shownAs' | 'isDerived'>}
 */
function listNeeds(field, isShellNew) {
  const row = FIELDS[field] ?? { needs: 'rollout', shownAs: field };
  return field === 'shellEnv' && isShellNew ? { ...row, needs: 'rollout' } : row;
}

/**
 * @param {string} field
 * @param {string} attribute
 * @param {unknown} before
 * @param {unknown} after
 * @returns {SpecChange[]}
 */
function listChanges(field, attribute, before, after) {
  const show = field === 'notify' ? showReceivers : (/** @type {unknown} */ value) => value ?? null;
  if (!RECORDS.includes(field)) return [{ field, attribute, before: show(before), after: show(after) }];
  const old = toRecord(before);
  const wanted = toRecord(after);
  const keys = [...new Set([...Object.keys(old), ...Object.keys(wanted)])]
    .filter((key) => !isDeepStrictEqual(old[key], wanted[key]))
    .sort();
  const isSecret = (/** @type {string} */ key) =>
    field === 'secrets' || isSecretVariable(key, old[key]) || isSecretVariable(key, wanted[key]);
  const shown = (/** @type {string} */ key, /** @type {unknown} */ value) =>
    value !== undefined && isSecret(key) ? MASK : (value ?? null);
  return keys.map((key) => ({
    field,
    attribute: `${attribute}.${key}`,
    before: shown(key, old[key]),
    after: shown(key, wanted[key]),
  }));
}

/**
 * @param {string} key
 * @param {unknown} value
 */
function isSecretVariable(key, value) {
  return SECRET_KEY.test(key) || (typeof value === 'string' && SECRET_VALUE.test(value));
}

/**
 * @param {unknown} value
 * @returns {Record<string, unknown>}
 */
function toRecord(value) {
  if (Array.isArray(value)) return Object.assign({}, ...value.map(({ env }) => env));
  return typeof value === 'object' && value !== null ? /** @type {Record<string, unknown>} */ (value) : {};
}
