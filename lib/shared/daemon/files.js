// Questions about files. For most of them every error has the same answer: the file is missing, or
// this process may not read it.
import { readdirSync, readFileSync, statSync } from 'node:fs';

/**
 * @param {string} file
 * @returns {string}  Empty: cannot be read.
 */
export function readIfThere(file) {
  return tryTo(() => readFileSync(file, 'utf8'), '');
}

/**
 * @param {string} folder
 * @returns {string[]}  Empty: cannot be read.
 */
export function namesIn(folder) {
  return tryTo(() => readdirSync(folder), []);
}

/**
 * @template T
 * @param {() => T} look
 * @returns {T | null}  Null: the file does not exist. Throws other errors of the system.
 */
export function nullIfMissing(look) {
  try {
    return look();
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code === 'ENOENT') return null;
    throw error;
  }
}

/** @param {string} path */
export function statIfThere(path) {
  return tryTo(() => statSync(path), null);
}

/** @param {string} path */
export function isFile(path) {
  return statIfThere(path)?.isFile() ?? false;
}

/** @param {string} path */
export function isFolder(path) {
  return statIfThere(path)?.isDirectory() ?? false;
}

/**
 * @template T
 * @template U
 * @param {() => T} look
 * @param {U} otherwise
 * @returns {T | U}
 */
export function tryTo(look, otherwise) {
  try {
    return look();
  } catch {
    return otherwise;
  }
}
