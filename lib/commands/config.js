import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { orUnwritable } from '../cli/user-file.js';
import { CONFIG_NAMES } from '../config/find.js';
import { NclustError } from '../shared/errors.js';
import { FULL, SIMPLE } from './starting-file.js';

/**
 * Writes a config file to begin with.
 * @param {import('../cli/context.js').Context} context
 * @param {string[]} words  "simple" for a short one.
 * @returns {Promise<{file: string}>}  Throws ERR_NCLUST_CONFIG_EXISTS, ERR_NCLUST_FILE_UNWRITABLE.
 */
export async function init(context, [kind]) {
  if (kind !== undefined && kind !== 'simple') throw new NclustError('ERR_NCLUST_USAGE', `The kind of file is "${kind}"; accepted: simple, or nothing.`);
  const { cwd } = context;
  const there = CONFIG_NAMES.find((name) => existsSync(join(cwd, name)));
  if (there) throw new NclustError('ERR_NCLUST_CONFIG_EXISTS', `There is a config file "${join(cwd, there)}" already, and it stays as it is.`, { hint: `Look at it with: nclust validate ${there}` });
  const file = join(cwd, `ecosystem.config.${isModule(cwd) ? 'cjs' : 'js'}`);
  orUnwritable(file, () => writeFileSync(file, kind === 'simple' ? SIMPLE : FULL, { flag: 'wx' }));
  context.talk('Edit it, then: nclust start');
  return { file };
}

/**
 * Whether a .js file in this folder is an ES module, in which there is no `module.exports`.
 * @param {string} folder
 * @returns {boolean}
 */
function isModule(folder) {
  for (let at = folder; ; at = dirname(at)) {
    const type = typeIn(join(at, 'package.json'));
    if (type !== null) return type === 'module';
    if (at === dirname(at)) return false;
  }
}

/**
 * @param {string} file
 * @returns {string|null}  Null: there is no such file.
 */
function typeIn(file) {
  if (!existsSync(file)) return null;
  try {
    return String(JSON.parse(readFileSync(file, 'utf8')).type ?? 'commonjs');
  } catch {
    return 'commonjs'; // Whoever runs it will be told; here it is only about a name.
  }
}
