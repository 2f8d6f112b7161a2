import { NclustError } from '../../shared/errors.js';
import { ENVIRONMENT_OPTIONS } from './environment.js';
import { FILE_OPTIONS, UNNEEDED_OPTIONS } from './file-only.js';
import { LOG_OPTIONS } from './logs.js';
import { PROGRAM_OPTIONS } from './program.js';
import { ADDING_OPTIONS, RESTART_TRIGGER_OPTIONS, TRIGGER_OPTIONS } from './triggers.js';

/** @import { AppSpec } from '../../shared/spec/spec.js' */

/**
 * A setting of an app: an option of `start`, an attribute of a config file, or both.
 * @typedef {object} StartOption
 * @property {string} [flags]  In the syntax of commander. Missing: `start` does not have this
 *   option.
 * @property {string} key  The key of the value in the options of commander.
 * @property {boolean} [isRepeatable]  The value is a list.
 * @property {string} [name]  The attribute, as in PM2. A file may also use camelCase. Missing: a
 *   config file does not have this attribute.
 * @property {string[]} [aliases]
 * @property {string} help
 * @property {string} [meaning]  Describes the attribute, if `help` fits only the option.
 * @property {string} [default]  In words.
 * @property {string} [unit]  The unit of a number without a unit.
 * @property {string} [accepted]
 * @property {Record<string, unknown>} [schema]  JSON Schema, for editors.
 * @property {string} [empty]  The value that '' stands for in a config file. Default: not set.
 * @property {string} [note]  Why nclust accepts the setting but ignores it.
 * @property {keyof AppSpec} [field]  The field of the spec. Missing: build.js combines the value
 *   with other values.
 * @property {(value: any, where: string) => unknown} read  See readers.js.
 */

/** @type {StartOption[]} */
export const START_OPTIONS = [
  ...FILE_OPTIONS,
  ...PROGRAM_OPTIONS,
  ...ENVIRONMENT_OPTIONS,
  ...LOG_OPTIONS,
  ...TRIGGER_OPTIONS,
  ...ADDING_OPTIONS,
  ...UNNEEDED_OPTIONS,
];

/** Keys of options that can change an app that is already in the list. */
const CHANGEABLE = [
  'name',
  'cwd',
  'interpreter',
  'interpreterArgs',
  'nodeArgs',
  'scheduling',
  'maxSurge',
  'maxUnavailable',
  'rollbackWindow',
  'metrics',
  'uid',
  'gid',
];

/**
 * Keys of options that do not change the program: most are about restart, stop and readiness. These
 * options can also change an app that is already in the list.
 */
const RULES = [
  'namespace',
  'autorestart',
  'maxRestarts',
  'restartDelay',
  'expBackoffRestartDelay',
  'minUptime',
  'stopExitCodes',
  'killTimeout',
  'stopSignal',
  'treekill',
  'waitReady',
  'listenTimeout',
  'shutdownWithMessage',
  'vizion',
];

const RULE_OPTIONS = START_OPTIONS.filter(({ key }) => RULES.includes(key));

const CHANGEABLE_OPTIONS = START_OPTIONS.filter(({ key }) => CHANGEABLE.includes(key));

/** @type {StartOption[]} */
export const RELOAD_OPTIONS = [
  ...CHANGEABLE_OPTIONS,
  ...RULE_OPTIONS,
  ...ENVIRONMENT_OPTIONS,
  ...LOG_OPTIONS,
  ...TRIGGER_OPTIONS,
];

/** @type {StartOption[]} */
const RESTART_OPTIONS = [
  ...CHANGEABLE_OPTIONS,
  ...RULE_OPTIONS,
  ...ENVIRONMENT_OPTIONS,
  ...LOG_OPTIONS,
  ...RESTART_TRIGGER_OPTIONS,
];

/** @type {Record<'start' | 'reload' | 'restart' | 'none', StartOption[]>} */
export const OPTIONS_OF = { start: START_OPTIONS, reload: RELOAD_OPTIONS, restart: RESTART_OPTIONS, none: [] };

/**
 * @param {Record<string, unknown>} given  From commander.
 * @returns {Record<string, any>}  By key. Contains only given options. Throws ERR_NCLUST_USAGE.
 */
export function readStartOptions(given) {
  return readOptions(START_OPTIONS, given);
}

