// Knows: the one table of what an app can be told: names, flags, readers, defaults, help.
// Must not: read a file, or know of commands.
// Start at: options.js, then program.js for its rows; findAttribute() is for config files.
import { START_OPTIONS } from './options.js';

/** @import { StartOption } from './options.js' */

/**
 * A row of the one table behind what a config file may say: validation, the options of the command
 * line, their help, docs/config.md, the types and the JSON Schema all come from it.
 * @typedef {StartOption & { name: string }} Attribute
 */

/** In the order of the documentation. */
export const ATTRIBUTES = /** @type {Attribute[]} */ (START_OPTIONS.filter(({ name }) => name !== undefined));

/**
 * What else may stand beside them: `env_<name>`, the variables of an environment that
 * `--env <name>` chooses.
 */
export const ENVIRONMENT_PREFIX = 'env_';

/** What a file may hold beside an app or a list of them. */
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
 * @returns {string[]}  Everything it may be called, its name first.
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
