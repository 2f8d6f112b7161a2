import { longFlag, OPTIONS_OF, SETTINGS } from '../../app-spec/table.js';
import { NclustError } from '../../shared/errors.js';

/** @import { AppSpec } from '../../app-spec/types.js' */

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
      else defaults[key] = SETTINGS.find((row) => row.key === key)?.read(value, variable);
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
  const given = SETTINGS.filter(({ key, field, isBuilt }) => field && !isBuilt && options[key] !== undefined);
  const fields = given.map(({ key, field }) => [field, options[key]]);
  // If two options set one field, null ("time: false") does not override a value.
  return Object.fromEntries([...fields].sort(([, a], [, b]) => Number(b === null) - Number(a === null)));
}

/**
 * @param {'start' | 'reload' | 'restart'} command
 * @param {Record<string, unknown>} given  From commander.
 * @returns {Record<string, any>}  By key. Contains only given options. Throws ERR_NCLUST_USAGE.
 */
export function readOptions(command, given) {
  // Leaves out a --no- option whose key is true, because commander sets the key to true if the
  // option is absent.
  const present = OPTIONS_OF[command].filter(
    ({ key, flags = '' }) => given[key] !== undefined && !(flags.startsWith('--no-') && given[key] === true),
  );
  return Object.fromEntries(present.map(({ key, flags = '', read }) => [key, read(given[key], longFlag(flags))]));
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
