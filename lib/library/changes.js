import { existsSync } from 'node:fs';
import { readConfig, readNames } from '../config/file/read.js';
import { isConfigName } from '../config/find.js';
import { snapshot } from '../config/spec/build.js';
import { NclustError } from '../shared/errors.js';
import { changesOf, readSettings } from './setting-changes.js';
import { absoluteScripts } from './targets.js';

/** @import { Shell, ConfigQuery } from '../config/file/read.js' */
/** @import { AppSpec } from '../app-spec/types.js' */
/** @import { Method, PlanItem, SlotStatus } from '../shared/wire/protocol.js' */

/**
 * How a caller changes apps: a command, or the class Nclust. The function sends a request. A change
 * resolves when it has settled, unless the caller does not wait.
 * @typedef {((method: Method, params?: Record<string, unknown>) => Promise<any>) & Shell & {
 *   warn: (sentence: string) => void,
 * }} Ask
 */

/**
 * @param {Ask} ask
 * @param {unknown} what  A script, a config object, the path of a config file, or targets.
 * @param {ConfigSelection & { force?: boolean } & Record<string, any>} words
 * @returns {Promise<SlotStatus[]>}
 */
export async function startSpecs(ask, what, { force, ...words }) {
  if (isConfig(what)) return (await renewApps(ask, 'start', toWanted(what, words))).slots;
  const isDescribed = Object.keys(words).length > 0;
  if (typeof what !== 'string' || (!isDescribed && (await isListed(ask, what))))
    return requestForTargets(ask, 'start', /** @type {Targets} */ (what));
  const { specs } = await readSpecs(ask, toWanted({ ...words, script: what }, {}));
  return (await ask('start', { specs, ...(force ? { force } : {}) })).slots;
}

/**
 * Apps that are already in the list of the manager get the settings of the config. The other apps
 * of the config are added to the list and started.
 * @param {Ask} ask
 * @param {'start' | 'restart' | 'reload'} how
 * @param {ConfigQuery} wanted
 * @param {object} [o]
 * @param {boolean} [o.isPartial]  Leaves out apps with faults. Then `refused` is their error.
 * @param {boolean} [o.isCounted]  The caller has given the number of instances.
 * @returns {Promise<{ slots: SlotStatus[], plan: PlanItem[], refused: NclustError | null }>}
 */
export async function renewApps(ask, how, wanted, { isPartial, isCounted } = {}) {
  const { specs, file, refused } = await readSpecs(ask, wanted, { isPartial });
  if (specs.length === 0) throw noAppsError(file, wanted);
  const from = file === null ? {} : { file };
  try {
    const request = { specs, how, ...from, ...(isCounted ? { isCounted } : {}) };
    const { slots, plan = [] } = await ask('restartFromFile', request);
    return { slots, plan, refused };
  } catch (error) {
    if (refused) ask.warn(refused.message);
    throw error;
  }
}

/**
 * @param {string | null} file
 * @param {ConfigQuery} wanted
 */
export function noAppsError(file, { value }) {
  const what = value === undefined ? `"${file ?? 'stdin'}"` : 'The object';
  return new NclustError('ERR_NCLUST_APP_NOT_FOUND', `${what} contains no apps.`, {
    hint: 'Add apps to its list "apps"; docs/config.md has an example.',
  });
}

/**
 * @param {Ask} ask
 * @param {'restart' | 'reload'} how
 * @param {unknown} what  Targets, or a config.
 * @param {RestartChoice} o
 * @returns {Promise<SlotStatus[]>}
 */
export async function restartOrReload(ask, how, what, { updateEnv = false, settings = {}, ...o }) {
  if (isConfig(what)) return (await renewApps(ask, how, toWanted(what, o))).slots;
  const targets = await readTargets(/** @type {Targets} */ (what), ask);
  const changes = await changesOf({ request: ask }, targets, readSettings(settings, ask.warn), ask);
  const shell = updateEnv ? { env: snapshot(process.env) } : {};
  return (await ask(how, { targets, ...shell, ...changes })).slots;
}

/**
 * @param {Ask} ask
 * @param {'stop' | 'delete'} how
 * @param {unknown} what  Targets, or a config. As in PM2, ignores apps of the config that are not in
 *   the list of the manager.
 * @param {ConfigSelection} choice
 * @returns {Promise<SlotStatus[]>}
 */
export async function stopOrDelete(ask, how, what, choice) {
  if (!isConfig(what)) return requestForTargets(ask, how, /** @type {Targets} */ (what));
  const { names } = await readNames(ask, toWanted(what, choice));
  /** @type {{ slots: SlotStatus[] }} */
  const { slots } = await ask('list');
  const targets = names.filter((name) => slots.some((slot) => slot.name === name));
  return targets.length === 0 ? [] : (await ask(how, { targets })).slots;
}

