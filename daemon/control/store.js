import { createHash } from 'node:crypto';
import { closeSync, copyFileSync, fsyncSync, linkSync, openSync, readFileSync, renameSync, rmSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { NclustError } from '../../lib/shared/errors.js';
import { nothingDesired } from './desired.js';

/** @import { Desired } from './desired.js' */

/**
 * Where the desired state is kept.
 * @typedef {object} Store
 * @property {() => Loaded} load  Never throws.
 * @property {(desired: Desired) => void} save  On disk when it returns. Throws ERR_NCLUST_STATE_WRITE, and then the old state is what is on disk.
 */

/**
 * @typedef {object} Loaded
 * @property {Desired} desired
 * @property {boolean} isExact  False when it may lack the last changes: then nothing that runs may be ended for not being in it.
 * @property {string[]} notices  For people.
 */

/**
 * @typedef {{kind: 'missing'} | {kind: 'bad', why: string} | {kind: 'good', value: Record<string, unknown>}} Reading
 */

const SEAL = /,"checksum":"([0-9a-f]{64})"\}\n$/;

/**
 * @param {{state: string, stateBackup: string}} paths
 * @param {() => number} nowMs
 * @returns {Store}
 */
export function createStore({ state, stateBackup }, nowMs) {
  return {
    load() {
      const reading = readSealed(state);
      if (reading.kind === 'good') return { desired: asDesired(reading.value), isExact: true, notices: [] };
      const backup = readSealed(stateBackup);
      if (reading.kind === 'missing' && backup.kind === 'missing') return { desired: nothingDesired(), isExact: true, notices: [] };
      const aside = reading.kind === 'bad' ? setAside(state, nowMs()) : null;
      const notice = describeLoss(state, reading, aside, backup);
      return { desired: backup.kind === 'good' ? asDesired(backup.value) : nothingDesired(), isExact: false, notices: [notice] };
    },
    save(desired) {
      try {
        writeSealed(state, desired, stateBackup);
      } catch (error) {
        throw stateWrite(state, error);
      }
    },
  };
}

/**
 * Writes a value with a checksum, so that after a crash at any instant the file holds the old or the new value: temp file, fsync, rename, fsync of
 * the folder. Mode 0600. Throws what the file system says.
 * @param {string} file
 * @param {object} value
 * @param {string} [backup]  Where the value before is kept.
 */
export function writeSealed(file, value, backup) {
  const temp = `${file}.new`;
  try {
    writeSynced(temp, seal(value));
    if (backup) keepBackup(file, backup);
    renameSync(temp, file);
    syncFolder(dirname(file));
  } catch (error) {
    rmSync(temp, { force: true });
    throw error;
  }
}

/**
 * Reads what writeSealed() wrote. Never throws.
 * @param {string} file
 * @returns {Reading}
 */
export function readSealed(file) {
  try {
    return unseal(readFileSync(file, 'utf8'));
  } catch (error) {
    const { code } = /** @type {NodeJS.ErrnoException} */ (error);
    return code === 'ENOENT' ? { kind: 'missing' } : { kind: 'bad', why: `it cannot be read (${code ?? error})` };
  }
}

/** @param {object} value */
function seal(value) {
  const text = JSON.stringify(value);
  return `${text.slice(0, -1)},"checksum":"${sha256(text)}"}\n`;
}

/**
 * @param {string} text
 * @returns {Reading}
 */
function unseal(text) {
  const match = SEAL.exec(text);
  if (!match) return { kind: 'bad', why: 'it is cut off or is not a file of nclust' };
  const body = `${text.slice(0, match.index)}}`;
  if (sha256(body) !== match[1]) return { kind: 'bad', why: 'its checksum does not fit its content' };
  const value = JSON.parse(body);
  return value?.v === 1 ? { kind: 'good', value } : { kind: 'bad', why: `it is of version ${value?.v}, which this nclust does not know` };
}

/** The checksum vouches for the shape: nobody but nclust seals a file. @param {Record<string, unknown>} value */
function asDesired(value) {
  return /** @type {Desired} */ (/** @type {unknown} */ (value));
}

/** @param {string} text */
function sha256(text) {
  return createHash('sha256').update(text).digest('hex');
}

/**
 * @param {string} file
 * @param {string} text
 */
function writeSynced(file, text) {
  const bytes = Buffer.from(text);
  const fd = openSync(file, 'w', 0o600);
  try {
    for (let from = 0; from < bytes.length; ) from += writeSync(fd, bytes, from);
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

/**
 * A hard link, so that `file` never misses for an instant.
 * @param {string} file
 * @param {string} backup
 */
function keepBackup(file, backup) {
  const temp = `${backup}.new`;
  rmSync(temp, { force: true });
  try {
    linkSync(file, temp);
  } catch (error) {
    const { code } = /** @type {NodeJS.ErrnoException} */ (error);
    if (code === 'ENOENT') return; // The first state, or the one before was set aside.
    copyFileSync(file, temp); // A file system without links.
  }
  renameSync(temp, backup);
}

/** @param {string} folder */
function syncFolder(folder) {
  const fd = openSync(folder, 'r');
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

/**
 * @param {string} file
 * @param {number} nowMs
 * @returns {string|null}  Where it is now.
 */
function setAside(file, nowMs) {
  const aside = `${file}.bad-${nowMs}`;
  try {
    renameSync(file, aside);
    return aside;
  } catch {
    return null; // A folder that cannot be written to; the first change will say so.
  }
}

/**
 * @param {string} file
 * @param {Reading} reading
 * @param {string|null} aside
 * @param {Reading} backup
 */
function describeLoss(file, reading, aside, backup) {
  const what = reading.kind === 'bad' ? `The desired state in "${file}" could not be used: ${reading.why}.` : `The desired state "${file}" is missing.`;
  const kept = aside ? ` It is kept as "${aside}".` : '';
  const instead = backup.kind === 'good' ? ' The state before the last change was taken instead.' : ' There is no usable copy either, so the list is empty; "nclust resurrect" brings back what was saved.';
  return `${what}${kept}${instead}`;
}

/**
 * @param {string} file
 * @param {unknown} error
 */
function stateWrite(file, error) {
  const { code, message } = /** @type {NodeJS.ErrnoException} */ (error);
  return new NclustError('ERR_NCLUST_STATE_WRITE', `The desired state could not be written to "${file}" (${code ?? message}); nothing was changed.`, {
    hint: 'Make room on the disk or mend the permissions of the home, then repeat the command.',
    cause: error,
  });
}
