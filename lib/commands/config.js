import { existsSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { explainUnwritable } from '../cli/session/user-file.js';
import { CONFIG_NAMES } from '../config/find.js';
import { readPackage } from '../config/package-json.js';
import { warnAboutPm2 } from '../deploy/deployment.js';
import { toOneLine } from '../render/text.js';
import { isFile } from '../shared/daemon/files.js';
import { NclustError } from '../shared/errors.js';

/** @import { Context } from '../cli/session/context.js' */

/**
 * @param {Context} context
 * @param {string[]} words  "simple", or nothing.
 * @returns {Promise<{ file: string }>}
 */
export async function init(context, [kind]) {
  if (kind !== undefined && kind !== 'simple')
    throw new NclustError('ERR_NCLUST_USAGE', `The kind of file is "${kind}"; accepted: simple, or nothing.`);
  const { cwd } = context;
  const there = CONFIG_NAMES.find((name) => existsSync(join(cwd, name)));
  if (there)
    throw new NclustError(
      'ERR_NCLUST_CONFIG_EXISTS',
      `There is a config file "${join(cwd, there)}" already; it was not changed.`,
      { hint: `Look at it with: nclust validate ${there}` },
    );
  const file = join(cwd, `ecosystem.config.${isModule(cwd) ? 'cjs' : 'js'}`);
  const script = findScript(cwd);
  const text = (kind === 'simple' ? SIMPLE : FULL).replace(PLACEHOLDER, () => script ?? PLACEHOLDER);
  explainUnwritable(file, () => writeFileSync(file, text, { flag: 'wx' }));
  context.printMessage(
    script === null
      ? `"${PLACEHOLDER}" does not exist. Name your script in the file, then: nclust start`
      : 'Edit it, then: nclust start',
  );
  return { file };
}

const PLACEHOLDER = './index.js';

const USUAL_SCRIPTS = ['index', 'server', 'app', 'main'].flatMap((name) =>
  ['', 'src/', 'dist/'].flatMap((folder) => ['js', 'mjs', 'cjs', 'ts'].map((ending) => `${folder}${name}.${ending}`)),
);

/**
 * @param {string} folder
 * @returns {string | null}  The script "start" or `main` of package.json, or a file with a usual
 *   name. Null: none of them exists.
 */
function findScript(folder) {
  /** @type {Record<string, any>} */
  const { main, scripts } = readPackage(join(folder, 'package.json'), null);
  const start = typeof scripts?.start === 'string' ? scripts.start.trim() : '';
  const [, started] = /^node (\S+)$/.exec(start) ?? [];
  const isThere = (/** @type {unknown} */ one) =>
    typeof one === 'string' && /^[^'\\\n]+$/.test(one) && isFile(resolve(folder, one));
  const named = [started, main].find(isThere);
  if (named === undefined && start !== '' && started === undefined) return 'npm start';
  const script = named ?? USUAL_SCRIPTS.find(isThere);
  if (script === undefined) return null;
  const path = relative(folder, resolve(folder, script));
  return path.startsWith('..') ? path : `./${path}`;
}

/**
 * Whether a .js file in this folder is an ES module, which has no `module.exports`.
 * @param {string} folder
 */
function isModule(folder) {
  for (let at = folder; ; at = dirname(at)) {
    const file = join(at, 'package.json');
    if (existsSync(file)) return readPackage(file, null).type === 'module';
    if (at === dirname(at)) return false;
  }
}

/**
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
 * @param {string[]} words
 * @param {Record<string, any>} options
 * @returns {Promise<Validated>}  Rejects like readConfig().
 */
export async function validate(context, [file], { env, only }) {
  const { readConfig } = await import('../config/file/read.js');
  const { file: path, specs, deploy, ...read } = await readConfig(context, { file, env, only });
  const environments = Object.entries(deploy ?? {});
  const ofHooks = environments.flatMap(([name, given]) => warnAboutPm2(name, Object(given)));
  const warnings = [...read.warnings, ...ofHooks];
  for (const warning of warnings) context.printMessage(warning);
  const apps = specs.map(({ name, script, mode, instances, cwd }) => ({ name, script, mode, instances, cwd }));
  return { file: path, apps, environments: environments.map(([name]) => name), warnings };
}

/** @param {Validated} data */
export function renderValidated({ file, apps, environments, warnings }) {
  const count = `${apps.length} ${apps.length === 1 ? 'app' : 'apps'}`;
  const verdict =
    warnings.length === 0
      ? 'no errors'
      : `no errors, ${warnings.length} ${warnings.length === 1 ? 'warning' : 'warnings'}`;
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

const SIMPLE = `module.exports = {
  apps: [{ name: 'app', script: './index.js' }],
};
`;

const PRODUCTION =
  "{ user: 'node', host: 'example.com', ref: 'origin/main', repo: 'git@example.com:app.git', path: '/srv/app', " +
  "'post-deploy': 'npm ci && nclust startOrReload ecosystem.config.js --env production' }";

/** The user can uncomment every line and use it without a change. */
const FULL = `\
// "nclust start" in this folder runs these apps. PM2 reads this file, too.
// All attributes: docs/config.md of nclust.
// For completion in an editor: "import { defineConfig } from 'nclust'" in an .mjs file.
module.exports = {
  apps: [
    {
      name: 'app',
      script: './index.js',

      // One process per CPU, sharing the port. Without it: one process.
      // instances: 'max',

      // args: '--port 3000',
      // node_args: '--max-old-space-size=400',

      // Variables. "--env production" adds the variables of env_production.
      env: { NODE_ENV: 'development' },
      env_production: { NODE_ENV: 'production' },

      // Reload the app without a lost request: when files change, at a memory limit, at set times.
      // watch: ['src'],
      // max_memory_restart: '300M',
      // cron_restart: '0 3 * * *',

      // Time limit to stop. Then nclust kills the process.
      // kill_timeout: '10s',
    },
  ],

  // nclust deploy production setup, then: nclust deploy production
  // deploy: {
  //   production: ${PRODUCTION},
  // },
};
`;
