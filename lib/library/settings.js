import { findAttribute, leaveOutUnset, OPTIONS_OF } from '../app-spec/table.js';
import { specFields } from '../config/options/options.js';
import { variablesOf } from '../config/spec/build.js';
import { specChange } from '../config/spec/change.js';

/** @import { AppSpec } from '../app-spec/types.js' */
/** @import { SlotStatus } from '../shared/wire/protocol.js' */

/** The first attributes have no option. */
const CHANGEABLE = new Set(['args', 'env', 'secrets', 'watchOptions', ...OPTIONS_OF.reload.map(({ key }) => key)]);

/**
 * Turns attributes of a config file into parameters of the requests "restart" and "reload".
 * @param {Record<string, unknown>} settings  `env` is added to the variables of the app.
 * @param {SlotStatus[]} slots  With details.
 * @param {{ cwd: string, onWarning: (sentence: string) => void }} o
 * @returns {{ spec?: Partial<AppSpec>, specs?: Record<string, Partial<AppSpec>> }}  specs: by name.
 *   Throws ERR_NCLUST_USAGE, and like buildSpec().
 */
export function changesBySettings(settings, slots, { cwd, onWarning }) {
  const read = readSettings(settings, onWarning);
  const { args = [], env, ...options } = read;
  const spec = specFields(options);
  const surroundings = { cwd, env: process.env, node: { file: process.execPath, version: process.version } };
  const specs = slots.map(({ name, spec: given }) => {
    const old = /** @type {AppSpec} */ (given);
    return [name, { ...specChange(old, options, args, surroundings), ...(env === undefined ? {} : added(old, env)) }];
  });
  return { ...(Object.keys(spec).length > 0 ? { spec } : {}), specs: Object.fromEntries(specs) };
}

/**
 * @param {Record<string, unknown>} settings
 * @param {(sentence: string) => void} onWarning
 * @returns {Record<string, any>}  By key.
 */
function readSettings(settings, onWarning) {
  /** @type {Record<string, any>} */
  const read = {};
  for (const [word, given] of Object.entries(settings)) {
    const row = findAttribute(word);
    const value = row ? leaveOutUnset(row, given) : given;
    if (value === undefined || value === null) continue;
    if (row && CHANGEABLE.has(row.key)) read[row.key] = row.read(value, word);
    else onWarning(`"${word}" is ignored, because a restart or reload does not change it.`);
  }
  return read;
}

/**
 * @param {AppSpec} old
 * @param {Record<string, unknown>} more
 * @returns {Partial<AppSpec>}
 */
function added(old, more) {
  const { env, envUnquoted } = variablesOf({ env: more });
  return {
    env: { ...old.env, ...env },
    envUnquoted: [...old.envUnquoted.filter((key) => !Object.hasOwn(env, key)), ...envUnquoted],
  };
}
