// Knows: how a config file becomes checked entries, with every fault at once.
// Must not: run the code of a file in this process; evaluate.js starts another one.
// Start at: readConfig(), then load.js and config-entry.js.
import { dirname, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { nearWords } from '../../shared/did-you-mean.js';
import { NclustError } from '../../shared/errors.js';
import { isRecord } from '../../shared/is-record.js';
import { toPlain } from '../evaluation/plain.js';
import { badConfig, createFault, readShape, joinKeyPath, toFault } from '../faults.js';
import { findConfig, noConfigError } from '../find.js';
import { readEnvironment } from '../../app-spec/environment-fields.js';
import { readPm2Variables } from '../options/options.js';
import { expandHome } from '../../app-spec/values.js';
import { TOP_LEVEL } from '../../app-spec/table.js';
import { buildSpecFromEntry } from '../spec/build-from-entry.js';
import { emptyEntry, readEntry, readSite, completeEntry } from './config-entry.js';
import { evaluationLimits } from './evaluate.js';
import { loadConfig, STDIN } from './load.js';

/** @import { AppSpec } from '../../app-spec/types.js' */
/** @import { Oddity } from '../evaluation/plain.js' */
/** @import { Fault } from '../faults.js' */
/** @import { ConfigEntry } from './config-entry.js' */

/**
 * @typedef {object} ConfigQuery
 * @property {string | null} [file]  A path, or "-" for stdin. Default: the config file in `cwd`.
 * @property {unknown} [value]  The content, if the caller does not give a file.
 * @property {string | null} [env]  The environment whose `env_<name>` is added to `env`.
 * @property {string | null} [only]  Names of apps, separated by commas or spaces. Default: all.
 * @property {() => Promise<string>} [stdin]
 * @property {Record<string, any>} [options]  Options of the command line, by key. They apply to
 *   every app.
 */

/**
 * @typedef {object} Shell
 * @property {string} cwd
 * @property {Record<string, string | undefined>} env  Pass `process.env` itself, because a config
 *   file that is code may add to it.
 * @property {{ file: string, version: string }} node  The Node.js that runs this command.
 * @property {(sentence: string) => void} [printMessage]  Called while the code of a file runs for long.
 */

/**
 * @typedef {object} Config
 * @property {string | null} file  Null: stdin, or an object.
 * @property {AppSpec[]} specs
 * @property {string[]} warnings
 * @property {Record<string, unknown> | null} deploy
 * @property {NclustError | null} refused  ERR_NCLUST_BAD_CONFIG for the apps that `specs` lacks.
 */

/**
 * @param {Shell} shell
 * @param {ConfigQuery} wanted
 * @param {{ isPartial?: boolean }} [o]  isPartial: a fault of an app leaves out this app alone.
 * @returns {Promise<Config>}  Rejects like describeConfig(), and with one ERR_NCLUST_BAD_CONFIG for
 *   all faults (data.faults).
 */
export async function readConfig(shell, wanted, { isPartial = false } = {}) {
  const { file, shown, folder, entries, faults, warnings, deploy } = await describeConfig(shell, wanted);
  const surroundings = { ...shell, folder, envName: wanted.env ?? null };
  const built = entries.map((entry) => buildSpecFromEntry(entry, surroundings));
  const all = [...faults, ...built.flatMap((one) => one.faults)];
  const specs = built.flatMap((one) => (one.spec === null || one.faults.length > 0 ? [] : one.spec));
  const refused = all.length > 0 ? badConfig(shown, all, warnings) : null;
  if (refused && (faults.length > 0 || specs.length === 0 || !isPartial)) throw refused;
  return {
    file,
    specs,
    refused,
    warnings: [...readPm2Variables(shell.env).warnings, ...warnings, ...built.flatMap((one) => one.warnings)],
    deploy,
  };
}

/**
 * Reads only the names of the apps. Ignores faults that matter only when an app starts, because a
 * command that stops apps must work even if their scripts are gone.
 * @param {Shell} shell
 * @param {ConfigQuery} wanted
 * @returns {Promise<{ file: string | null, names: string[] }>}
 */
export async function readNames(shell, wanted) {
  const { file, shown, entries, faults, warnings } = await describeConfig(shell, wanted);
  const nameless = entries.filter(({ options }) => options.name === undefined);
  const all = [...faults, ...nameless.flatMap((entry) => entry.faults)];
  if (all.length > 0) throw badConfig(shown, all, warnings);
  return { file, names: [...new Set(entries.map(({ options }) => options.name))] };
}

/**
 * @typedef {object} Description
 * @property {string | null} file  Null: stdin, or an object.
 * @property {string} shown  The name in messages.
 * @property {string} folder  Base of relative paths.
 * @property {ConfigEntry[]} entries  The chosen apps.
 * @property {Fault[]} faults  Faults of the file itself. Each entry has the faults of its app.
 * @property {string[]} warnings
 * @property {Record<string, unknown> | null} deploy
 */

/**
 * @param {Shell} shell
 * @param {ConfigQuery} wanted
 * @returns {Promise<Description>}  Rejects with ERR_NCLUST_BAD_CONFIG if the file cannot be read,
 *   _CONFIG_NOT_FOUND, _APP_NOT_FOUND for `only`, _USAGE for `env` and `options`.
 */
export async function describeConfig(
  { cwd, env: variables, node, printMessage = () => {} },
  { file: given = null, value: object, env = null, only = null, stdin = () => text(process.stdin), options = {} },
) {
  const isObject = object !== undefined;
  const path = isObject
    ? null
    : given === null
      ? findConfig(cwd)
      : given === STDIN
        ? STDIN
        : resolve(cwd, expandHome(given));
  if (path === null && !isObject) throw noConfigError(cwd);
  const isFile = path !== null && path !== STDIN;
  const folder = isFile ? dirname(path) : cwd;
  const shown = isFile ? path : isObject ? 'the object' : 'stdin';
  const { value, oddities, isFunction } =
    path === null
      ? { ...toPlain(object), isFunction: false }
      : await loadConfig(path, {
          env,
          version: node.version,
          stdin,
          patience: () => ({ ...evaluationLimits(variables), printMessage }),
        });
  const shape = readShape(value);
  const read = [
    ...shape.apps.map(({ keyPath, entry }) => readEntry(entry, keyPath)),
    ...shape.sites.map(({ keyPath, entry }) => readSite(entry, keyPath)),
    ...oddities.filter(({ keyPath }) => describePlace(keyPath).isEntry).map(({ keyPath }) => emptyEntry(keyPath)),
  ];
  const deployed = readDeployed(shape.deploy, env);
  const choice = { options, env, deployed: deployed.variables, folder, shellCwd: cwd, path: variables.PATH };
  const all = read.map((entry) => completeEntry(entry, choice));
  const odd = placeOddities(oddities, all);
  const entries = chosen(shown, withUniqueNames(all), only);
  checkOneName(shown, entries, options.name);
  return {
    file: isFile ? path : null,
    shown,
    folder,
    entries,
    deploy: shape.deploy,
    faults: [...shape.faults, ...deployed.faults, ...odd.faults],
    warnings: [
      ...odd.warnings,
      ...shape.warnings,
      ...shape.unknown.flatMap(misspelt),
      ...(isFunction ? [] : checkEnvironment(shown, all, env, Object.keys(shape.deploy ?? {}))),
      ...entries.flatMap(({ warnings }) => warnings),
    ],
  };
}

/**
 * A value without a plain form is a fault of its app, and of the file if it holds the apps. Like
 * PM2, ignores functions in an app, and everything beside the apps.
 * @param {Oddity[]} oddities
 * @param {ConfigEntry[]} entries  Get the faults of their app.
 */
function placeOddities(oddities, entries) {
  /** @type {Fault[]} */
  const faults = [];
  /** @type {string[]} */
  const warnings = [];
  for (const { keyPath, found } of oddities) {
    const { isWhole, isEntry } = describePlace(keyPath);
    const app = entries.find((entry) => entry.keyPath === '' || `${keyPath}.`.startsWith(`${entry.keyPath}.`));
    if (isWhole) faults.push(createFault(keyPath, found, 'plain values'));
    else if (app && isEntry) app.faults.push(createFault(keyPath, found, 'an object that describes an app'));
    else if (app && found !== 'is a function') app.faults.push(createFault(keyPath, found, 'plain values'));
    else warnings.push(`${keyPath} ${found}, which nclust ignores.`);
  }
  return { faults, warnings };
}

/**
 * @param {string} keyPath
 * @returns {{ isWhole: boolean, isEntry: boolean }}  isWhole: it holds all apps. isEntry: it is one.
 */
function describePlace(keyPath) {
  const key = keyPath.replace(/^((nclust|pm2)\.)+/, '');
  return { isWhole: key === '' || TOP_LEVEL.includes(key), isEntry: /^(nclust|pm2|apps|static)?\[\d+\]$/.test(key) };
}

/**
 * @param {string} file
 * @param {ConfigEntry[]} entries
 * @param {string | null} only
 */
function chosen(file, entries, only) {
  if (only === null) return entries;
  const names = entries.flatMap(({ options }) => options.name ?? []);
  const wanted = names.includes(only.trim()) ? [only.trim()] : only.split(/[\s,]+/).filter(Boolean);
  const missing = wanted.filter((name) => !names.includes(name));
  if (missing.length === 0 && wanted.length > 0) return entries.filter(({ options }) => wanted.includes(options.name));
  throw new NclustError(
    'ERR_NCLUST_APP_NOT_FOUND',
    `--only names ${missing.map((name) => `"${name}"`).join(', ') || 'nothing'}, but "${file}" contains ` +
      `${names.map((name) => `"${name}"`).join(', ') || 'no apps'}.`,
    { data: { file, names } },
  );
}

/**
 * As in PM2, every app gets the variables of `deploy.<env>.env`.
 * @param {Record<string, unknown> | null} deploy
 * @param {string | null} env
 * @returns {{ variables: ReturnType<typeof readEnvironment>, faults: Fault[] }}
 */
function readDeployed(deploy, env) {
  const place = env !== null && deploy !== null && Object.hasOwn(deploy, env) ? deploy[env] : null;
  const where = `deploy.${env}.env`;
  try {
    const given = isRecord(place) && isRecord(place.env) ? place.env : {};
    return { variables: readEnvironment(given, where), faults: [] };
  } catch (error) {
    return { variables: {}, faults: [toFault(error, where)] };
  }
}

/**
 * Refuses an environment that no app has, because a typing error must not start production apps
 * without their variables. Only warns if the file has no environments at all.
 * @param {string} file
 * @param {ConfigEntry[]} entries
 * @param {string | null} env
 * @param {string[]} deployed  Names in `deploy`.
 * @returns {string[]}  Warnings.
 */
function checkEnvironment(file, entries, env, deployed) {
  if (env === null || entries.length === 0 || deployed.includes(env)) return [];
  const names = [...new Set(entries.flatMap(({ environments }) => Object.keys(environments)))];
  if (names.includes(env)) return [];
  if (names.length === 0) return [`--env is "${env}", but no app of "${file}" has "env_${env}", so it has no effect.`];
  throw new NclustError(
    'ERR_NCLUST_USAGE',
    `--env is "${env}"; accepted: ${names.map((name) => `"${name}"`).join(', ')}, because "${file}" has ` +
      `only these.`,
    { data: { file, names } },
  );
}

/**
 * @param {string} file
 * @param {ConfigEntry[]} entries
 * @param {string | undefined} name
 */
function checkOneName(file, entries, name) {
  if (name === undefined || entries.length === 1) return;
  throw new NclustError(
    'ERR_NCLUST_USAGE',
    `--name is "${name}" for ${entries.length} apps of "${file}"; accepted: one app, because names are unique.`,
  );
}

/**
 * Names are unique. An app that is named after its script gets a number, as for two scripts
 * "index.js" in different folders. The second of two apps for which the file gives the same name
 * has a fault.
 * @param {ConfigEntry[]} entries
 * @returns {ConfigEntry[]}
 */
function withUniqueNames(entries) {
  const given = entries.flatMap(({ said, options }) => (said.has('name') ? [options.name] : []));
  /** @type {Map<string, string>} */
  const owners = new Map();
  return entries.map((entry) => {
    const { keyPath, options, said } = entry;
    const { name } = options;
    if (name === undefined) return entry;
    const isGiven = said.has('name');
    let own = name;
    for (let at = 2; !isGiven && (owners.has(own) || given.includes(own)); at += 1) own = `${name}-${at}`;
    const owner = owners.get(own);
    owners.set(own, owner ?? (keyPath || 'another app'));
    if (owner !== undefined) {
      const fault = createFault(
        joinKeyPath(keyPath, 'name'),
        `is "${name}", which ${owner} is called already`,
        'a unique name; for several processes of one app, use "instances"',
      );
      return { ...entry, faults: [...entry.faults, fault] };
    }
    if (own === name) return entry;
    const warning = `${keyPath} has no name, and "${name}" is taken, so it is called "${own}".`;
    return { ...entry, options: { ...options, name: own }, warnings: [...entry.warnings, warning] };
  });
}

/**
 * Warns of an unknown key only if the key looks like a known key. The user may have added any other
 * key on purpose, to share values between apps.
 * @param {string} key
 */
function misspelt(key) {
  const [near] = nearWords(key, TOP_LEVEL);
  return near ? [`"${key}" is unknown and ignored; did you mean "${near}"?`] : [];
}
