import { NclustError } from '../errors.js';
import { INSTANCES_FORMS } from '../host/cpus.js';
import { areVariables, ENVIRONMENT_RULES, isVariableName } from './environment.js';
import { LOG_RULES, resolveLogPaths } from './logs.js';
import { TRIGGER_RULES } from './triggers.js';
import { flag, isFilled, isText, isWhole, oneOf, nullable, texts, whole } from './rules.js';
import { VERSIONING_RULES } from './versioning.js';

/** @import { EnvironmentSpec } from './environment.js' */
/** @import { VersioningSpec } from './versioning.js' */
/** @import { LogSpec } from './logs.js' */
/** @import { Rule } from './rules.js' */
/** @import { TriggerSpec } from './triggers.js' */

/** @typedef {ProgramSpec & EnvironmentSpec & LogSpec & TriggerSpec & VersioningSpec} AppSpec */

/**
 * @typedef {object} ProgramSpec
 * @property {string} name
 * @property {string} namespace
 * @property {'node' | 'exec'} kind  node: the agent is preloaded. exec: any other program.
 * @property {'cluster' | 'fork'} mode  cluster only for kind node.
 * @property {number | string} instances  Integer from 1, "max", 0 (= max), "-N" or "N%".
 * @property {boolean} instancesGiven
 * @property {string} file  Absolute path of the program that is executed.
 * @property {string} script  Absolute path, or the shell command as the user wrote it.
 * @property {string} interpreter  Absolute path or "none".
 * @property {string | null} interpreterGiven  Null: nclust chose the interpreter.
 * @property {string[]} interpreterArgs
 * @property {string[]} args
 * @property {string[]} execArgs  The actual arguments of `file`, for kind exec.
 * @property {string} cwd
 * @property {Record<string, string>} env  Declared by the user. Overrides `shellEnv`.
 * @property {Record<string, string>} shellEnv
 * @property {number | null} uid
 * @property {number | null} gid
 * @property {string} user
 * @property {boolean} autorestart
 * @property {number} maxRestarts  Unstable exits within 10 minutes.
 * @property {number} restartDelayMs
 * @property {number | null} backoffMs  First delay. It doubles up to 15 s. Null: 100 ms, or no
 *   delay with restartDelayMs.
 * @property {number} minUptimeMs
 * @property {number[]} stopExitCodes
 * @property {number} killTimeoutMs
 * @property {string | null} stopSignal  Null: SIGTERM if the app handles SIGTERM, else SIGINT.
 * @property {boolean} waitReady
 * @property {number} listenTimeoutMs
 * @property {boolean} treekill
 * @property {string} instanceVar
 * @property {string} version
 * @property {string | null} nodeVersion
 * @property {'least-connections' | 'sticky' | 'os'} scheduling
 * @property {number} maxSurge  New instances that a reload starts beside the serving ones.
 * @property {number} maxUnavailable  Instances that a reload may stop before new ones are up.
 * @property {number} rollbackWindowMs  A reload keeps the old instances parked for this time.
 * @property {boolean} metrics  Whether the agent counts requests and samples the event loop.
 * @property {boolean} shutdownWithMessage  The message 'shutdown', and not a signal, ends the app.
 */

