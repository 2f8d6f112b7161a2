import { readConfig, readNames } from '../config/file/read.js';
import { isConfigName } from '../config/find.js';
import { withVersioning } from '../config/spec/git.js';

/** @typedef {import('../config/config-types.js').ConfigExport} ConfigExport */

/**
 * Which part of a config is meant.
 * @typedef {object} Choice
 * @property {string} [env]  Whose `env_<name>` counts.
 * @property {string|string[]} [only]  Names of apps. Default: all.
 */

/**
 * Whether this is a config, in words or by the path of its file; anything else names apps.
 * @param {unknown} what
 * @returns {boolean}
 */
export function isConfig(what) {
  if (typeof what === 'string') return isConfigName(what);
  if (Array.isArray(what)) return what.some((one) => typeof one === 'object' && one !== null);
  return typeof what === 'object' && what !== null;
}

/**
 * @param {unknown} what  A path, or what a config file would hold.
 * @param {Choice} choice
 * @returns {ReturnType<typeof readConfig>}
 */
export async function readGiven(what, choice) {
  const config = await readConfig(wanted(what, choice));
  return { ...config, specs: await withVersioning(config.specs) };
}

/**
 * @param {unknown} what
 * @param {Choice} choice
 * @returns {Promise<string[]>}  The names of its apps.
 */
export async function namesGiven(what, choice) {
  return (await readNames(wanted(what, choice))).names;
}

/**
 * @param {unknown} what
 * @param {Choice} choice
 * @returns {import('../config/file/read.js').Wanted}
 */
function wanted(what, { env = undefined, only = undefined }) {
  return {
    ...(typeof what === 'string' ? { file: what } : { value: what }),
    env: env ?? null,
    only: only === undefined ? null : [only].flat().join(','),
    cwd: process.cwd(),
    shell: process.env,
    node: { file: process.execPath, version: process.version },
  };
}
