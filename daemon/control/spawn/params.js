// Knows: what a new process needs: environment, secrets, files, capacity, and checks beforehand.
// Must not: start a process, or change the desired state.
import { readUser } from '../../../lib/shared/host/as-user.js';
import { flatten, listLayers } from '../../../lib/shared/spec/environment.js';
import { logFile } from '../../../lib/shared/paths.js';
import { extname } from 'node:path';
import { getScope } from '../state/registry.js';

/** @import { AppSpec } from '../../../lib/shared/spec/spec.js' */
/** @import { Label } from '../state/registry.js' */

/**
 * @typedef {object} Place
 * @property {number} id
 * @property {number} slot
 * @property {number} generation
 */

/**
 * @param {AppSpec} spec
 * @param {Place} place
 * @param {object} o
 * @param {string} o.instanceId
 * @param {string} o.home
 * @param {Label} o.label
 * @param {Record<string, string>} o.secrets
 */
export function spawnParams(spec, place, { instanceId, home, label, secrets }) {
  const isNode = spec.kind === 'node';
  return {
    instanceId,
    app: spec.name,
    scope: label.scope,
    label,
    mode: isNode ? spec.mode : 'exec',
    file: spec.file,
    ...(isNode ? { script: spec.script } : {}),
    args: isNode ? spec.args : spec.execArgs,
    execArgv: isNode ? spec.interpreterArgs : [],
    slot: place.slot,
    ...(label.isGated ? { isGated: true } : {}),
    ...(spec.metrics ? {} : { metrics: false }),
    ...(isNode && spec.mode === 'cluster' ? { scheduling: spec.scheduling } : {}),
    cwd: spec.cwd,
    env: { ...instanceEnv(spec, place, home, secrets), NCLUST_INSTANCE: instanceId },
    logFiles: standInFiles(label),
    ...(spec.uid === null ? {} : { uid: spec.uid }),
    ...(spec.gid === null ? {} : { gid: spec.gid }),
  };
}

/**
 * Returns the environment of an instance, except NCLUST_INSTANCE. This environment is the same for
 * each instance of a slot, unless the spec or the secrets change.
 * @param {AppSpec} spec
 * @param {Pick<Place, 'id' | 'slot'>} place
 * @param {string} home
 * @param {Record<string, string>} [secrets]  Default: masked.
 * @returns {Record<string, string>}
 */
export function instanceEnv(spec, place, home, secrets) {
  return flatten(listLayers(spec, place, home, secrets));
}

/**
 * @param {AppSpec} spec
 * @param {Place} place
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
export function stopSettings({ kind, killTimeoutMs, stopSignal, treekill, shutdownWithMessage }) {
  return {
    killTimeoutMs,
    signal: stopSignal,
    tree: treekill,
    ...(shutdownWithMessage && kind === 'node' ? { message: true } : {}),
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
 * An empty string means that the file is not written.
 * @param {AppSpec} spec
 * @param {number} id
 * @param {string} logs
 */
export function logFiles(spec, id, logs) {
  if (spec.disableLogs) return { outFile: '', errorFile: '', logFile: '' };
  const isMerged = spec.mergeLogs ?? (spec.mode === 'fork' && !spec.instancesGiven);
  const suffix = isMerged ? null : id;
  return {
    outFile: fileFor(spec.outFile, suffix, () => logFile(logs, spec.name, 'out', suffix)),
    errorFile: fileFor(spec.errorFile, suffix, () => logFile(logs, spec.name, 'err', suffix)),
    logFile:
      spec.logFile === ''
        ? ''
        : fileFor(spec.logFile === 'default' ? '' : spec.logFile, suffix, () => logFile(logs, spec.name, null, suffix)),
  };
}

/**
 * @param {string} given
 * @param {number | null} suffix
 * @param {() => string} byDefault
 */
function fileFor(given, suffix, byDefault) {
  if (given === '') return byDefault();
  if (given === 'NULL' || given === '/dev/null') return '';
  if (suffix === null || given.startsWith('/dev/')) return given;
  const extension = extname(given);
  return `${given.slice(0, given.length - extension.length)}-${suffix}${extension}`;
}
