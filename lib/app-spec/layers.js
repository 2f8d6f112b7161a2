/** @import { AppSpec } from './types.js' */

/**
 * @typedef {'interpreterEnv' | 'shellEnv' | 'filterEnv' | 'ownerEnv' | 'fileEnv' | 'env'} Declared
 */

/**
 * @typedef {object} Layer
 * @property
 *   {'interpreter' | 'shell' | 'user' | 'file' | 'env' | 'increment_var' | 'secret' | 'nclust'}
 *   origin
 * @property {string} [file]
 * @property {Record<string, string>} env
 */

export const MASK = '***';

/**
 * If several layers set the same variable, the last layer wins.
 * @param {AppSpec} spec
 * @param {{ id: number, slot: number }} place
 * @param {string} home
 * @param {Record<string, string>} [secrets]
 * @returns {Layer[]}
 */
export function listLayers(spec, { id, slot }, home, secrets = masked(spec)) {
  const declared = readDeclaredLayers(spec);
  const number = setsOwnNumber(spec) ? {} : { [spec.instanceVar]: String(slot) };
  return [
    ...declared,
    { origin: 'increment_var', env: incremented(spec, flatten(declared), slot) },
    { origin: 'secret', env: secrets },
    {
      origin: 'nclust',
      env: { name: spec.name, pm_id: String(id), ...number, NCLUST_HOME: home, PM2_HOME: home },
    },
  ];
}

/**
 * Whether the `env` of the app itself sets the variable that holds the number of the instance, as
 * in `NODE_APP_INSTANCE: ''`. A value of the shell does not count, because `env: {...process.env}`
 * copies the number of another app if the command runs inside of that app.
 * @param {Pick<AppSpec, 'env' | 'shellEnv' | 'instanceVar'>} spec
 */
export function setsOwnNumber({ env, shellEnv, instanceVar }) {
  return Object.hasOwn(env, instanceVar) && env[instanceVar] !== shellEnv[instanceVar];
}

/**
 * @param {Layer[]} layers
 * @returns {Record<string, string>}
 */
export function flatten(layers) {
  return Object.assign({}, ...layers.map(({ env }) => env));
}

/**
 * Returns the layers that are the same for every slot, without the secrets.
 * @param {Pick<AppSpec, Declared>} spec
 * @returns {Layer[]}
 */
export function readDeclaredLayers(spec) {
  return [
    { origin: 'interpreter', env: spec.interpreterEnv },
    { origin: 'shell', env: filterShell(spec.shellEnv, spec.filterEnv) },
    { origin: 'user', env: spec.ownerEnv },
    ...spec.fileEnv.map(({ file, env }) => ({ origin: /** @type {const} */ ('file'), file, env })),
    { origin: 'env', env: spec.env },
  ];
}

/**
 * Variables for a program that nclust runs for an app, such as git: those of the app, and of this
 * process only those that every program needs.
 * @param {Pick<AppSpec, Declared | 'uid'>} spec
 * @param {Record<string, string | undefined>} own  Of this process.
 */
export function readProgramVariables(spec, { PATH, LANG, HOME }) {
  return { LANG, ...(spec.uid === null ? { HOME } : {}), ...flatten(readDeclaredLayers(spec)), PATH };
}

/**
 * @param {Record<string, string>} shellEnv
 * @param {AppSpec['filterEnv']} filter
 */
export function filterShell(shellEnv, filter) {
  if (filter === false) return shellEnv;
  return Object.fromEntries(Object.entries(shellEnv).filter(([key]) => !isLeftOut(key, filter)));
}

/**
 * @param {string} key
 * @param {true | string | string[]} filter
 */
function isLeftOut(key, filter) {
  if (filter === true) return true;
  return typeof filter === 'string' ? key === filter : filter.some((part) => key.includes(part));
}

/**
 * Checks `incrementVar`. Returns null if it can be used, else a text that follows the name of the
 * app in a message.
 * @param {AppSpec} spec
 */
export function environmentFault(spec) {
  const { incrementVar } = spec;
  if (incrementVar === null) return null;
  const env = flatten(readDeclaredLayers(spec));
  if (!Object.hasOwn(env, incrementVar))
    return `its increment_var is "${incrementVar}", and that variable does not exist`;
  return isNumber(env[incrementVar])
    ? null
    : `its increment_var is "${incrementVar}", and the value of that variable is not a whole number`;
}

/**
 * @param {AppSpec} spec
 * @param {Record<string, string>} env
 * @param {number} slot
 * @returns {Record<string, string>}
 */
function incremented({ incrementVar }, env, slot) {
  if (incrementVar === null || !Object.hasOwn(env, incrementVar) || !isNumber(env[incrementVar])) return {};
  return { [incrementVar]: String(Number(env[incrementVar]) + slot) };
}

/** @param {string} text */
function isNumber(text) {
  return /^\s*-?\d+\s*$/.test(text) && Number.isSafeInteger(Number(text));
}

/** @param {AppSpec} spec */
function masked({ secrets }) {
  return Object.fromEntries(Object.keys(secrets).map((name) => [name, MASK]));
}
