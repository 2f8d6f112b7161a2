import { existsSync, renameSync, rmSync } from 'node:fs';
import { completeSpec } from '../../../lib/app-spec/check.js';
import { changeAllSpecs, emptyDesired } from './desired.js';
import { isDiskFull, notWritten, overwriteSealed, readSealed, writeInNeed, writeSealed } from './durable-file.js';

/** @import { HomePaths } from '../../../lib/shared/paths.js' */
/** @import { ManagerLog } from '../context.js' */
/** @import { Desired } from './desired.js' */
/** @import { Reading } from './durable-file.js' */
/** @import { Registry } from './registry.js' */

/**
 * @typedef {object} Store
 * @property {() => Loaded} load  Never throws.
 * @property {(desired: Desired) => void} save  Returns when the state is on disk. Throws
 *   ERR_NCLUST_STATE_WRITE; then the old state is still on disk.
 * @property {() => boolean} isMissing
 */

/**
 * @typedef {object} Loaded
 * @property {Desired} desired
 * @property {boolean} isExact  False if the last changes may be missing. Then control must not
 *   end a process only because the list does not contain it.
 * @property {boolean} [isNew]  There was no list. If processes run, another program removed it.
 * @property {string[]} notices
 */

/**
 * @param {Pick<HomePaths, 'state' | 'stateBackup' | 'reserve'>} paths
 * @param {() => number} nowMs
 * @returns {Store}
 */
export function createStore({ state, stateBackup, reserve }, nowMs) {
  return {
    load() {
      const reading = readSealed(state);
      if (reading.kind === 'good') return { desired: asDesired(reading.value), isExact: true, notices: [] };
      const backup = readSealed(stateBackup);
      if (reading.kind === 'missing' && backup.kind === 'missing')
        return { desired: emptyDesired(), isExact: false, isNew: true, notices: [] };
      const aside = reading.kind === 'bad' ? setAside(state, nowMs()) : null;
      const notice = describeLoss(state, reading, aside, backup);
      return {
        desired: backup.kind === 'good' ? asDesired(backup.value) : emptyDesired(),
        isExact: false,
        notices: [notice],
      };
    },
    save(desired) {
      try {
        writeInNeed(reserve, state, () => writeSealed(state, desired, stateBackup));
      } catch (error) {
        if (isDiskFull(error) && saveWithoutRoom({ state, stateBackup }, desired)) return;
        const { code, message } = /** @type {NodeJS.ErrnoException} */ (error);
        const what = `The desired state could not be written to "${state}" (${code ?? message}); nothing was changed.`;
        throw notWritten('ERR_NCLUST_STATE_WRITE', what, error);
      }
    },
    isMissing: () => !existsSync(state),
  };
}

/**
 * For a change that control makes without a request. If the write fails, control continues, because
 * it would decide the same again, and the next save includes the change.
 * @param {{ registry: Registry, parts: { store: Store, managerLog: ManagerLog } }} context
 */
export function saveIfPossible({ registry, parts }) {
  try {
    parts.store.save(registry.desired);
  } catch (error) {
    parts.managerLog('state-write-failed', { message: /** @type {Error} */ (error).message });
  }
}

/**
 * For a full disk without a reserve. Keeps only the last receipt, so control may carry out an
 * earlier request twice if it crashes and the client repeats the request.
 * @param {Pick<HomePaths, 'state' | 'stateBackup'>} paths
 * @param {Desired} desired
 * @returns {boolean}  False: the list does not fit, and nothing was written.
 */
function saveWithoutRoom({ state, stateBackup }, desired) {
  if (desired.apps.length > 0) return overwriteSealed(state, { ...desired, tokens: desired.tokens.slice(-1) });
  // An empty list needs no file, so control can free the space of the files.
  for (const file of [stateBackup, state]) rmSync(file, { force: true });
  return true;
}

/**
 * Adds missing fields, because a file of an earlier version may lack fields. Checks nothing else,
 * because only nclust writes sealed files.
 * @param {Record<string, unknown>} value
 * @returns {Desired}
 */
function asDesired(value) {
  const desired = /** @type {Desired} */ (/** @type {unknown} */ (value));
  return { ...desired, apps: desired.apps.map((app) => changeAllSpecs(app, completeSpec)) };
}

/**
 * @param {string} file
 * @param {number} nowMs
 * @returns {string | null}
 */
function setAside(file, nowMs) {
  const aside = `${file}.bad-${nowMs}`;
  try {
    renameSync(file, aside);
    return aside;
  } catch {
    return null; // The folder is not writable. The first change will report the error.
  }
}

/**
 * @param {string} file
 * @param {Reading} reading
 * @param {string | null} aside
 * @param {Reading} backup
 */
function describeLoss(file, reading, aside, backup) {
  const what =
    reading.kind === 'bad'
      ? `The desired state in "${file}" could not be used: ${reading.why}.`
      : `The desired state "${file}" is missing.`;
  const kept = aside ? ` It is kept as "${aside}".` : '';
  const instead =
    backup.kind === 'good'
      ? ' The state before the last change is used instead.'
      : ' There is no usable copy either, so the list is empty; "nclust resurrect" restores the saved list.';
  return `${what}${kept}${instead}`;
}
