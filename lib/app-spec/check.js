import { isAbsolute, resolve } from 'node:path';
import { FIELDS } from './table.js';
import { NclustError } from '../shared/errors.js';
import { isRecord } from '../shared/is-record.js';

/** @import { Field } from './table.js' */
/** @import { AppSpec } from './types.js' */

/**
 * Adds defaults, and drops fields that this version does not know. Throws ERR_NCLUST_BAD_SPEC.
 * @param {unknown} value
 * @param {string} [keyPath]
 * @returns {AppSpec}
 */
export function checkSpec(value, keyPath = 'spec') {
  const given = checkObject(value, keyPath);
  const spec = Object.fromEntries(
    Object.entries(FIELDS).map(([key, field]) => [key, checkField(given, key, field, keyPath)]),
  );
  return checkTogether(/** @type {AppSpec} */ (/** @type {unknown} */ (spec)), keyPath);
}

/**
 * Like checkSpec(), but checks only the given fields, each field alone, and adds no defaults.
 * @param {unknown} value
 * @param {string} [keyPath]
 * @returns {Partial<AppSpec>}
 */
export function checkSpecChange(value, keyPath = 'spec') {
  const given = checkObject(value, keyPath);
  const known = Object.entries(FIELDS).filter(([key]) => given[key] !== undefined);
  return Object.fromEntries(known.map(([key, field]) => [key, checkField(given, key, field, keyPath)]));
}

/**
 * Adds the defaults of new fields to a spec of an earlier version.
 * @param {Partial<AppSpec>} spec
 */
export function completeSpec(spec) {
  const missing = Object.values(FIELDS).filter((row) => !(row.field in spec) && row.default !== undefined);
  return /** @type {AppSpec} */ ({ ...spec, ...Object.fromEntries(missing.map((row) => [row.field, row.default])) });
}

/**
 * Fields that this version does not know. A downgrade keeps these fields for the next upgrade.
 * @param {AppSpec} spec
 * @returns {Partial<AppSpec>}
 */
export function laterFields(spec) {
  return Object.fromEntries(Object.entries(spec).filter(([key]) => !Object.hasOwn(FIELDS, key)));
}

/**
 * @param {unknown} value
 * @param {string} keyPath
 */
function checkObject(value, keyPath) {
  if (isRecord(value)) return value;
  throw badSpec(keyPath, value, 'an object');
}

/**
 * @param {Record<string, unknown>} given
 * @param {string} key
 * @param {Field} row
 * @param {string} keyPath
 */
function checkField(given, key, row, keyPath) {
  const value = given[key];
  if (value === undefined && row.default !== undefined) return structuredClone(row.default);
  if (row.accepts(value)) return value;
  throw badSpec(`${keyPath}.${key}`, value, row.stored, row.isPrivate);
}

/**
 * @param {AppSpec} spec
 * @param {string} keyPath
 */
function checkTogether(spec, keyPath) {
  if (spec.mode === 'cluster' && spec.kind !== 'node')
    throw badSpec(
      `${keyPath}.mode`,
      spec.mode,
      '"fork", because only Node.js programs can share a socket through cluster mode',
    );
  return resolveLogPaths(spec);
}

const NO_PATHS = ['', 'NULL'];

/**
 * @template {Pick<AppSpec, 'cwd' | 'outFile' | 'errorFile' | 'logFile'>} Spec
 * @param {Spec} spec
 * @returns {Spec}
 */
function resolveLogPaths(spec) {
  const { cwd, outFile, errorFile, logFile } = spec;
  return {
    ...spec,
    outFile: resolvePath(outFile, cwd),
    errorFile: resolvePath(errorFile, cwd),
    logFile: logFile === 'default' ? logFile : resolvePath(logFile, cwd),
  };
}

/**
 * @param {string} path
 * @param {string} cwd
 */
function resolvePath(path, cwd) {
  return NO_PATHS.includes(path) || isAbsolute(path) ? path : resolve(cwd, path);
}

/**
 * @param {string} keyPath
 * @param {unknown} found
 * @param {string} accepted
 * @param {boolean} [isPrivate]
 */
function badSpec(keyPath, found, accepted, isPrivate = false) {
  const kind = Array.isArray(found) ? 'list' : typeof found;
  const text = isPrivate ? `${kind === 'object' ? 'an' : 'a'} ${kind}` : JSON.stringify(found)?.slice(0, 120);
  const shown = found === undefined ? 'nothing' : (text ?? kind);
  return new NclustError('ERR_NCLUST_BAD_SPEC', `"${keyPath}" is ${shown}; accepted: ${accepted}.`, {
    data: { keyPath, accepted },
  });
}

const LIVE = Object.keys(FIELDS).filter((field) => ['nothing', 'live'].includes(FIELDS[field].needs));

/**
 * Returns a copy of `spec`, with all fields from `wanted` whose effect is 'nothing' or 'live'.
 * @param {AppSpec} spec
 * @param {AppSpec} wanted
 * @returns {AppSpec}
 */
export function mergeLiveFields(spec, wanted) {
  const given = /** @type {Record<string, unknown>} */ (/** @type {unknown} */ (wanted));
  return { ...spec, ...Object.fromEntries(LIVE.map((field) => [field, given[field]])) };
}
