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
import { NclustError } from '../../../lib/shared/errors.js';
import { findReplaceable, writeNew } from '../../../lib/shared/host/replace-file.js';

/**
 * @typedef {{ kind: 'missing' }
 *   | { kind: 'bad', why: string }
 *   | { kind: 'good', value: Record<string, unknown> }} Reading
 */

/** The last field of the file. It proves that the file is whole. */
const SEAL = /,"checksum":"([0-9a-f]{64})"\}\n$/;

/** Unit of `blocks` in the result of stat(). */
const BLOCK_BYTES = 512;

/**
 * After a crash at any instant, the file holds the old or the new value. Mode 0600. A link stays,
 * and its target is replaced. Throws errors of the file system.
 * @param {string} link
 * @param {object} value
 * @param {string} [backup]
 */
export function writeSealed(link, value, backup) {
  const file = findReplaceable(link);
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
 * Never throws.
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
 * For a full disk: writes into the space of the old file. If control crashes during the write,
 * readSealed() reports the file as bad. Throws errors of the file system.
 * @param {string} file
 * @param {object} value
 * @returns {boolean}  False: the file is too short, and nothing was written.
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
  if (sha256(body) !== match[1]) return { kind: 'bad', why: 'its checksum does not match its content' };
  const value = JSON.parse(body);
  return value?.v === 1
    ? { kind: 'good', value }
    : { kind: 'bad', why: `its version is ${value?.v}, which this nclust does not know` };
}

/** @param {string} text */
function sha256(text) {
  return createHash('sha256').update(text).digest('hex');
}

/**
 * Makes a hard link, because after a rename `file` would be missing for an instant.
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
    if (code === 'ENOENT') return; // The old file does not exist, or was set aside.
    copyFileSync(file, temp, constants.COPYFILE_EXCL); // The file system has no links.
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
 * The reserve keeps space for the write, because a command must be able to stop the app that fills
 * the disk. If the disk is full, control removes the reserve before the write, and makes the
 * reserve again when there is space.
 * @param {string} reserve
 * @param {string} file  The reserve is at least twice as large as this file.
 * @param {() => void} write  Must leave no file behind if it throws. May run twice.
 */
export function writeInNeed(reserve, file, write) {
  try {
    write();
  } catch (error) {
    if (!isDiskFull(error) || !giveUp(reserve)) throw error;
    write();
  }
  reserveBytes(reserve, Math.max(LEAST_BYTES, 2 * statSync(file).size));
}

/**
 * @param {unknown} error
 * @returns {boolean}
 */
export function isDiskFull(error) {
  const { code = '' } = /** @type {NodeJS.ErrnoException} */ (error);
  return code === 'ENOSPC' || code === 'EDQUOT';
}

/**
 * @param {'ERR_NCLUST_STATE_WRITE' | 'ERR_NCLUST_SETTINGS_FILE'} code
 * @param {string} message
 * @param {unknown} cause
 */
export function notWritten(code, message, cause) {
  return new NclustError(code, message, {
    hint:
      'Make room on the disk ("nclust flush" empties the log files) or fix the permissions of the ' +
      'home, then repeat the command.',
    cause,
  });
}

/**
 * @param {string} reserve
 * @returns {boolean}  Whether there was a reserve.
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
function reserveBytes(reserve, bytes) {
  if ((statSync(reserve, { throwIfNoEntry: false })?.size ?? 0) >= bytes) return;
  try {
    // Random bytes, because a file system that compresses would not keep space for zeros.
    writeNew(reserve, randomBytes(bytes));
  } catch {
    // The disk is too full for the reserve. The next change tries again.
    rmSync(reserve, { force: true });
  }
}
