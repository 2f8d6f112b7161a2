import { basename, extname, resolve } from 'node:path';
import { nearWords } from '../../shared/did-you-mean.js';
import { isRecord } from '../../shared/is-record.js';
import { createFault, toFault, FOR_EDITORS, describeFound, joinKeyPath } from '../faults.js';
import { readEnvironment } from '../../app-spec/environment-fields.js';
import { isUnset } from '../../app-spec/values.js';
import {
  ATTRIBUTES,
  ENVIRONMENT_PREFIX,
  findAttribute,
  leaveOutUnset,
  listSpellings,
  takes,
} from '../../app-spec/table.js';
import { placeScript } from '../place-script.js';
import { findProgram } from '../spec/find-program.js';
import { isServeApp, serveApp, staticSite } from './static-site.js';

/** @import { Fault } from '../faults.js' */

/**
 * @typedef {object} ConfigEntry
 * @property {string} keyPath
 * @property {Record<string, any>} options  By the `key` of the attribute.
 * @property {Record<string, ReturnType<typeof readEnvironment>>} environments  By the name in
 *   `env_<name>`.
 * @property {Map<string, string>} said  For each attribute its key in the file, which may be an
 *   alias.
 * @property {Fault[]} faults
 * @property {string[]} warnings
 */

/**
 * Suggests a known key only if the unknown key has at least `from` characters, and only if the
 * lengths of both keys differ by at most `longerBy`.
 */
const SUGGESTION = { longerBy: 3, from: 4 };

/**
 * @param {string} keyPath
 * @returns {ConfigEntry}
 */
export function emptyEntry(keyPath) {
  return { keyPath, options: {}, environments: {}, said: new Map(), faults: [], warnings: [] };
}

/**
 * Reads every attribute, even if another attribute is invalid.
 * @param {unknown} entry
 * @param {string} keyPath
 * @returns {ConfigEntry}
 */
export function readEntry(entry, keyPath) {
  const read = emptyEntry(keyPath);
  if (!isRecord(entry))
    return { ...read, faults: [createFault(keyPath, describeFound(entry), 'an object that describes an app')] };
  for (const [word, value] of Object.entries(entry)) {
    if (value === undefined || value === null || word === FOR_EDITORS) continue;
    try {
      readOne(read, word, value);
    } catch (error) {
      read.faults.push(toFault(error, joinKeyPath(keyPath, word)));
    }
  }
  if (read.options.script === undefined && !read.said.has('script'))
    read.faults.push(
      createFault(joinKeyPath(keyPath, 'script'), 'is missing', 'a file, a program in PATH or a shell command'),
    );
  return read;
}

/**
 * @param {ConfigEntry} read
 * @param {string} word
 * @param {unknown} value
 */
function readOne(read, word, value) {
  const where = joinKeyPath(read.keyPath, word);
  const row = findAttribute(word);
  if (!row) {
    if (word.startsWith(ENVIRONMENT_PREFIX))
      read.environments[word.slice(ENVIRONMENT_PREFIX.length)] = readEnvironment(isUnset(value) ? {} : value, where);
    else read.warnings.push(unknownKey(where, word));
    return;
  }
  const given = leaveOutUnset(row, value === '' ? row.empty : value);
  if (isUnset(given) && !(given === false && takes(row, 'boolean'))) return;
  if (Array.isArray(given) && given.length === 0 && takes(row, 'array')) return;
  const before = read.said.get(row.name);
  read.said.set(row.name, word);
  if (before !== undefined)
    read.warnings.push(`"${where}" is the same attribute as "${joinKeyPath(read.keyPath, before)}", and overrides it.`);
  const found = row.read(given, where);
  if (row.unneeded === undefined) read.options[row.key] = found;
}

/**
 * @param {string} where
 * @param {string} word
 */
function unknownKey(where, word) {
  const far = (/** @type {string} */ one) => Math.abs(one.length - word.length);
  const isLike = (/** @type {string} */ one) => one.includes('_') === word.includes('_');
  const [near] = nearWords(word, ATTRIBUTES.flatMap(listSpellings))
    .filter((one) => word.length >= SUGGESTION.from && far(one) <= SUGGESTION.longerBy)
    .sort((a, b) => Number(isLike(b)) - Number(isLike(a)) || far(a) - far(b));
  return `"${where}" is unknown and ignored${near ? `; did you mean "${near}"?` : '.'}`;
}

/**
 * @typedef {object} Choice
 * @property {Record<string, any>} options  By key: options of the command line.
 * @property {string | null} env  The environment whose `env_<name>` is added to `env`.
 * @property {ReturnType<typeof readEnvironment>} deployed  The variables of `deploy.<env>.env`.
 * @property {string} folder  Of the config file.
 * @property {string} shellCwd
 * @property {string | undefined} path  PATH.
 */

/**
 * @param {unknown} site
 * @param {string} keyPath
 * @returns {ConfigEntry}
 */
export function readSite(site, keyPath) {
  try {
    return readEntry(staticSite(/** @type {Record<string, any>} */ (site), keyPath), keyPath);
  } catch (error) {
    return { ...emptyEntry(keyPath), faults: [toFault(error, keyPath)] };
  }
}

/**
 * Adds the options of the command line, the variables of the chosen environment, and a
 * default name.
 * @param {ConfigEntry} entry
 * @param {Choice} choice
 * @returns {ConfigEntry}
 */
export function completeEntry(entry, choice) {
  const { env: own, ...said } = { ...entry.options, ...choice.options };
  const chosen = choice.env === null ? undefined : entry.environments[choice.env];
  const all = { ...own, ...choice.deployed, ...chosen };
  const env = own || Object.keys(all).length > 0 ? { env: all } : {};
  if (said.script === undefined) return { ...entry, options: { ...said, ...env } };
  try {
    const options = asServer({ ...said, ...env }, choice);
    return { ...entry, options: { ...options, name: getName(options, choice) } };
  } catch (error) {
    return { ...entry, options: { ...said, ...env }, faults: [...entry.faults, toFault(error, entry.keyPath)] };
  }
}

/**
 * Turns `script: "serve"` into the static server, as PM2 does. If a file or program "serve" exists,
 * the app runs this program instead, unless the app has PM2_SERVE_* variables.
 * @param {Record<string, any>} options
 * @param {Choice} choice
 */
function asServer(options, { folder, shellCwd, path }) {
  if (!isServeApp(/** @type {{ script: string }} */ (options))) return options;
  const place = placeScript(options.script, options.cwd, { folder, shellCwd });
  const isProgram = place.file !== null || findProgram(options.script, { path, cwd: place.cwd }) !== null;
  return isProgram && !Object.keys(options.env ?? {}).some((key) => key.startsWith('PM2_SERVE_'))
    ? options
    : serveApp(options);
}

/**
 * @param {Record<string, any>} options
 * @param {Choice} choice
 */
function getName({ name, script, cwd, appendEnvToName }, { env, folder, shellCwd }) {
  const isCommand = /\s/.test(script.trim()) && placeScript(script, cwd, { folder, shellCwd }).file === null;
  const byDefault = isCommand ? script.trim().replace(/\s+/g, ' ').slice(0, 100) : scriptName(script, folder);
  return `${name ?? byDefault}${appendEnvToName && env !== null ? `-${env}` : ''}`;
}

/**
 * @param {string} script
 * @param {string} folder
 */
function scriptName(script, folder) {
  return /(^|\/)\.{1,2}\/?$/.test(script) ? basename(resolve(folder, script)) : basename(script, extname(script));
}
