import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { withUnwritableError } from '../cli/session/user-file.js';
import { CONFIG_NAMES } from '../config/find.js';
import { toOneLine } from '../render/text.js';
import { NclustError } from '../shared/errors.js';
import { readFileApps } from './apps/from-file.js';

/** @import { Context } from '../cli/session/context.js' */

/**
 * Writes a first config file.
 * @param {Context} context
 * @param {string[]} words  "simple" for a short one.
 * @returns {Promise<{ file: string }>}  Throws ERR_NCLUST_CONFIG_EXISTS,
 *   ERR_NCLUST_FILE_UNWRITABLE.
 */
export async function init(context, [kind]) {
  if (kind !== undefined && kind !== 'simple')
    throw new NclustError('ERR_NCLUST_USAGE', `The kind of file is "${kind}"; accepted: simple, or nothing.`);
  const { cwd } = context;
  const there = CONFIG_NAMES.find((name) => existsSync(join(cwd, name)));
  if (there)
    throw new NclustError(
      'ERR_NCLUST_CONFIG_EXISTS',
      `There is a config file "${join(cwd, there)}" already, and it stays as it is.`,
      { hint: `Look at it with: nclust validate ${there}` },
    );
  const file = join(cwd, `ecosystem.config.${isModule(cwd) ? 'cjs' : 'js'}`);
  withUnwritableError(file, () => writeFileSync(file, kind === 'simple' ? SIMPLE : FULL, { flag: 'wx' }));
  context.talk('Edit it, then: nclust start');
  return { file };
}

/**
 * Whether a .js file in this folder is an ES module, which has no `module.exports`.
 * @param {string} folder
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
 * @returns {string | null}  Null: there is no such file.
 */
function typeIn(file) {
  if (!existsSync(file)) return null;
  try {
    return String(JSON.parse(readFileSync(file, 'utf8')).type ?? 'commonjs');
  } catch {
    return 'commonjs'; // Running it will report the fault; here it only affects a name.
  }
}

/**
 * The contents of a valid config file.
 * @typedef {object} Validated
 * @property {string | null} file  Null: stdin.
 * @property
 *   {{ name: string, script: string, mode: string, instances: number | string, cwd: string }[]}
 *   apps
 * @property {string[]} environments  Of `deploy`.
 * @property {string[]} warnings
 */

/**
 * @param {Context} context
 * @param {string[]} words  The file. Default: the one in this folder.
 * @param {Record<string, any>} options
 * @returns {Promise<Validated>}  Throws ERR_NCLUST_BAD_CONFIG with all faults.
 */
export async function validate(context, [file], options) {
  const { readConfig } = await import('../config/file/read.js');
  const { file: path, specs, deploy, warnings } = await readConfig(readFileApps(context, file ?? null, options, {}));
  for (const warning of warnings) context.talk(warning);
  const apps = specs.map(({ name, script, mode, instances, cwd }) => ({ name, script, mode, instances, cwd }));
  return { file: path, apps, environments: Object.keys(deploy ?? {}), warnings };
}

/** @param {Validated} data */
export function renderValidated({ file, apps, environments, warnings }) {
  const count = `${apps.length} ${apps.length === 1 ? 'app' : 'apps'}`;
  const verdict =
    warnings.length === 0
      ? 'nothing is wrong'
      : `nothing is wrong, ${warnings.length} ${warnings.length === 1 ? 'warning' : 'warnings'}`;
  const rows = apps.map(
    ({ name, script, mode, instances }) =>
      `  ${toOneLine(name)}: ${toOneLine(script)} ` +
      `(${mode}${mode === 'cluster' || instances !== 1 ? `, instances: ${instances}` : ''})`,
  );
  return [
    `${file ?? 'stdin'}: ${count}, ${verdict}`,
    ...rows,
    ...(environments.length > 0 ? [`  deploy: ${environments.map(toOneLine).join(', ')}`] : []),
    '',
  ].join('\n');
}

/** The config file of `nclust init simple`. */
const SIMPLE = `module.exports = {
  apps: [{ name: 'app', script: './index.js' }],
};
`;

const PRODUCTION =
  "{ user: 'node', host: 'example.com', ref: 'origin/main', repo: 'git@example.com:app.git', path: '/srv/app', " +
  "'post-deploy': 'npm ci && nclust startOrReload ecosystem.config.js --env production' }";

/** That of `nclust init`: every line of it is right as it stands. */
const FULL = `\
// What "nclust start" runs in this folder. PM2 reads it as well.
// Every attribute: docs/config.md of nclust.
// With "import { defineConfig } from 'nclust'" in an .mjs file, an editor knows them, too.
module.exports = {
  apps: [
    {
      name: 'app',
      script: './index.js',

      // One process per CPU, sharing the port. Without it: one process.
      // instances: 'max',

      // args: '--port 3000',
      // node_args: '--max-old-space-size=400',

      // Variables. With "--env production" those of env_production count as well.
      env: { NODE_ENV: 'development' },
      env_production: { NODE_ENV: 'production' },

      // Reloaded, without losing a request, when files change, when it grows, or by the clock.
      // watch: ['src'],
      // max_memory_restart: '300M',
      // cron_restart: '0 3 * * *',

      // How long it may take from the request to stop until it is killed.
      // kill_timeout: '10s',
    },
  ],

  // nclust deploy production setup, then: nclust deploy production
  // deploy: {
  //   production: ${PRODUCTION},
  // },
};
`;
