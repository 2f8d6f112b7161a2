import { badConfig } from '../faults.js';
import { specOfEntry } from '../spec/of-entry.js';
import { describeConfig } from './describe-config.js';

/** @typedef {import('../../shared/spec/spec.js').AppSpec} AppSpec */

/**
 * What is read, and in which surroundings.
 * @typedef {object} Wanted
 * @property {string|null} [file]  A path, or "-" for stdin. Default: the config file in `cwd`.
 * @property {unknown} [value]  In place of a file, what it would hold.
 * @property {string|null} [env]  Whose `env_<name>` counts.
 * @property {string|null} [only]  Names of apps, with commas or spaces between them. Default: all.
 * @property {string} cwd  Of the shell.
 * @property {Record<string, string|undefined>} shell  Its variables: `process.env`, because a config that is a program may add to it.
 * @property {{file: string, version: string}} node  The Node.js that runs this command.
 * @property {() => Promise<string>} [stdin]  Default: that of this process.
 * @property {(sentence: string) => void} [talk]  Hears that a config which is a program takes long. Default: nobody.
 * @property {Record<string, any>} [options]  By key: what the command line says about every app of the file.
 */

/**
 * @typedef {object} Config
 * @property {string|null} file  Null: stdin, or an object.
 * @property {AppSpec[]} specs
 * @property {string[]} warnings  Sentences.
 * @property {Record<string, unknown>|null} deploy
 */

/**
 * Reads a config file and makes the specs of its apps.
 * @param {Wanted} wanted
 * @returns {Promise<Config>}  Rejects with one ERR_NCLUST_BAD_CONFIG for everything that is wrong (data.faults), with ERR_NCLUST_CONFIG_NOT_FOUND, or for a wrong `only` or `env`.
 */
export async function readConfig(wanted) {
  const { file, shown, folder, entries, faults, warnings, deploy } = await describeConfig(wanted);
  const surroundings = { cwd: wanted.cwd, env: wanted.shell, node: wanted.node, folder, envName: wanted.env ?? null };
  const built = entries.map((entry) => specOfEntry(entry, surroundings));
  const all = [...faults, ...built.flatMap((one) => one.faults)];
  if (all.length > 0) throw badConfig(shown, all, warnings);
  return { file, specs: built.flatMap(({ spec }) => spec ?? []), warnings: [...warnings, ...built.flatMap((one) => one.warnings)], deploy };
}

/**
 * The names of the apps of a file, for commands that end them: their scripts may be gone.
 * @param {Wanted} wanted
 * @returns {Promise<{file: string|null, names: string[], warnings: string[]}>}  Rejects like readConfig, but not for what only running them needs.
 */
export async function readNames(wanted) {
  const { file, shown, entries, faults, warnings } = await describeConfig(wanted);
  const nameless = entries.filter(({ options }) => options.name === undefined);
  const all = [...faults, ...nameless.flatMap((entry) => entry.faults)];
  if (all.length > 0) throw badConfig(shown, all, warnings);
  return { file, names: entries.map(({ options }) => options.name), warnings: [] };
}
