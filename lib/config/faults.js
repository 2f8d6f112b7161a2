import { NclustError } from '../shared/errors.js';
import { isRecord } from '../shared/is-record.js';
import { isUnset } from '../app-spec/values.js';
import { ENVIRONMENT_PREFIX, findAttribute, TOP_LEVEL } from '../app-spec/table.js';

/**
 * @typedef {object} Fault
 * @property {string} keyPath  "apps[1].max_memory_restart". Empty: the file as a whole.
 * @property {string} found
 * @property {string} accepted
 * @property {string} message
 * @property {string | null} [hint]
 */

/**
 * @param {string} keyPath
 * @param {string} found
 * @param {string} accepted
 * @returns {Fault}
 */
export function createFault(keyPath, found, accepted) {
  return {
    keyPath,
    found,
    accepted,
    message: `${keyPath === '' ? 'The file' : keyPath} ${found}; accepted: ${accepted}.`,
  };
}

/**
 * @param {unknown} error
 * @param {string} keyPath  Used if the error contains no key path.
 * @returns {Fault}  Throws the error again if it is a bug and not a refused value.
 */
export function toFault(error, keyPath) {
  if (!(error instanceof NclustError) || error.code === 'ERR_NCLUST_INTERNAL') throw error;
  const { where, keyPath: own, found = '', accepted = '' } = /** @type {Record<string, string>} */ (error.data ?? {});
  const at = where ?? own ?? keyPath;
  const message = error.message.includes(at) ? error.message : `${at}: ${error.message}`;
  return { keyPath: at, found, accepted, message, ...(error.hint ? { hint: error.hint } : {}) };
}

/**
 * @param {string} file
 * @param {Fault[]} faults
 * @param {string[]} warnings  Shown too, because a misspelt key may cause a missing key.
 */
export function badConfig(file, faults, warnings) {
  const count = faults.length === 1 ? 'a fault' : `${faults.length} faults`;
  return new NclustError(
    'ERR_NCLUST_BAD_CONFIG',
    `"${file}" has ` +
      `${count}:\n${[...faults.map(({ message }) => message), ...warnings].map((line) => `  ${line}`).join('\n')}`,
    {
      hint:
        (faults.length === 1 && faults[0].hint) ||
        'docs/config.md lists every attribute; "nclust validate" checks the file.',
      data: { file, faults, warnings },
    },
  );
}

/**
 * @param {string} file
 * @param {string} why  A clause.
 * @param {object} [o]
 * @param {number | null} [o.line]
 * @param {number | null} [o.column]
 * @param {string | null} [o.hint]
 * @param {unknown} [o.cause]
 */
export function unreadableError(file, why, { line = null, column = null, hint = null, cause } = {}) {
  const at = line === null ? '' : ` (line ${line}${column === null ? '' : `, column ${column}`})`;
  const fault = { keyPath: '', found: why, accepted: 'a config file', line, column, message: `${why}${at}.` };
  return new NclustError('ERR_NCLUST_BAD_CONFIG', `"${file}" cannot be read: ${why}${at}.`, {
    hint,
    data: { file, faults: [fault] },
    cause,
  });
}

/**
 * @typedef {object} Shape
 * @property {{ keyPath: string, entry: unknown }[]} apps
 * @property {{ keyPath: string, entry: unknown }[]} sites  Entries of `static`.
 * @property {Record<string, unknown> | null} deploy
 * @property {string[]} unknown  Key paths.
 * @property {string[]} warnings
 * @property {Fault[]} faults
 */

/** The key under which a JSON file names its JSON Schema. */
export const FOR_EDITORS = '$schema';

const SHAPES = 'an app, a list of apps, or an object with a list "apps"';

/**
 * @param {unknown} value  The content of the file, or its export.
 * @param {string} [keyPath]
 * @returns {Shape}
 */
export function readShape(value, keyPath = '') {
  if (Array.isArray(value)) return shape({ apps: listed(value, keyPath) });
  if (!isRecord(value)) return shape({ faults: [createFault(keyPath, describeFound(value), SHAPES)] });
  if (!TOP_LEVEL.some((key) => key in value))
    return isApp(value)
      ? shape({ apps: [{ keyPath, entry: value }] })
      : shape({ faults: [createFault(keyPath, 'contains no apps', SHAPES)] });
  const inner = ['nclust', 'pm2'].find((key) => value[key] !== undefined);
  if (inner) return readShape(value[inner], joinKeyPath(keyPath, inner));
  const { apps, static: sites, deploy, notify, ...others } = value;
  const own = Object.keys(others).filter((key) => key.startsWith(ENVIRONMENT_PREFIX) || findAttribute(key) !== null);
  return shape({
    apps: listed(apps, joinKeyPath(keyPath, 'apps')).map(withDefault({ notify })),
    sites: listed(sites, joinKeyPath(keyPath, 'static')).map(withDefault({ notify })),
    deploy: isRecord(deploy) ? deploy : null,
    unknown: Object.keys(others)
      .filter((key) => key !== FOR_EDITORS && !own.includes(key))
      .map((key) => joinKeyPath(keyPath, key)),
    warnings: [
      ...own.map((key) => `"${joinKeyPath(keyPath, key)}" has no effect beside "apps": write it into each app.`),
      ...(isUnset(deploy) || isRecord(deploy)
        ? []
        : [
            `${createFault(joinKeyPath(keyPath, 'deploy'), describeFound(deploy), 'an object').message} It is ignored.`,
          ]),
    ],
  });
}

/**
 * @param {string} keyPath
 * @param {string} key
 */
export function joinKeyPath(keyPath, key) {
  return keyPath === '' ? key : `${keyPath}.${key}`;
}

/** @param {unknown} value */
export function describeFound(value) {
  return value === undefined || value === null ? 'is empty' : `is ${JSON.stringify(value)?.slice(0, 80)}`;
}

/**
 * @param {Record<string, unknown>} defaults  For every app of the file.
 * @returns {(place: Shape['apps'][number]) => Shape['apps'][number]}
 */
function withDefault(defaults) {
  return ({ keyPath, entry }) => ({ keyPath, entry: isRecord(entry) ? { ...defaults, ...entry } : entry });
}

/**
 * @param {Partial<Shape>} given
 * @returns {Shape}
 */
function shape(given) {
  return { apps: [], sites: [], deploy: null, unknown: [], warnings: [], faults: [], ...given };
}

/**
 * Leaves out what is not set, as in `apps: [isProduction && { ... }]`.
 * @param {unknown} value  An entry, or a list of them.
 * @param {string} keyPath
 */
function listed(value, keyPath) {
  const entries = Array.isArray(value)
    ? value.map((entry, at) => ({ keyPath: `${keyPath}[${at}]`, entry }))
    : [{ keyPath, entry: value }];
  return entries.filter(({ entry }) => !isUnset(entry));
}

/** @param {Record<string, unknown>} value */
function isApp(value) {
  return Object.keys(value).some((key) => findAttribute(key)?.name === 'script' || key === 'name');
}
