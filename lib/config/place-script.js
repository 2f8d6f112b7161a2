import { statSync } from 'node:fs';
import { isAbsolute, join, relative, resolve } from 'node:path';
import { isFile } from './find.js';

/**
 * Where an app of a config file runs.
 * @typedef {object} Place
 * @property {string} cwd  Absolute; it may not exist.
 * @property {string | null} file  The script, absolute. Null: it is no file.
 */

/**
 * Paths count from the folder of the config file; those that are not there, from the folder in
 * which the command was typed, which is where PM2 looks. An app without `cwd` runs in the folder in
 * which its script was found.
 * @param {string} script
 * @param {string | undefined} cwd  As the file says it.
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
 * A command has no folder of its own: it runs beside the config file. But a file in "config/" is
 * about the project above it, from where it is started.
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
    return false; // Missing: it is told about where the app is made.
  }
}
