import { basename, join } from 'node:path';
import { areVariables } from '../app-spec/environment-fields.js';
import { ATTRIBUTES } from '../app-spec/table.js';

/** @import { Pm2Record } from './pm2-list.js' */

/** nclust runs JavaScript files with node, so their entry needs no interpreter. */
const JAVASCRIPT = /\.[cm]?js$/;

/**
 * @param {Pm2Record[]} records  Not empty. All of them run the same program.
 * @param {{ name: string, env: Record<string, string>, pm2Home: string }} o
 * @returns {Record<string, unknown>}
 */
export function pm2Entry(records, { name, env, pm2Home }) {
  const [first] = records;
  const isCluster = String(first.exec_mode).startsWith('cluster');
  const said = ATTRIBUTES.flatMap(({ name, isPm2 }) => (isPm2 && isSaid(first[name]) ? [[name, first[name]]] : []));
  return {
    ...Object.fromEntries(said),
    ...findProgram(first, env),
    name,
    cwd: first.pm_cwd ?? first.cwd,
    ...(isCluster || records.length > 1
      ? { instances: records.length, exec_mode: isCluster ? 'cluster' : 'fork' }
      : {}),
    ...listFiles(records, { isCluster, pm2Home }),
    env,
  };
}

/**
 * @param {Pm2Record} record
 * @param {Record<string, string>} env
 */
function findProgram({ pm_exec_path: file, exec_interpreter: interpreter, args }, env) {
  // Drops the arguments of PM2's static server, because its settings are in variables.
  if (basename(String(file)) === 'Serve.js' && env.PM2_SERVE_PATH !== undefined) return { script: 'serve', args: [] };
  const words = Array.isArray(args) ? args.map(String) : [];
  const isCommand =
    interpreter === 'none' &&
    /^(ba)?sh$/.test(basename(String(file))) &&
    words.length === 2 &&
    words[0] === '-c' &&
    /\S\s+\S/.test(words[1]);
  if (isCommand) return { script: words[1], args: [] };
  const isFound = interpreter === undefined || (interpreter === 'node' && JAVASCRIPT.test(String(file)));
  return { script: file, ...(isFound ? {} : { interpreter }) };
}

/**
 * @param {Pm2Record[]} records
 * @param {{ isCluster: boolean, pm2Home: string }} o
 */
function listFiles(records, { isCluster, pm2Home }) {
  const homes = [pm2Home, ...records.flatMap(({ env, PM2_HOME }) => [PM2_HOME, env?.PM2_HOME])].filter(
    (home) => typeof home === 'string',
  );
  const isDefault = (/** @type {string} */ file) =>
    homes.some((home) => file.startsWith(join(home, 'logs/')) || file.startsWith(join(home, 'pids/')));
  const isNumbered = (isCluster || records.length > 1) && records[0].merge_logs !== true;
  const given = /** @type {const} */ ([
    ['out_file', 'pm_out_log_path'],
    ['error_file', 'pm_err_log_path'],
    ['log_file', 'pm_log_path'],
    ['pid_file', 'pm_pid_path'],
  ]).flatMap(([key, from]) => {
    const file = records[0][from];
    if (typeof file !== 'string' || file === '' || isDefault(file)) return [];
    // Removes the pm_id that PM2 has added to the file name, because nclust adds its own id.
    return [[key, isNumbered || key === 'pid_file' ? file.replace(/-\d+(?=(\.[^./]*)?$)/, '') : file]];
  });
  return Object.fromEntries(given);
}

/** @param {unknown} value */
function isSaid(value) {
  return value !== undefined && value !== null && value !== '' && !(Array.isArray(value) && value.length === 0);
}

/** Variables that PM2 adds, except PM2_SERVE_*, which are the settings of its static server. */
const OF_PM2 = /^(PM2_(?!SERVE_)|pm_|axm_)|^(unique_id|km_link|NODE_APP_INSTANCE)$/;

/**
 * `shell` gets the variables that this shell has too, because they most likely came from a shell.
 * --update-env replaces these variables. `own` gets the other variables. Variables without a value
 * and variables that PM2 has added are dropped.
 * @param {Record<string, unknown>} env  `pm2_env.env`.
 * @param {object} o
 * @param {string} o.name  Of the app. PM2 keeps module settings in a variable of this name.
 * @param {string} o.instanceVar
 * @param {Record<string, string | undefined>} o.shell
 * @returns {{ shell: Record<string, string>, own: Record<string, string>, left: string[] }}
 *   `left`: names of variables that an environment cannot contain.
 */
export function splitEnvironment(env, { name, instanceVar, shell }) {
  /** @type {{ shell: Record<string, string>, own: Record<string, string>, left: string[] }} */
  const split = { shell: {}, own: {}, left: [] };
  for (const [key, value] of Object.entries(env)) {
    if (value === null || value === undefined || key === '' || key === instanceVar || OF_PM2.test(key)) continue;
    if (key === name && isSettings(value)) continue;
    const text = typeof value === 'object' ? JSON.stringify(value) : String(value);
    if (areVariables({ [key]: text })) split[shell[key] === undefined ? 'own' : 'shell'][key] = text;
    else split.left.push(key);
  }
  return split;
}

/** @param {unknown} value */
function isSettings(value) {
  return typeof value === 'object' || (typeof value === 'string' && value.startsWith('{'));
}
