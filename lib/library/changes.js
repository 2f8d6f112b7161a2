import { existsSync } from 'node:fs';
import { absoluteScripts } from '../commands/apps/targets.js';
import { readConfig, readNames } from '../config/file/read.js';
import { isConfigName } from '../config/find.js';
import { snapshot } from '../config/spec/build.js';
import { NclustError } from '../shared/errors.js';
import { changesBySettings } from './settings.js';

/** @import { ConfigExport } from '../config/config-types.js' */
/** @import { Wanted } from '../config/file/read.js' */
/** @import { Method, PlanItem, SlotStatus } from '../shared/wire/protocol.js' */
/** @import { Ask } from './calls.js' */

/** @typedef {(sentence: string) => void} OnWarning */

/**
 * @param {Ask} ask
 * @param {unknown} what  A script, a config object, the path of a config file, or targets.
 * @param {ConfigSelection & { force?: boolean, onWarning: OnWarning } & Record<string, any>} words
 * @returns {Promise<SlotStatus[]>}
 */
export async function startSpecs(ask, what, { force, onWarning, ...words }) {
  if (isConfig(what)) return renewFromConfig(ask, 'start', what, { ...words, onWarning });
  const isDescribed = Object.keys(words).length > 0;
  if (!isDescribed && (await isListed(ask, what)))
    return requestForTargets(ask, 'start', /** @type {Targets} */ (what));
  if (typeof what !== 'string') return requestForTargets(ask, 'start', /** @type {Targets} */ (what));
  const { specs, warnings } = await readConfig(toReadRequest(ask, { ...words, script: what }, {}));
  warnings.forEach(onWarning);
  return (await ask('start', { specs, ...(force ? { force } : {}) })).slots;
}

/**
 * Apps that are already in the list of the manager get the settings of the config. The other apps
 * of the config are added to the list and started.
 * @param {Ask} ask
 * @param {'start' | 'restart' | 'reload'} how
 * @param {unknown} what
 * @param {ConfigSelection & { onWarning: OnWarning }} choice
 * @returns {Promise<SlotStatus[]>}
 */
async function renewFromConfig(ask, how, what, { onWarning, ...choice }) {
  const { specs, file, warnings } = await readConfig(toReadRequest(ask, what, choice));
  warnings.forEach(onWarning);
  if (specs.length === 0)
    throw new NclustError(
      'ERR_NCLUST_APP_NOT_FOUND',
      `${file === null ? 'The object' : `"${file}"`} contains no apps.`,
      {
        hint: 'Add apps to its list "apps"; docs/config.md has an example.',
      },
    );
  return (await ask('restartFromFile', { specs, how, ...(file === null ? {} : { file }) })).slots;
}

/**
 * @param {Ask} ask
 * @param {'restart' | 'reload'} how
 * @param {unknown} what  Targets, or a config.
 * @param {RestartChoice & { onWarning: OnWarning }} o
 * @returns {Promise<SlotStatus[]>}
 */
export async function restartOrReload(ask, how, what, { updateEnv = false, settings = {}, ...o }) {
  if (isConfig(what)) return renewFromConfig(ask, how, what, o);
  const targets = /** @type {Targets} */ (what);
  const shell = updateEnv ? { env: snapshot(process.env) } : {};
  if (Object.keys(settings).length === 0) return requestForTargets(ask, how, targets, shell);
  const slots = await requestForTargets(ask, 'list', targets, { detail: true });
  const changes = changesBySettings(settings, slots, { cwd: ask.cwd, onWarning: o.onWarning });
  return requestForTargets(ask, how, targets, { ...shell, ...changes });
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
  const targets = await listedAppsOf(ask, what, choice);
  return targets.length === 0 ? [] : (await ask(how, { targets })).slots;
}

/**
 * @param {Ask} ask
 * @param {unknown} what
 * @param
 *   {ConfigSelection & { prune?: boolean, updateEnv?: boolean, dryRun?: boolean, onWarning: OnWarning }} o
 * @returns {Promise<{ plan: PlanItem[], left: string[], slots: SlotStatus[] }>}
 */
export async function applySpecs(
  ask,
  what,
  { env, only, prune = false, updateEnv = false, dryRun = false, onWarning },
) {
  if (prune && only !== undefined)
    throw new NclustError(
      'ERR_NCLUST_USAGE',
      '"only" and "prune" were given; accepted: one of the two, because "prune" needs the whole config to ' +
        'find apps that are not in it.',
    );
  const { specs, file, warnings } = await readConfig(toReadRequest(ask, what, { env, only }));
  warnings.forEach(onWarning);
  const { plan, left, slots } = await ask('apply', {
    specs,
    ...(file === null ? {} : { file }),
    isWhole: only === undefined,
    prune,
    updateEnv,
    dryRun,
  });
  return { plan, left, slots };
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
 * @param {Ask} ask
 * @param {unknown} what
 * @param {ConfigSelection} choice
 */
async function listedAppsOf(ask, what, choice) {
  const names = await readConfigNames(ask, what, choice);
  /** @type {{ slots: SlotStatus[] }} */
  const { slots } = await ask('list');
  return names.filter((name) => slots.some((slot) => slot.name === name));
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
 * @param {Ask} ask
 * @param {unknown} what
 * @param {ConfigSelection} choice
 * @returns {Promise<string[]>}
 */
async function readConfigNames(ask, what, choice) {
  return (await readNames(toReadRequest(ask, what, choice))).names;
}

/**
 * @param {Pick<Ask, 'cwd'>} ask
 * @param {unknown} what
 * @param {ConfigSelection} choice
 * @returns {Wanted}
 */
function toReadRequest({ cwd }, what, { env = undefined, only = undefined }) {
  return {
    ...(typeof what === 'string' ? { file: what } : { value: what }),
    env: env ?? null,
    only: only === undefined ? null : [only].flat().join(','),
    cwd,
    shell: process.env,
    node: { file: process.execPath, version: process.version },
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
 * @param {Ask} ask
 * @returns {Promise<string[]>}
 */
export async function readTargets(targets, ask) {
  const words = toTargetList(targets);
  return absoluteScripts(ask, { request: ask }, words);
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
