// Knows: what a new process needs: environment, secrets, files, capacity, and checks beforehand.
// Must not: start a process, or change the desired state.
import { isWayTrusted, readUser } from '../../../lib/shared/host/as-user.js';
import { followLinks, isOwnOutput } from '../../../lib/shared/host/follow-links.js';
import { canUseChannel, hasChannel, mayStartNode } from '../../../lib/app-spec/channel.js';
import { flatten, listLayers, readDeclaredLayers } from '../../../lib/app-spec/layers.js';
import { logFile } from '../../../lib/shared/paths.js';
import { extname } from 'node:path';
import { getScope } from '../state/registry.js';

/** @import { AppSpec } from '../../../lib/app-spec/types.js' */
/** @import { Label } from '../state/registry.js' */

/**
 * @typedef {object} SlotKey
 * @property {number} id
 * @property {number} slot
 * @property {number} generation
 */

/**
 * @param {AppSpec} spec
 * @param {SlotKey} place
 * @param {object} o
 * @param {string} o.instanceId
 * @param {string} o.home
 * @param {Label} o.label
 * @param {Record<string, string>} o.secrets
 */
export function spawnParams(spec, place, { instanceId, home, label, secrets }) {
  const isNode = spec.kind === 'node';
  const mayHaveChannel = !label.hasNoChannel;
  return {
    instanceId,
    app: spec.name,
    scope: label.scope,
    label,
    mode: isNode ? spec.mode : 'exec',
    file: spec.file,
    ...(isNode
      ? { script: spec.script }
      : { hasChannel: mayHaveChannel && hasChannel(spec), hasPreload: mayHaveChannel && mayStartNode(spec) }),
    args: isNode ? spec.args : spec.execArgs,
    execArgv: isNode ? [...spec.interpreterArgs, ...(label.hasSecretInspector ? [SECRET_INSPECTOR] : [])] : [],
    slot: place.slot,
    ...(label.isGated ? { isGated: true } : {}),
    ...(spec.metrics ? {} : { metrics: false }),
    ...(isNode && spec.mode === 'cluster' ? { scheduling: spec.scheduling } : {}),
    cwd: spec.cwd,
    ...(isWayTrusted(readUser(spec), spec.cwd) ? { isCwdTrusted: true } : {}),
    env: withMarkersFirst({ ...instanceEnv(spec, place, home, secrets), NCLUST_INSTANCE: instanceId }),
    logFiles: standInFiles(label),
    ...(spec.uid === null ? {} : { uid: spec.uid }),
    ...(spec.gid === null ? {} : { gid: spec.gid }),
  };
}

/**
 * Makes Node.js print the address of its inspector, when it is opened, only on stderr, which only
 * control reads. Otherwise every user of the machine could ask its port for the address, and run
 * code in the process. The agent takes the option out of process.execArgv.
 */
const SECRET_INSPECTOR = '--inspect-publish-uid=stderr';

/**
 * False if the app has options of its own for the inspector.
 * @param {AppSpec} spec
 */
export function canHideInspector(spec) {
  const { NODE_OPTIONS = '' } = flatten(readDeclaredLayers(spec));
  return (
    spec.kind === 'node' &&
    process.platform === 'linux' &&
    process.features.inspector &&
    !/--(?:inspect|debug-port)/.test([...spec.interpreterArgs, NODE_OPTIONS].join(' '))
  );
}

/**
 * Only the first 256 KiB of an environment are searched for these variables.
 * @param {Record<string, string>} env
 */
function withMarkersFirst(env) {
  const { NCLUST_INSTANCE, NCLUST_HOME, pm_id, name } = env;
  return { NCLUST_INSTANCE, NCLUST_HOME, pm_id, name, ...env };
}

/**
 * Returns the environment of an instance, except NCLUST_INSTANCE. This environment is the same for
 * each instance of a slot, unless the spec or the secrets change.
 * @param {AppSpec} spec
 * @param {Pick<SlotKey, 'id' | 'slot'>} place
 * @param {string} home
 * @param {Record<string, string>} [secrets]  Default: masked.
 * @returns {Record<string, string>}
 */
export function instanceEnv(spec, place, home, secrets) {
  return flatten(listLayers(spec, place, home, secrets));
}

/**
 * @param {AppSpec} spec
 * @param {SlotKey} place
 * @param {object} o
 * @param {number} o.spawns
 * @param {string} o.logs
 * @param {string} [o.scope]  Default: the name of the app.
 * @returns {Label}
 */
export function createLabel(spec, { id, slot, generation }, { spawns, logs, scope }) {
  const user = readUser(spec);
  return {
    name: spec.name,
    slot,
    id,
    generation,
    spawns,
    scope: getScope(spec, slot, scope),
    ...logFiles(spec, id, logs),
    ...(user ? { user } : {}),
    stop: stopSettings(spec),
  };
}

/**
 * @param {AppSpec} spec
 * @returns {Label['stop']}
 */
export function stopSettings(spec) {
  return {
    killTimeoutMs: spec.killTimeoutMs,
    signal: spec.stopSignal,
    tree: spec.treekill,
    ...(spec.shutdownWithMessage && canUseChannel(spec) ? { message: true } : {}),
  };
}

/**
 * The files to which a worker writes its output while both keeper and control are dead.
 * @param {Label} label
 */
function standInFiles({ outFile, errorFile, logFile: both = '' }) {
  const instead = outFile === '' && errorFile === '' ? both : '';
  return { out: outFile || instead || null, err: errorFile || instead || null };
}

/**
 * Follows links, so that a target is rotated in its own folder. An empty string means that the file
 * is not written.
 * @param {AppSpec} spec
 * @param {number} id
 * @param {string} logs
 */
export function logFiles(spec, id, logs) {
  if (spec.disableLogs) return { outFile: '', errorFile: '', logFile: '' };
  const isMerged = spec.mergeLogs ?? (spec.mode === 'fork' && !spec.instancesGiven);
  const suffix = isMerged ? null : id;
  const user = readUser(spec);
  /**
   * @param {string} given
   * @param {'out' | 'err' | null} stream
   */
  const getFile = (given, stream) => {
    if (given === 'NULL' || given === '/dev/null') return '';
    const path = given === '' || isOwnOutput(given) ? given : followLinks(user, withSuffix(given, suffix));
    return path === '' || isOwnOutput(path) ? logFile(logs, spec.name, stream, suffix) : path;
  };
  return {
    outFile: getFile(spec.outFile, 'out'),
    errorFile: getFile(spec.errorFile, 'err'),
    logFile: spec.logFile === '' ? '' : getFile(spec.logFile === 'default' ? '' : spec.logFile, null),
  };
}

/**
 * @param {string} path
 * @param {number | null} suffix
 */
function withSuffix(path, suffix) {
  if (suffix === null || path.startsWith('/dev/')) return path;
  const extension = extname(path);
  return `${path.slice(0, path.length - extension.length)}-${suffix}${extension}`;
}