/** @type {{ [K in keyof AppSpec]: Rule }} */
export const SPEC_RULES = {
  name: { accepts: isName, accepted: 'a text of 1 to 100 characters on one line, and not "all"' },
  namespace: {
    accepts: isName,
    accepted: 'a text of 1 to 100 characters on one line, and not "all"',
    fallback: 'default',
  },
  kind: oneOf(['node', 'exec']),
  mode: oneOf(['cluster', 'fork'], 'fork'),
  instances: { accepts: isInstances, accepted: INSTANCES_FORMS, fallback: 1 },
  instancesGiven: flag(false),
  file: { accepts: isAbsolute, accepted: 'an absolute path' },
  script: { accepts: isFilled, accepted: 'a path or a shell command' },
  interpreter: {
    accepts: (value) => value === 'none' || isAbsolute(value),
    accepted: 'an absolute path or "none"',
    fallback: 'none',
  },
  interpreterGiven: {
    accepts: (value) => value === null || isFilled(value),
    accepted: 'a text or null',
    fallback: null,
  },
  interpreterArgs: texts(),
  args: texts(),
  execArgs: texts(),
  cwd: { accepts: isAbsolute, accepted: 'an absolute path' },
  env: { accepts: areVariables, accepted: 'an object of texts whose keys do not contain "="', fallback: {} },
  shellEnv: { accepts: areVariables, accepted: 'an object of texts whose keys do not contain "="', fallback: {} },
  uid: { accepts: isIdOrNull, accepted: 'a user id, a whole number from 0, or null', fallback: null },
  gid: { accepts: isIdOrNull, accepted: 'a group id, a whole number from 0, or null', fallback: null },
  user: { accepts: isText, accepted: 'a text', fallback: '' },
  autorestart: flag(true),
  maxRestarts: whole(16),
  restartDelayMs: whole(0),
  backoffMs: nullable(whole(0), 'the default'),
  minUptimeMs: whole(1_000),
  stopExitCodes: { accepts: isExitCodes, accepted: 'a list of exit codes from 0 to 255', fallback: [] },
  killTimeoutMs: whole(10_000),
  stopSignal: {
    accepts: (value) => value === null || (typeof value === 'string' && /^SIG[A-Z0-9]+$/.test(value)),
    accepted: 'a signal name such as "SIGTERM", or null',
    fallback: null,
  },
  waitReady: flag(false),
  listenTimeoutMs: whole(10_000),
  treekill: flag(true),
  instanceVar: { accepts: isVariableName, accepted: 'the name of a variable', fallback: 'NODE_APP_INSTANCE' },
  version: { accepts: isText, accepted: 'a text', fallback: 'N/A' },
  nodeVersion: { accepts: (value) => value === null || isText(value), accepted: 'a text or null', fallback: null },
  scheduling: oneOf(['least-connections', 'sticky', 'os'], 'least-connections'),
  maxSurge: whole(1),
  maxUnavailable: whole(0),
  rollbackWindowMs: whole(0),
  shutdownWithMessage: flag(false),
  metrics: flag(true),
  ...ENVIRONMENT_RULES,
  ...LOG_RULES,
  ...TRIGGER_RULES,
  ...VERSIONING_RULES,
};

/**
 * Adds defaults, and drops fields that this version does not know. Throws ERR_NCLUST_BAD_SPEC.
 * @param {unknown} value
 * @param {string} [keyPath]
 * @returns {AppSpec}
 */
export function checkSpec(value, keyPath = 'spec') {
  const given = checkObject(value, keyPath);
  const spec = Object.fromEntries(
    Object.entries(SPEC_RULES).map(([key, rule]) => [key, checkField(given, key, rule, keyPath)]),
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
  const known = Object.entries(SPEC_RULES).filter(([key]) => given[key] !== undefined);
  return Object.fromEntries(known.map(([key, rule]) => [key, checkField(given, key, rule, keyPath)]));
}

/**
 * Adds the defaults of new fields to a spec of an earlier version.
 * @param {Partial<AppSpec>} spec
 */
export function completeSpec(spec) {
  const missing = Object.entries(SPEC_RULES).filter(([key, { fallback }]) => !(key in spec) && fallback !== undefined);
  return /** @type {AppSpec} */ ({
    ...spec,
    ...Object.fromEntries(missing.map(([key, { fallback }]) => [key, fallback])),
  });
}

/**
 * Fields that this version does not know. A downgrade keeps these fields for the next upgrade.
 * @param {AppSpec} spec
 * @returns {Partial<AppSpec>}
 */
export function laterFields(spec) {
  return Object.fromEntries(Object.entries(spec).filter(([key]) => !Object.hasOwn(SPEC_RULES, key)));
}

/**
 * @param {unknown} value
 * @param {string} keyPath
 */
function checkObject(value, keyPath) {
  if (typeof value === 'object' && value !== null && !Array.isArray(value))
    return /** @type {Record<string, unknown>} */ (value);
  throw badSpec(keyPath, value, 'an object');
}

/** Errors do not quote these fields, because people put passwords there. */
const PRIVATE = new Set(['env', 'shellEnv', 'secrets', 'args', 'execArgs']);

/**
 * @param {Record<string, unknown>} given
 * @param {string} key
 * @param {Rule} rule
 * @param {string} keyPath
 */
function checkField(given, key, rule, keyPath) {
  const value = given[key];
  if (value === undefined && rule.fallback !== undefined) return structuredClone(rule.fallback);
  if (rule.accepts(value)) return value;
  throw badSpec(`${keyPath}.${key}`, value, rule.accepted, PRIVATE.has(key));
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

/** @param {unknown} value */
function isAbsolute(value) {
  return isText(value) && value.startsWith('/');
}

/** @param {unknown} value */
function isName(value) {
  return isFilled(value) && value.length <= 100 && !/[\u0000-\u001f\u007f]/.test(value) && value !== 'all';
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
function isIdOrNull(value) {
  return value === null || (isWhole(value) && value <= 0xffff_fffe);
}

/** @param {unknown} value */
function isExitCodes(value) {
  return Array.isArray(value) && value.every((code) => isWhole(code) && code <= 255);
}
