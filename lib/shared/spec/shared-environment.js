/** @typedef {import('./spec.js').AppSpec} AppSpec */

/**
 * Variables of one origin.
 * @typedef {object} Layer
 * @property {'interpreter'|'shell'|'user'|'file'|'env'|'increment_var'|'secret'|'nclust'} origin
 * @property {string} [file]  Of origin file: its path.
 * @property {Record<string, string>} env
 */

/** What is shown in place of the value of a secret. */
export const MASK = '***';

/**
 * Where the variables of an instance come from, in the order in which they overrule each other; the last one wins. A function of the spec, the slot and the home, nothing else.
 * @param {AppSpec} spec
 * @param {{id: number, slot: number}} place
 * @param {string} home
 * @param {Record<string, string>} [secrets]  Their values. Default: what can be shown of them.
 * @returns {Layer[]}
 */
export function layersOf(spec, { id, slot }, home, secrets = masked(spec)) {
  const declared = declaredLayers(spec);
  return [
    ...declared,
    { origin: 'increment_var', env: incremented(spec, flatten(declared), slot) },
    { origin: 'secret', env: secrets },
    { origin: 'nclust', env: { name: spec.name, pm_id: String(id), [spec.instanceVar]: String(slot), NCLUST_HOME: home, PM2_HOME: home } },
  ];
}

/**
 * @param {Layer[]} layers
 * @returns {Record<string, string>}
 */
export function flatten(layers) {
  return Object.assign({}, ...layers.map(({ env }) => env));
}

/**
 * The same for every slot, without the secrets.
 * @param {AppSpec} spec
 * @returns {Layer[]}
 */
export function declaredLayers(spec) {
  return [
    { origin: 'interpreter', env: spec.interpreterEnv },
    { origin: 'shell', env: filtered(spec.shellEnv, spec.filterEnv) },
    { origin: 'user', env: spec.ownerEnv },
    ...spec.fileEnv.map(({ file, env }) => ({ origin: /** @type {const} */ ('file'), file, env })),
    { origin: 'env', env: spec.env },
  ];
}

/**
 * What an app is given of a shell.
 * @param {Record<string, string>} shellEnv
 * @param {AppSpec['filterEnv']} filter
 * @returns {Record<string, string>}
 */
export function filtered(shellEnv, filter) {
  if (filter === false) return shellEnv;
  return Object.fromEntries(Object.entries(shellEnv).filter(([key]) => !isLeftOut(key, filter)));
}

/**
 * @param {string} key
 * @param {true|string|string[]} filter
 */
function isLeftOut(key, filter) {
  if (filter === true) return true;
  return typeof filter === 'string' ? key === filter : filter.some((part) => key.includes(part));
}

/**
 * Why a spec cannot become an environment, in words that follow the name of the app.
 * @param {AppSpec} spec
 * @returns {string|null}
 */
export function environmentFault(spec) {
  const { incrementVar } = spec;
  if (incrementVar === null) return null;
  const env = flatten(declaredLayers(spec));
  if (!Object.hasOwn(env, incrementVar)) return `its increment_var is "${incrementVar}", and there is no such variable to count from`;
  return isNumber(env[incrementVar]) ? null : `its increment_var is "${incrementVar}", and the value of that variable is no whole number`;
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
