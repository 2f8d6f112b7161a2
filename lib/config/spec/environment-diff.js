import { listLayers, MASK } from '../../app-spec/layers.js';

/** @import { Layer } from '../../app-spec/layers.js' */
/** @import { SlotStatus } from '../../shared/wire/protocol.js' */

/**
 * @typedef {object} Difference
 * @property {string} name
 * @property {'added' | 'removed' | 'changed'} change  `added`: only the instance has the variable.
 * @property {string | null} value  In the instance. Null: absent.
 * @property {string | null} shell  In the shell. Null: absent.
 * @property {string} origin  Where the variable of the instance comes from, or why it is absent.
 */

/** Words for the origin of a variable. If the origin is a file, its path is shown instead. */
const ORIGINS = {
  interpreter: 'interpreter',
  shell: 'shell at start',
  user: 'user',
  env: 'env',
  increment_var: 'increment_var',
  secret: 'secret',
  nclust: 'nclust',
};

/** Every shell sets these variables itself, so only values that the app declares are compared. */
const PASSING = new Set(['_', 'SHLVL', 'OLDPWD', 'PWD']);

/**
 * @param {SlotStatus} slot  With detail.
 * @param {Record<string, string>} shell
 * @param {string} home
 * @returns {Difference[]}
 */
export function envDiff({ spec, effectiveEnv = {}, ...place }, shell, home) {
  const layers = spec ? listLayers(spec, place, home) : [];
  const secrets = new Set(Object.keys(spec?.secrets ?? {}));
  const names = [...new Set([...Object.keys(effectiveEnv), ...Object.keys(shell)])].sort();
  return names.flatMap((name) => {
    const value = ofOwn(effectiveEnv, name);
    const typed = ofOwn(shell, name);
    // A secret is always listed, because its value is masked and cannot be compared.
    if (value === typed && !secrets.has(name)) return [];
    const origin = value === null ? absence(name, layers, spec) : getOrigin(name, layers);
    if (PASSING.has(name) && (value === null || origin === ORIGINS.shell)) return [];
    const change = typed === null ? 'added' : value === null ? 'removed' : 'changed';
    return [{ name, change, value, shell: typed !== null && secrets.has(name) ? MASK : typed, origin }];
  });
}

/**
 * @param {SlotStatus} slot
 * @param {Record<string, string>} shell
 * @param {string} home
 */
export function diffDeclared(slot, shell, home) {
  return envDiff(slot, shell, home).filter(({ change, origin }) => change !== 'removed' && origin !== ORIGINS.nclust);
}

/**
 * @param {Record<string, string>} env
 * @param {string} name
 */
function ofOwn(env, name) {
  return Object.hasOwn(env, name) ? env[name] : null;
}

/**
 * @param {string} name
 * @param {Layer[]} layers
 */
function getOrigin(name, layers) {
  const layer = layers.findLast(({ env }) => Object.hasOwn(env, name));
  if (!layer) return 'settings before the reload that is under way';
  return layer.origin === 'file' ? /** @type {string} */ (layer.file) : ORIGINS[layer.origin];
}

/**
 * @param {string} name
 * @param {Layer[]} layers
 * @param {SlotStatus['spec']} spec
 */
function absence(name, layers, spec) {
  const wasThere = Object.hasOwn(spec?.shellEnv ?? {}, name) && !layers.some(({ env }) => Object.hasOwn(env, name));
  return wasThere ? 'filter_env' : 'not in the shell at start';
}
