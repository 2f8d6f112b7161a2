// Knows: the one table of an app's settings: names, flags, readers, defaults, help. Must not: read
// a file, or know of commands. Start at: options.js, then program.js for its rows; findAttribute()
// is for config files.
import { START_OPTIONS } from './options.js';

/** @import { StartOption } from './options.js' */

/**
 * @typedef {StartOption & { name: string }} Attribute  A row of the table from which validation,
 *   the options of the command line, their help, docs/config.md, the types and the JSON Schema all
 *   come.
 */

/** In the order of the documentation. */
export const ATTRIBUTES = /** @type {Attribute[]} */ (START_OPTIONS.filter(({ name }) => name !== undefined));

/** `env_<name>`: the variables of an environment that `--env <name>` selects. */
export const ENVIRONMENT_PREFIX = 'env_';

/** Keys of a file beside an app or a list of apps. */
export const TOP_LEVEL = ['apps', 'static', 'deploy', 'pm2', 'nclust'];

/** @type {Map<string, Attribute> | null} */
let byWord = null;

/** @param {string} word  Name or alias, in snake_case or camelCase. */
export function findAttribute(word) {
  byWord ??= new Map(ATTRIBUTES.flatMap((row) => wordsFor(row).map((one) => [one, row])));
  return byWord.get(word) ?? null;
}

/**
 * @param {Attribute} row
 * @returns {string[]}  All its names, the main one first.
 */
export function wordsFor({ name, aliases = [] }) {
  return [...new Set([name, ...aliases].flatMap((word) => [word, camelCase(word), snakeCase(word)]))];
}

/** @param {string} word */
function camelCase(word) {
  return word.replace(/_([a-z0-9])/g, (_, letter) => letter.toUpperCase());
}

/** @param {string} word */
function snakeCase(word) {
  return word.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