/**
 * @param {Ask} ask
 * @param {unknown} what
 * @param {ConfigSelection & { prune?: boolean, updateEnv?: boolean, dryRun?: boolean }} o
 * @returns {Promise<{ plan: PlanItem[], left: string[], slots: SlotStatus[] }>}
 */
export async function applySpecs(ask, what, { env, only, dryRun = false, ...o }) {
  if (o.prune && only !== undefined)
    throw new NclustError(
      'ERR_NCLUST_USAGE',
      '"only" and "prune" were given; accepted: one of the two, because "prune" needs the whole config to ' +
        'find apps that are not in it.',
    );
  const request = await readApplied(ask, toWanted(what, { env, only }), o);
  const { plan, left, slots } = await ask('apply', { ...request, dryRun });
  return { plan, left, slots };
}

/**
 * @param {Ask} ask
 * @param {ConfigQuery} wanted
 * @param {{ prune?: boolean, updateEnv?: boolean }} o
 * @returns {Promise<{ specs: AppSpec[], file?: string } & Record<string, unknown>>}  Parameters of
 *   "apply".
 */
export async function readApplied(ask, wanted, { prune = false, updateEnv = false }) {
  const { specs, file } = await readSpecs(ask, wanted);
  const isWhole = (wanted.only ?? null) === null;
  return { specs, ...(file === null ? {} : { file }), isWhole, prune, updateEnv };
}

/**
 * Reads a config, and passes on its warnings.
 * @param {Ask} ask
 * @param {ConfigQuery} wanted
 * @param {{ isPartial?: boolean }} [o]
 */
export async function readSpecs(ask, wanted, o) {
  const config = await readConfig(ask, wanted, o);
  config.warnings.forEach((warning) => ask.warn(warning));
  return config;
}

/**
 * @param {Ask} ask
 * @param {unknown} what
 */
export async function isListed(ask, what) {
  // An absolute path such as "/app/i" looks like a pattern, so check whether the file exists.
  if (typeof what !== 'string' || (/^\/.+\/[imsu]*$/.test(what) && !existsSync(what))) return true;
  /** @type {{ slots: SlotStatus[] }} */
  const { slots } = await ask('list');
  return (
    slots.some(({ id, name, namespace }) => name === what || namespace === what || String(id) === what) ||
    (what === 'all' && slots.length > 0)
  );
}

/**
 * @typedef {object} ConfigSelection
 * @property {string} [env]  The name in `env_<name>`.
 * @property {string | string[]} [only]  Names of apps. Default: all.
 */

/**
 * @typedef {ConfigSelection & { updateEnv?: boolean, settings?: Record<string, unknown> }}
 *   RestartChoice  settings: attributes that become settings of the targets. Not for a config.
 */

/**
 * Whether `what` is a config object or the path of a config file. Otherwise `what` is a script or
 * contains targets.
 * @param {unknown} what
 */
export function isConfig(what) {
  if (typeof what === 'string') return isConfigName(what);
  if (Array.isArray(what)) return what.some((one) => typeof one === 'object' && one !== null);
  return typeof what === 'object' && what !== null;
}

/**
 * @param {unknown} what
 * @param {ConfigSelection} choice
 * @returns {ConfigQuery}
 */
function toWanted(what, { env, only }) {
  return {
    ...(typeof what === 'string' ? { file: what } : { value: what }),
    env,
    only: only === undefined ? undefined : [only].flat().join(','),
  };
}

/**
 * @typedef {string | number | readonly (string | number)[]} Targets  A name, an id, a namespace,
 *   the path of a script, "all", "/pattern/", or a list of these.
 */

/**
 * @param {Ask} ask
 * @param {Method} method
 * @param {Targets} targets
 * @param {Record<string, unknown>} [more]
 * @returns {Promise<any>}
 */
export async function requestForTargets(ask, method, targets, more = {}) {
  return (await ask(method, { targets: await readTargets(targets, ask), ...more })).slots;
}

/**
 * @param {Ask} ask
 * @param {Method} method
 * @param {string | number} target
 * @param {Record<string, unknown>} [more]
 */
export async function requestForTarget(ask, method, target, more = {}) {
  return (await ask(method, { target: (await readTargets(target, ask))[0], ...more })).slots;
}

/**
 * @param {Targets} targets
 * @param {((method: Method, params?: Record<string, unknown>) => Promise<any>) & { cwd: string }} ask
 * @returns {Promise<string[]>}
 */
export async function readTargets(targets, ask) {
  return absoluteScripts(ask, { request: ask }, toTargetList(targets));
}

/**
 * @param {unknown} targets
 * @returns {string[]}
 */
function toTargetList(targets) {
  const list = Array.isArray(targets) ? targets : [targets];
  if (list.length > 0 && list.every((one) => typeof one === 'number' || (typeof one === 'string' && one !== '')))
    return list.map(String);
  throw new NclustError(
    'ERR_NCLUST_USAGE',
    `The target is ${JSON.stringify(targets)}; accepted: a name, an id, a namespace, "all", "/pattern/", or ` +
      `a list of them.`,
  );
}
