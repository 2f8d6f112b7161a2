import { findAttribute, leaveOutUnset, OPTIONS_OF } from '../app-spec/table.js';
import { specFields } from '../config/options/options.js';
import { variablesOf } from '../config/spec/build.js';
import { specChange } from '../config/spec/change.js';

/** @import { AppSpec } from '../app-spec/types.js' */
/** @import { Client } from '../client/client.js' */
/** @import { Surroundings } from '../config/spec/build.js' */
/** @import { SlotStatus } from '../shared/wire/protocol.js' */

/** Settings whose new value depends on other settings of the app. */
const OF_ONE = ['env', 'cwd', 'interpreter', 'interpreterArgs', 'nodeArgs', 'uid', 'gid'];

/**
 * Turns settings into parameters of the requests "restart" and "reload".
 * @param {Pick<Client, 'request'>} client
 * @param {string[]} targets
 * @param {Record<string, any>} read  By key. `env` is added to the variables of the app.
 * @param {Surroundings} surroundings
 * @returns {Promise<{ spec?: Partial<AppSpec>, specs?: Record<string, Partial<AppSpec>> }>}  specs:
 *   by name. Throws ERR_NCLUST_USAGE, and like buildSpec().
 */
export async function changesOf(client, targets, { args = [], ...options }, surroundings) {
  const { env, ...others } = options;
  const spec = specFields(others);
  const common = Object.keys(spec).length > 0 ? { spec } : {};
  if (args.length === 0 && OF_ONE.every((key) => options[key] === undefined)) return common;
  /** @type {{ slots: SlotStatus[] }} */
  const { slots } = await client.request('list', { targets, detail: true });
  const apps = new Map(slots.map((slot) => [slot.name, /** @type {AppSpec} */ (slot.spec)]));
  const specs = [...apps].map(([name, old]) => [
    name,
    { ...specChange(old, others, args, surroundings), ...(env === undefined ? {} : added(old, env)) },
  ]);
  return { ...common, specs: Object.fromEntries(specs) };
}

/** The first attributes have no option. */
const CHANGEABLE = new Set(['args', 'env', 'secrets', 'watchOptions', ...OPTIONS_OF.reload.map(({ key }) => key)]);

/**
 * @param {Record<string, unknown>} settings
 * @param {(sentence: string) => void} onWarning
 * @returns {Record<string, any>}  By key.
 */
export function readSettings(settings, onWarning) {
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
