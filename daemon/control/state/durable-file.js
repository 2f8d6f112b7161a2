import { createHash } from 'node:crypto';
import { closeSync, copyFileSync, fsyncSync, linkSync, openSync, readFileSync, renameSync, rmSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * @typedef {{kind: 'missing'} | {kind: 'bad', why: string} | {kind: 'good', value: Record<string, unknown>}} Reading
 */

/** What makes a file whole: its last field. */
const SEAL = /,"checksum":"([0-9a-f]{64})"\}\n$/;

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
