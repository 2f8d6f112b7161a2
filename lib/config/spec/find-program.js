import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, isAbsolute, join, resolve } from 'node:path';

/**
 * Looks a program up as a shell would: in PATH, or by its path when the name holds a slash.
 * @param {string} name
 * @param {object} o
 * @param {string|undefined} o.path  PATH.
 * @param {string} o.cwd
 * @returns {string|null}  Absolute.
 */
export function findProgram(name, { path, cwd }) {
  if (name.includes('/')) return isProgram(resolve(cwd, name)) ? resolve(cwd, name) : null;
  if (name === '') return null;
  for (const folder of (path ?? '').split(delimiter)) {
    if (!isAbsolute(folder)) continue; // "." in PATH would mean another file for the daemon than for the shell.
    const file = join(folder, name);
    if (isProgram(file)) return file;
  }
  return null;
}

/**
 * @param {string} file
 * @returns {boolean}  Whether it is a file that may be executed.
 */
export function isProgram(file) {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}
