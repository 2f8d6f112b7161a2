import { layersOf, MASK } from '../../shared/spec/environment.js';

/** @import { Layer } from '../../shared/spec/environment.js' */
/** @import { SlotStatus } from '../../shared/wire/protocol.js' */

/**
 * A variable that an instance has otherwise than the shell, or only one of them has.
 * @typedef {object} Difference
 * @property {string} name
 * @property {'added' | 'removed' | 'changed'} change  Seen from the shell.
 * @property {string | null} value  Of the instance; null: it does not have it.
 * @property {string | null} shell  Of the shell.
 * @property {string} origin  Where the instance has it from, or why it does not have it.
 */

/** What each origin is called, but for files: those are their paths. */
const ORIGINS = {
  interpreter: 'interpreter',
  shell: 'shell at start',
  user: 'user',
  env: 'env',
  increment_var: 'increment_var',
  secret: 'secret',
  nclust: 'nclust',
};

/** Of the shell that a command is typed in, and no matter of the app. */
const PASSING = new Set(['_', 'SHLVL', 'OLDPWD', 'PWD']);

/**
 * @param {SlotStatus} slot  With detail.
 * @param {Record<string, string>} shell
 * @param {string} home
 * @returns {Difference[]}  By name.
 */
export function envDiff({ spec, effectiveEnv = {}, ...place }, shell, home) {
  const layers = spec ? layersOf(spec, place, home) : [];
  const secrets = new Set(Object.keys(spec?.secrets ?? {}));
  const names = [...new Set([...Object.keys(effectiveEnv), ...Object.keys(shell)])].sort();
  return names.flatMap((name) => {
    const value = ofOwn(effectiveEnv, name);
    const typed = ofOwn(shell, name);
    // What cannot be compared is not said to be the same.
    if (value === typed && !secrets.has(name)) return [];
    const origin = value === null ? absence(name, layers, spec) : originOf(name, layers);
    if (PASSING.has(name) && (value === null || origin === ORIGINS.shell)) return [];
    const change = typed === null ? 'added' : value === null ? 'removed' : 'changed';
    return [{ name, change, value, shell: typed !== null && secrets.has(name) ? MASK : typed, origin }];
  });
}

/**
 * Of these, what an app has and a shell has not, without what nclust gives to every app.
 * @param {SlotStatus} slot  With detail.
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
function originOf(name, layers) {
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
