import { wantedOf } from './apps/from-file.js';

/**
 * What a config file says, when nothing about it is wrong.
 * @typedef {object} Validated
 * @property {string|null} file  Null: stdin.
 * @property {{name: string, script: string, mode: string, instances: number|string, cwd: string}[]} apps
 * @property {string[]} environments  Of `deploy`.
 * @property {string[]} warnings
 */

/**
 * @param {import('../cli/context.js').Context} context
 * @param {string[]} words  The file. Default: the one in this folder.
 * @param {Record<string, any>} options
 * @returns {Promise<Validated>}  Throws ERR_NCLUST_BAD_CONFIG with everything that is wrong.
 */
export async function validate(context, [file], options) {
  const { readConfig } = await import('../config/file/read.js');
  const { file: path, specs, deploy, warnings } = await readConfig(wantedOf(context, file ?? null, options, {}));
  for (const warning of warnings) context.talk(warning);
  const apps = specs.map(({ name, script, mode, instances, cwd }) => ({ name, script, mode, instances, cwd }));
  return { file: path, apps, environments: Object.keys(deploy ?? {}), warnings };
}
