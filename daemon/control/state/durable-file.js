import { createHash, randomBytes } from 'node:crypto';
import {
  closeSync,
  constants,
  copyFileSync,
  fsyncSync,
  ftruncateSync,
  linkSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { writeNew } from '../../../lib/shared/host/replace-file.js';

/**
 * @typedef {{ kind: 'missing' }
 *   | { kind: 'bad', why: string }
 *   | { kind: 'good', value: Record<string, unknown> }} Reading
 */

/** What makes a file whole: its last field. */
const SEAL = /,"checksum":"([0-9a-f]{64})"\}\n$/;

/** Of the unit in which `stat` counts. */
const BLOCK_BYTES = 512;

/**
 * Writes a value with a checksum, so that after a crash at any instant the file holds the old or
 * the new value: temp file, fsync, rename, fsync of the folder. Mode 0600. Throws what the file
 * system says.
 * @param {string} file
 * @param {object} value
 * @param {string} [backup]  Where the value before is kept.
 */
export function writeSealed(file, value, backup) {
  const temp = `${file}.new`;
  try {
    writeNew(temp, seal(value));
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

/**
 * For a full disk: writes a value over a sealed file, into the room that the file has. A crash in
 * between leaves a file that readSealed() calls bad. Throws what the file system says.
 * @param {string} file
 * @param {object} value
 * @returns {boolean}  False: there is not room enough, and nothing was written.
 */
export function overwriteSealed(file, value) {
  const content = Buffer.from(seal(value));
  if (content.length > (statSync(file, { throwIfNoEntry: false })?.blocks ?? 0) * BLOCK_BYTES) return false;
  const fd = openSync(file, 'r+');
  try {
    writeFileSync(fd, content);
    ftruncateSync(fd, content.length);
    fsyncSync(fd);
    return true;
  } finally {
    closeSync(fd);
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
  return value?.v === 1
    ? { kind: 'good', value }
    : { kind: 'bad', why: `it is of version ${value?.v}, which this nclust does not know` };
}

/** @param {string} text */
function sha256(text) {
  return createHash('sha256').update(text).digest('hex');
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
    copyFileSync(file, temp, constants.COPYFILE_EXCL); // A file system without links.
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

const LEAST_BYTES = 64 * 1024;

/**
 * Writes a small file that has to be written even when the disk is full: room that was taken in
 * better days is given up for it, and taken again as soon as it can be. Without it nobody could
 * stop the app that fills the disk.
 * @param {string} reserve  The file that holds the room.
 * @param {string} file  What `write` writes: the room is for two of its kind.
 * @param {() => void} write  Throws what the file system says, and has then left nothing behind.
 *   Called a second time when the room was given up. Throws what the last call of `write` throws.
 */
export function writeInNeed(reserve, file, write) {
  try {
    write();
  } catch (error) {
    if (!isDiskFull(error) || !giveUp(reserve)) throw error;
    write();
  }
  hold(reserve, Math.max(LEAST_BYTES, 2 * statSync(file).size));
}

/**
 * @param {unknown} error
 * @returns {boolean}  Whether there is no room, no inode or no quota left for a file.
 */
export function isDiskFull(error) {
  const { code = '' } = /** @type {NodeJS.ErrnoException} */ (error);
  return code === 'ENOSPC' || code === 'EDQUOT';
}

/**
 * @param {string} reserve
 * @returns {boolean}  Whether there was any.
 */
function giveUp(reserve) {
  if (!statSync(reserve, { throwIfNoEntry: false })) return false;
  rmSync(reserve);
  return true;
}

/**
 * @param {string} reserve
 * @param {number} bytes
 */
function hold(reserve, bytes) {
  if ((statSync(reserve, { throwIfNoEntry: false })?.size ?? 0) >= bytes) return;
  try {
    // Noise: a file system that compresses would keep no room for zeros.
    writeNew(reserve, randomBytes(bytes));
  } catch {
    // No room for it now. What was to be written is written, and the next change tries again.
    rmSync(reserve, { force: true });
  }
}
