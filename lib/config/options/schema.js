// Knows: the one table of the settings of an app: names, flags, readers, defaults, help.
// Must not: read a file, or know commands.
// Start at: options.js, then program.js for its rows; findAttribute() is for config files.
import { START_OPTIONS } from './options.js';
import { isUnset, KINDS } from './readers.js';

/** @import { StartOption } from './options.js' */

/**
 * A row of the table. Validation, options, help, docs/config.md, types and JSON Schema use it.
 * @typedef {StartOption & { name: string }} Attribute
 */

/** In the order of the documentation. */
export const ATTRIBUTES = /** @type {Attribute[]} */ (START_OPTIONS.filter(({ name }) => name !== undefined));

/** `env_<name>` contains the variables of the environment that `--env <name>` chooses. */
export const ENVIRONMENT_PREFIX = 'env_';

/** Top-level keys of a config file, unless the file itself is an app or a list of apps. */
export const TOP_LEVEL = ['apps', 'static', 'deploy', 'pm2', 'nclust'];

/** @type {Map<string, Attribute> | null} */
let byWord = null;

/** @param {string} word  Name or alias, in snake_case or camelCase. */
export function findAttribute(word) {
  byWord ??= new Map(ATTRIBUTES.flatMap((row) => listSpellings(row).map((one) => [one, row])));
  return byWord.get(word) ?? null;
}

/**
 * @param {Attribute} row
 * @returns {string[]}  All accepted names, the main one first.
 */
export function listSpellings({ name, aliases = [] }) {
  return [...new Set([name, ...aliases].flatMap((word) => [word, camelCase(word), snakeCase(word)]))];
}

/**
 * @param {Attribute} row
 * @param {'array' | 'boolean'} type
 */
export function takes({ schema = {} }, type) {
  return [schema.type].flat().includes(type);
}

/**
 * Leaves out of a list what is not set, as in `watch: ['src', isDev && 'test']`.
 * @param {Attribute} row
 * @param {unknown} value
 * @returns {unknown}
 */
export function leaveOutUnset(row, value) {
  if (!Array.isArray(value) || !takes(row, 'array')) return value;
  // An argument may be empty, or the word "false".
  const isWords = row.read === KINDS.words.read;
  return value.filter((one) => (isWords ? one !== undefined && one !== null : !isUnset(one)));
}

/** @param {string} word */
function camelCase(word) {
  return word.replace(/_([a-z0-9])/g, (_, letter) => letter.toUpperCase());
}

/** @param {string} word */
function snakeCase(word) {
  return word.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
