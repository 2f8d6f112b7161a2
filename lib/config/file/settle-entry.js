import { basename, extname } from 'node:path';
import { faultOf } from '../faults.js';
import { findProgram } from '../spec/find-program.js';
import { placeScript } from '../place-script.js';
import { isServeApp, serveApp, staticSite } from './static-site.js';
import { readEntry } from './entry.js';

/** @typedef {import('./entry.js').Entry} Entry */

/**
 * What decides besides the file.
 * @typedef {object} Choice
 * @property {Record<string, any>} options  By key: what the command line says about every app.
 * @property {string|null} env  Whose `env_<name>` counts.
 * @property {string} folder  Of the config file.
 * @property {string} shellCwd
 * @property {string|undefined} path  PATH.
 */

/**
 * The app that serves a folder.
 * @param {unknown} site  An entry of `static`.
 * @param {string} keyPath
 * @returns {Entry}
 */
export function readSite(site, keyPath) {
  try {
    return readEntry(staticSite(/** @type {Record<string, any>} */ (site), keyPath), keyPath);
  } catch (error) {
    return { keyPath, options: {}, environments: {}, faults: [faultOf(error, keyPath)], warnings: [] };
  }
}

/**
 * An entry with its name, and with the variables of the environment that was chosen. The command line counts before the file.
 * @param {Entry} entry
 * @param {Choice} choice
 * @returns {Entry}
 */
export function settleEntry(entry, choice) {
  const { env: own, ...said } = { ...entry.options, ...choice.options };
  const chosen = choice.env === null ? undefined : entry.environments[choice.env];
  const env = own || chosen ? { env: { ...own, ...chosen } } : {};
  if (said.script === undefined) return { ...entry, options: { ...said, ...env } };
  try {
    const options = asServer({ ...said, ...env }, choice);
    return { ...entry, options: { ...options, name: nameOf(options, choice) } };
  } catch (error) {
    return { ...entry, options: { ...said, ...env }, faults: [...entry.faults, faultOf(error, entry.keyPath)] };
  }
}

/**
 * PM2 means itself by `script: "serve"`; here a program of that name is meant when there is one, unless the variables are those of PM2's server.
 * @param {Record<string, any>} options
 * @param {Choice} choice
 */
function asServer(options, { folder, shellCwd, path }) {
  if (!isServeApp(/** @type {{script: string}} */ (options))) return options;
  const place = placeScript(options.script, options.cwd, { folder, shellCwd });
  const isProgram = place.file !== null || findProgram(options.script, { path, cwd: place.cwd }) !== null;
  return isProgram && !Object.keys(options.env ?? {}).some((key) => key.startsWith('PM2_SERVE_')) ? options : serveApp(options);
}

/**
 * @param {Record<string, any>} options
 * @param {Choice} choice
 * @returns {string}
 */
function nameOf({ name, script, cwd, appendEnvToName }, { env, folder, shellCwd }) {
  const isCommand = /\s/.test(script.trim()) && placeScript(script, cwd, { folder, shellCwd }).file === null;
  const byDefault = isCommand ? script.trim().replace(/\s+/g, ' ').slice(0, 100) : basename(script, extname(script));
  return `${name ?? byDefault}${appendEnvToName && env !== null ? `-${env}` : ''}`;
}
