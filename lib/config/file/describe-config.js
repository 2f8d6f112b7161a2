import { dirname, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { NclustError } from '../../shared/errors.js';
import { nearWords } from '../../shared/did-you-mean.js';
import { faultAt } from '../faults.js';
import { shapeOf, within } from '../config-shape.js';
import { asPlain } from '../evaluation/plain.js';
import { patienceOf } from './evaluation-limit.js';
import { findConfig, noConfig } from '../find.js';
import { loadConfig, STDIN } from './load.js';
import { readEntry } from './entry.js';
import { TOP_LEVEL } from '../options/schema.js';
import { readSite, settleEntry } from './settle-entry.js';

/** @typedef {import('../faults.js').Fault} Fault */
/** @typedef {import('./entry.js').Entry} Entry */

/**
 * The apps of a config file as it describes them, those that were chosen.
 * @typedef {object} Description
 * @property {string|null} file  Null: stdin, or an object.
 * @property {string} shown  In messages.
 * @property {string} folder  From where its paths count.
 * @property {Entry[]} entries
 * @property {Fault[]} faults  Of the file; those of an app are with its entry.
 * @property {string[]} warnings
 * @property {Record<string, unknown>|null} deploy
 */

/**
 * @param {import('./read.js').Wanted} wanted
 * @returns {Promise<Description>}  Rejects with ERR_NCLUST_BAD_CONFIG when it cannot be read, _CONFIG_NOT_FOUND, _APP_NOT_FOUND for `only`, _USAGE for `env` and `options`.
 */
export async function describeConfig({ file: given = null, value: object, env = null, only = null, cwd, shell, node, stdin = () => text(process.stdin), talk = () => {}, options = {} }) {
  const isObject = object !== undefined;
  const path = isObject ? null : given === null ? findConfig(cwd) : given === STDIN ? STDIN : resolve(cwd, given);
  if (path === null && !isObject) throw noConfig(cwd);
  const isFile = path !== null && path !== STDIN;
  const folder = isFile ? dirname(path) : cwd;
  const shown = isFile ? path : isObject ? 'the object' : 'stdin';
  const { value, oddities, isFunction } = path === null ? { ...asPlain(object), isFunction: false } : await loadConfig(path, { env, version: node.version, stdin, patience: () => ({ ...patienceOf(shell), talk }) });
  const shape = shapeOf(value);
  const read = [...shape.apps.map(({ keyPath, entry }) => readEntry(entry, keyPath)), ...shape.sites.map(({ keyPath, entry }) => readSite(entry, keyPath))];
  const all = read.map((entry) => settleEntry(entry, { options, env, folder, shellCwd: cwd, path: shell.PATH }));
  const entries = chosen(shown, all, only);
  checkOneName(shown, entries, options.name);
  return {
    file: isFile ? path : null, shown, folder, entries, deploy: shape.deploy,
    faults: [...shape.faults, ...oddities.map(({ keyPath, found }) => faultAt(keyPath, found, 'plain values')), ...namesTwice(entries)],
    warnings: [...shape.unknown.flatMap(misspelt), ...(isFunction ? [] : checkEnvironment(shown, all, env)), ...entries.flatMap(({ warnings }) => warnings)],
  };
}

/**
 * @param {string} file
 * @param {Entry[]} entries
 * @param {string|null} only
 * @returns {Entry[]}
 */
function chosen(file, entries, only) {
  if (only === null) return entries;
  const names = entries.flatMap(({ options }) => options.name ?? []);
  const wanted = names.includes(only.trim()) ? [only.trim()] : only.split(/[\s,]+/).filter(Boolean);
  const missing = wanted.filter((name) => !names.includes(name));
  if (missing.length === 0 && wanted.length > 0) return entries.filter(({ options }) => wanted.includes(options.name));
  throw new NclustError('ERR_NCLUST_APP_NOT_FOUND', `--only names ${missing.map((name) => `"${name}"`).join(', ') || 'nothing'}, and "${file}" holds ${names.map((name) => `"${name}"`).join(', ') || 'no apps'}.`, { data: { file, names } });
}

/**
 * A typing error must not start production apps with the variables of none. In a file that has no environments at all nobody could mean one.
 * @param {string} file
 * @param {Entry[]} entries
 * @param {string|null} env
 * @returns {string[]}  Warnings.
 */
function checkEnvironment(file, entries, env) {
  if (env === null || entries.length === 0) return [];
  const names = [...new Set(entries.flatMap(({ environments }) => Object.keys(environments)))];
  if (names.includes(env)) return [];
  if (names.length === 0) return [`--env is "${env}", and no app of "${file}" has "env_${env}": it changes nothing.`];
  throw new NclustError('ERR_NCLUST_USAGE', `--env is "${env}"; accepted: ${names.map((name) => `"${name}"`).join(', ')}, of which "${file}" has the variables.`, { data: { file, names } });
}

/**
 * @param {string} file
 * @param {Entry[]} entries
 * @param {string|undefined} name
 */
function checkOneName(file, entries, name) {
  if (name === undefined || entries.length === 1) return;
  throw new NclustError('ERR_NCLUST_USAGE', `--name is "${name}" for ${entries.length} apps of "${file}"; accepted: one, because names are unique.`);
}

/** @param {Entry[]} entries @returns {Fault[]} */
function namesTwice(entries) {
  return entries.flatMap(({ keyPath, options: { name } }, at) => {
    const first = name === undefined ? -1 : entries.findIndex(({ options }) => options.name === name);
    return first === -1 || first === at ? [] : [faultAt(within(keyPath, 'name'), `is "${name}", as that of ${entries[first].keyPath || 'another app'} is`, 'a name of its own; for several processes of one app there is "instances"')];
  });
}

/**
 * What a file keeps for itself, to share between its apps, is nobody's business; what looks like one of ours is.
 * @param {string} key
 */
function misspelt(key) {
  const [near] = nearWords(key, TOP_LEVEL);
  return near ? [`"${key}" means nothing here; did you mean "${near}"?`] : [];
}
