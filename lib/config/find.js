// Knows: config files: their names and where they are found; the folders below read them.
// Must not: run in control: the code of a user runs for a command.
// Start at: findConfig(), then file/read.js, options/schema.js and spec/build.js.
import { readFileSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { NclustError } from '../shared/errors.js';

const ENDINGS = ['js', 'cjs', 'mjs', 'ts', 'mts', 'cts', 'json', 'json5', 'yaml', 'yml'];

/** In the order in which they are looked for. */
export const CONFIG_NAMES = [
  ...ENDINGS.map((ending) => `nclust.config.${ending}`),
  ...ENDINGS.map((ending) => `ecosystem.config.${ending}`),
  ...['json', 'json5', 'yaml', 'yml'].map((ending) => `ecosystem.${ending}`),
];

/** Keys of package.json that hold a config. */
export const PACKAGE_KEYS = ['nclust', 'pm2'];

/**
 * Whether a path is meant as a config file: by how its name ends, so that a script called
 * "app.json.js" is a script.
 * @param {string} path
 */
export function isConfigName(path) {
  return /\.config\.[cm]?[jt]s$|\.(json|json5|jsonc|ya?ml)$/.test(basename(path));
}

/**
 * @param {string} folder
 * @returns {string | null}  Absolute.
 */
export function findConfig(folder) {
  const name = CONFIG_NAMES.find((one) => isFile(join(folder, one)));
  if (name) return join(folder, name);
  return hasPackageKey(join(folder, 'package.json')) ? join(folder, 'package.json') : null;
}

/** @param {string} folder */
export function noConfigError(folder) {
  return new NclustError('ERR_NCLUST_CONFIG_NOT_FOUND', `There is no config file in "${folder}".`, {
    hint: 'It is called ecosystem.config.js or nclust.config.js, .json or .yaml; write one with: nclust init',
  });
}

/** @param {string} file */
export function isFile(file) {
  try {
    return statSync(file).isFile();
  } catch {
    return false; // Missing or out of reach: it is not to be had.
  }
}

/** @param {string} file */
function hasPackageKey(file) {
  try {
    const content = JSON.parse(readFileSync(file, 'utf8'));
    return PACKAGE_KEYS.some((key) => content[key] !== undefined);
  } catch {
    return false; // No package.json, or one that npm will complain about.
  }
}
