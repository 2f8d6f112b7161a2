// Knows: the names of config files, and where to find them; the subfolders read the files.
// Must not: run in control, because a config file may contain code of the user.
// Start at: findConfig(), then file/read.js, app-spec/table.js and spec/build.js.
import { basename, join } from 'node:path';
import { isFile, readIfThere, tryTo } from '../shared/daemon/files.js';
import { NclustError } from '../shared/errors.js';

const ENDINGS = ['js', 'cjs', 'mjs', 'ts', 'mts', 'cts', 'json', 'json5', 'yaml', 'yml'];

/** In the order in which findConfig() looks for them. */
export const CONFIG_NAMES = [
  ...ENDINGS.map((ending) => `nclust.config.${ending}`),
  ...ENDINGS.map((ending) => `ecosystem.config.${ending}`),
  ...['json', 'json5', 'yaml', 'yml'].map((ending) => `ecosystem.${ending}`),
];

/** Keys of package.json that hold a config. */
export const PACKAGE_KEYS = ['nclust', 'pm2'];

/**
 * Only the end of the name counts: "app.json.js" is a script.
 * @param {string} path
 */
export function isConfigName(path) {
  return /\.config\.[cm]?[jt]s$|\.(json|json5|jsonc|ya?ml)$/.test(basename(path));
}

/**
 * @param {string} folder
 * @returns {string | null}
 */
export function findConfig(folder) {
  const name = CONFIG_NAMES.find((one) => isFile(join(folder, one)));
  if (name) return join(folder, name);
  return hasPackageKey(join(folder, 'package.json')) ? join(folder, 'package.json') : null;
}

/** @param {string} folder */
export function noConfigError(folder) {
  return new NclustError('ERR_NCLUST_CONFIG_NOT_FOUND', `There is no config file in "${folder}".`, {
    hint: 'Name it ecosystem.config.js or nclust.config.js (or .json, .yaml), or write one with: nclust init',
  });
}

/** @param {string} file */
function hasPackageKey(file) {
  // If package.json is invalid, npm reports it.
  const content = tryTo(() => Object(JSON.parse(readIfThere(file))), {});
  return PACKAGE_KEYS.some((key) => content[key] !== undefined);
}