/**
 * @param {Record<string, unknown>} given
 * @returns {Record<string, any>}
 */
export function readReloadOptions(given) {
  return readOptions(RELOAD_OPTIONS, given);
}

/**
 * @param {Record<string, unknown>} given
 * @returns {Record<string, any>}
 */
export function readRestartOptions(given) {
  return readOptions(RESTART_OPTIONS, given);
}

/**
 * Variables of PM2 for all apps, with the key of the option for one app.
 * @type {Record<string, string>}
 */
const OF_PM2 = {
  PM2_KILL_SIGNAL: 'stopSignal',
  PM2_KILL_TIMEOUT: 'killTimeout',
  PM2_KILL_USE_MESSAGE: 'shutdownWithMessage',
  PM2_GRACEFUL_LISTEN_TIMEOUT: 'listenTimeout',
  PM2_PROCESS_INSTANCE_VAR: 'instanceVar',
};

/**
 * @param {Record<string, string | undefined>} env
 * @returns {{ defaults: Record<string, any>, warnings: string[] }}  `defaults`: by key. A variable
 *   with a bad value leads to a warning, because it must not keep every app from starting.
 */
export function readPm2Variables(env) {
  /** @type {Record<string, any>} */
  const defaults = {};
  /** @type {string[]} */
  const warnings = [];
  for (const [variable, key] of Object.entries(OF_PM2)) {
    const value = env[variable];
    if (!value) continue;
    try {
      // As in PM2, any text turns a switch on.
      if (key === 'shutdownWithMessage') defaults[key] = value !== 'false' && value !== '0';
      else defaults[key] = START_OPTIONS.find((option) => option.key === key)?.read(value, variable);
    } catch (error) {
      if (!(error instanceof NclustError)) throw error;
      warnings.push(`${error.message} It is ignored.`);
    }
  }
  return { defaults, warnings };
}

/**
 * @param {Record<string, any>} options
 * @returns {Partial<AppSpec>}
 */
export function specFields(options) {
  const given = START_OPTIONS.filter(({ key, field }) => field && options[key] !== undefined);
  const fields = given.map(({ key, field }) => [field, options[key]]);
  // If two options set one field, null ("time: false") does not override a value.
  return Object.fromEntries([...fields].sort(([, a], [, b]) => Number(b === null) - Number(a === null)));
}

/**
 * @param {StartOption[]} table
 * @param {Record<string, unknown>} given
 * @returns {Record<string, any>}
 */
function readOptions(table, given) {
  // Leaves out a --no- option whose key is true, because commander sets the key to true if the
  // option is absent.
  const present = table.filter(
    ({ key, flags }) => flags && given[key] !== undefined && !(flags.startsWith('--no-') && given[key] === true),
  );
  return Object.fromEntries(
    present.map(({ key, flags, read }) => [key, read(given[key], longFlag(/** @type {string} */ (flags)))]),
  );
}

/**
 * In `--stop-exit-codes 0 app.js`, commander gives the script to the option too. `rest` begins at
 * the first word that is not an exit code.
 * @param {string[]} words
 * @returns {{ codes: string[], rest: string[] }}
 */
export function separateExitCodes(words) {
  const end = words.findIndex((word) => !/^[\d,\s]+$/.test(word));
  return end === -1 ? { codes: words, rest: [] } : { codes: words.slice(0, end), rest: words.slice(end) };
}

/**
 * In `start --watch app.js`, commander gives the script to the option. This function makes the
 * script the target again.
 * @template {unknown} Watch
 * @param {string[]} targets
 * @param {Watch} watch  From commander.
 * @param {(path: string) => boolean} isFile
 * @returns {{ targets: string[], watch: Watch | string[] | true }}
 */
export function separateWatched(targets, watch, isFile) {
  const last = Array.isArray(watch) ? watch.at(-1) : undefined;
  if (targets.length > 0 || last === undefined || !isFile(last)) return { targets, watch };
  const others = /** @type {string[]} */ (/** @type {unknown} */ (watch)).slice(0, -1);
  return { targets: [last], watch: others.length > 0 ? others : true };
}

/** @param {string} flags */
function longFlag(flags) {
  return /** @type {string} */ (/--[a-z-]+/.exec(flags)?.[0]);
}
