import { readEntry, completeEntry } from '../config/file/config-entry.js';
import { snapshot } from '../config/spec/build.js';
import { buildSpecFromEntry } from '../config/spec/build-from-entry.js';
import { pm2Entry, splitEnvironment } from './pm2-entry.js';

/** @import { AppSpec } from '../app-spec/types.js' */
/** @import { Pm2Record } from './pm2-list.js' */

/**
 * @typedef {object} TakenOver
 * @property {{ spec: AppSpec, resting: number[] }[]} apps  `resting`: slots that are not started.
 * @property {{ name: string, why: string }[]} refused
 * @property {string[]} warnings
 */

/** States of processes that PM2 will not restart. Their slots are imported as stopped. */
const RESTING = new Set(['stopped', 'stopping', 'errored']);

/**
 * Changes nothing, but looks for the programs on the disk.
 * @param {Pm2Record[]} records
 * @param {object} o
 * @param {string} o.pm2Home
 * @param {{ env: Record<string, string | undefined>, node: { file: string, version: string } }}
 *   o.shell
 * @returns {TakenOver}
 */
export function takeOver(records, { pm2Home, shell }) {
  /** @type {TakenOver} */
  const taken = { apps: [], refused: [], warnings: [] };
  const modules = records.filter(({ pmx_module: isModule }) => isModule).map(({ name }) => String(name));
  for (const name of new Set(modules))
    taken.warnings.push(
      `"${name}" is a module of PM2 and was left ` +
        `out${name === 'pm2-logrotate' ? '; nclust itself rotates log files' : ''}.`,
    );
  const names = new Set();
  for (const group of grouped(records.filter(({ pmx_module: isModule }) => !isModule))) {
    const wanted = String(group[0].name ?? 'app');
    const name = freeName(wanted, names);
    names.add(name);
    if (name !== wanted)
      taken.warnings.push(
        `Another app is called "${wanted}", so the app of "${group[0].pm_exec_path}" becomes "${name}".`,
      );
    takeOne(group, name, { pm2Home, shell }, taken);
  }
  return taken;
}

/**
 * @param {Pm2Record[]} group
 * @param {string} name
 * @param {object} o
 * @param {string} o.pm2Home
 * @param {{ env: Record<string, string | undefined>, node: { file: string, version: string } }}
 *   o.shell
 * @param {TakenOver} taken
 */
function takeOne(group, name, { pm2Home, shell }, taken) {
  const [first] = group;
  const env = splitEnvironment(first.env ?? {}, {
    name: String(first.name),
    instanceVar: first.instance_var ?? 'NODE_APP_INSTANCE',
    shell: shell.env,
  });
  const cwd = String(first.pm_cwd ?? '/');
  const variables = { ...env.shell, ...env.own };
  const place = { folder: cwd, cwd, env: variables, node: shell.node, envName: null };
  const read = readEntry(pm2Entry(group, { name, env: env.own, pm2Home }), name);
  const choice = { options: {}, env: null, deployed: {}, folder: cwd, shellCwd: cwd, path: variables.PATH };
  const entry = completeEntry(read, choice);
  const { spec, faults, warnings } =
    entry.faults.length > 0 ? { spec: null, faults: entry.faults, warnings: [] } : buildSpecFromEntry(entry, place);
  for (const variable of env.left)
    taken.warnings.push(
      `The variable ${JSON.stringify(variable)} of "${name}" was left out: its name or its value contains a ` +
        `character that no variable can have.`,
    );
  taken.warnings.push(...entry.warnings, ...warnings);
  if (!spec) return void taken.refused.push({ name, why: faults.map(({ message }) => message).join(' ') });
  const resting = group.flatMap(({ status }, slot) => (RESTING.has(status) ? [slot] : []));
  if (group.some(({ status }) => status === 'errored'))
    taken.warnings.push(
      `PM2 no longer restarts "${name}", so it is imported as stopped; start it with: nclust start ${name}`,
    );
  else if (resting.length > 0 && spec.cronRestart !== null && !spec.autorestart)
    taken.warnings.push(`"${name}" is a cron job, and runs at its next time. To prevent that: nclust stop ${name}`);
  // buildSpec() used all variables, to find the interpreter. The spec keeps the variables in
  // two parts:
  // `env` for the variables of the app, `shellEnv` for the variables of the shell.
  taken.apps.push({ spec: { ...spec, shellEnv: snapshot(env.shell) }, resting });
}

/**
 * Records with the same name, namespace, program, folder, arguments and mode are one app.
 * @param {Pm2Record[]} records
 * @returns {Pm2Record[][]}
 */
function grouped(records) {
  /** @type {Map<string, Pm2Record[]>} */
  const groups = new Map();
  for (const record of records) {
    const { name, namespace, pm_exec_path: file, pm_cwd: cwd, args, exec_mode: mode } = record;
    const key = JSON.stringify([name, namespace, file, cwd, args, mode]);
    groups.set(key, [...(groups.get(key) ?? []), record]);
  }
  return [...groups.values()];
}

/**
 * @param {string} name
 * @param {Set<string>} taken
 */
function freeName(name, taken) {
  if (!taken.has(name)) return name;
  for (let number = 2; ; number++) if (!taken.has(`${name}-${number}`)) return `${name}-${number}`;
}
