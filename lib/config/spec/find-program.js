import { accessSync, constants } from 'node:fs';
import { basename, delimiter, dirname, isAbsolute, join, resolve } from 'node:path';
import { isFile, isFolder, namesIn } from '../../shared/daemon/files.js';
import { nearWords } from '../../shared/did-you-mean.js';
import { NclustError } from '../../shared/errors.js';
import { findConfig } from '../find.js';

/**
 * Finds a program as a shell does: in PATH, or by its path if the name contains a slash.
 * @param {string} name
 * @param {object} o
 * @param {string | undefined} o.path  PATH.
 * @param {string} o.cwd
 * @returns {string | null}  Absolute.
 */
export function findProgram(name, { path, cwd }) {
  if (name.includes('/')) return isProgram(resolve(cwd, name)) ? resolve(cwd, name) : null;
  if (name === '') return null;
  for (const folder of (path ?? '').split(delimiter)) {
    // Skips a relative folder, because the manager resolves the folder from another directory.
    if (!isAbsolute(folder)) continue;
    const file = join(folder, name);
    if (isProgram(file)) return file;
  }
  return null;
}

/**
 * @param {string} file
 * @returns {boolean}
 */
export function isProgram(file) {
  try {
    accessSync(file, constants.X_OK);
    return isFile(file);
  } catch {
    return false;
  }
}

/**
 * @param {string} target
 * @param {string} file  Absolute.
 * @returns {NclustError}
 */
export function noScriptError(target, file) {
  if (isFolder(file)) return folderError(target, file);
  const [near] = nearWords(basename(file), namesIn(dirname(file)));
  return new NclustError(
    'ERR_NCLUST_SCRIPT_NOT_FOUND',
    `"${target}" is not an app in the list or a program in PATH, and there is no file "${file}".`,
    {
      hint: near
        ? `Did you mean "${join(dirname(target), near)}"?`
        : 'Check the path; "nclust list" shows the apps. Put a shell command in quotes: nclust start "npm run serve"',
    },
  );
}

/**
 * @param {string} target
 * @param {string} folder
 */
function folderError(target, folder) {
  const config = findConfig(folder);
  const hint =
    config === null
      ? `Give the path of a script in it; nclust serve ${target} serves its files.`
      : `It contains a config file: nclust start ${config}`;
  return new NclustError(
    'ERR_NCLUST_SCRIPT_NOT_FOUND',
    `"${target}" is a folder: there is no file "${folder}" to run.`,
    { hint },
  );
}
