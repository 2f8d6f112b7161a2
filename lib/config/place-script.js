import { statSync } from 'node:fs';
import { isAbsolute, join, relative, resolve } from 'node:path';
import { isFile } from './find.js';

/**
 * Where an app of a config file runs.
 * @typedef {object} Place
 * @property {string} cwd  Absolute; it may not exist.
 * @property {string | null} file  The script, absolute. Null: it is not a file.
 */

/**
 * Resolves paths from the folder of the config file. A path that does not exist there is resolved
 * from the folder of the command, as in PM2. An app without `cwd` runs in the folder in which its
 * script was found.
 * @param {string} script
 * @param {string | undefined} cwd  From the file.
 * @param {object} o
 * @param {string} o.folder  Of the config file.
 * @param {string} o.shellCwd
 * @returns {Place}
 */
export function placeScript(script, cwd, { folder, shellCwd }) {
  const folders = [...new Set([folder, shellCwd])];
  if (cwd !== undefined) {
    const from = folders.map((one) => resolve(one, cwd)).find(isFolder) ?? resolve(folder, cwd);
    return { cwd: from, file: [from, ...folders].map((one) => resolve(one, script)).find(isFile) ?? null };
  }
  if (isAbsolute(script)) return { cwd: projectOf(folder, shellCwd), file: isFile(script) ? script : null };
  const home = folders.find((one) => isFile(join(one, script)));
  return home === undefined
    ? { cwd: projectOf(folder, shellCwd), file: null }
    : { cwd: home, file: join(home, script) };
}

/**
 * A shell command runs in the folder of the config file. But a file in "config/" is about the
 * project above it, if the command was typed there.
 * @param {string} folder
 * @param {string} shellCwd
 */
function projectOf(folder, shellCwd) {
  const isBelow = !/^\.\.(\/|$)/.test(relative(shellCwd, folder));
  return isBelow && !isFile(join(folder, 'package.json')) && isFile(join(shellCwd, 'package.json')) ? shellCwd : folder;
}

/** @param {string} path */
function isFolder(path) {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false; // It does not exist: the caller that builds the app reports it.
  }
}
