import { filterShell } from '../../../lib/app-spec/layers.js';
import { checkSpec, checkSpecChange, laterFields } from '../../../lib/app-spec/check.js';
import { checkCompression } from '../logs/archive/compression.js';
import { keepOffOwnFiles } from '../spawn/reserved-paths.js';
import { checkCron } from '../triggers/cron.js';
import { switchWatching } from '../triggers/watches.js';
import { BadParams } from './params.js';

/** @import { HomePaths } from '../../../lib/shared/paths.js' */
/** @import { AppSpec } from '../../../lib/app-spec/types.js' */

/**
 * @param {unknown} given
 * @param {HomePaths} paths
 * @param {string} [keyPath]
 * @returns {AppSpec}  Throws ERR_NCLUST_BAD_SPEC, or ERR_NCLUST_BAD_SETTING if this Node.js cannot
 *   compress logs as wanted.
 */
export function acceptSpec(given, paths, keyPath) {
  const spec = checkSpec(given, keyPath);
  if (spec.logCompress !== null) checkCompression(spec.logCompress);
  if (spec.cronRestart !== null) checkCron(spec.cronRestart);
  return keepOffOwnFiles(spec, paths);
}

/**
 * @param {unknown[]} given
 * @param {HomePaths} paths
 * @returns {AppSpec[]}  Throws like acceptSpec(), and BadParams for two apps of one name.
 */
export function acceptFile(given, paths) {
  const specs = given.map((spec, at) => acceptSpec(spec, paths, `specs[${at}]`));
  const twin = specs.find(({ name }, at) => specs.findIndex((other) => other.name === name) !== at);
  if (twin) throw new BadParams('specs', `a list of apps with different names; "${twin.name}" is in it twice`);
  return specs;
}

/**
 * @param {HomePaths} paths
 * @param {object} o
 * @param {Record<string, string>} [o.env]  The new shell environment of the apps.
 * @param {Partial<AppSpec>} o.fields  For all apps.
 * @param {Record<string, unknown>} [o.specs]  Fields by app name, because each script has a
 *   different interpreter.
 * @returns {(spec: AppSpec) => AppSpec}  The function throws like acceptSpec(). Invalid `specs`
 *   throw before it is returned.
 */
export function createSpecChanger(paths, { env, fields, specs = {} }) {
  const ownFields = new Map(
    Object.entries(specs).map(([name, given]) => [name, checkOwnFields(given, `specs.${name}`)]),
  );
  return (spec) => {
    const given = { ...fields, ...ownFields.get(spec.name), name: spec.name };
    const shell = env ? inShell({ ...spec, ...given }, env) : {};
    const changed = acceptSpec({ ...spec, ...shell, ...switchWatching(given) }, paths);
    return { ...laterFields(spec), ...changed };
  };
}

/**
 * @param {unknown} given
 * @param {string} keyPath
 */
function checkOwnFields(given, keyPath) {
  const fields = checkSpecChange(given, keyPath);
  if (fields.instances !== undefined) throw new BadParams(`${keyPath}.instances`, 'left out here; "scale" changes it');
  if (fields.name !== undefined)
    throw new BadParams(`${keyPath}.name`, 'left out here; "spec" has the new name of one app');
  return fields;
}

/**
 * Variables of the shell override declared variables, because the user may have typed the new value
 * in front of the command.
 * @param {AppSpec} spec
 * @param {Record<string, string>} shellEnv
 * @returns {Pick<AppSpec, 'env' | 'shellEnv'>}
 */
function inShell({ env, filterEnv }, shellEnv) {
  const seen = filterShell(shellEnv, filterEnv);
  return {
    shellEnv,
    env: Object.fromEntries(
      Object.entries(env).map(([key, value]) => [key, Object.hasOwn(seen, key) ? seen[key] : value]),
    ),
  };
}
