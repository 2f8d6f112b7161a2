import { statSync } from 'node:fs';
import { isAbsolute, join, relative, resolve } from 'node:path';
import { isFile } from './find.js';

/**
 * @typedef {object} Place
 * @property {string} cwd  Absolute. It may not exist.
 * @property {string | null} file  Absolute. Null: not a file.
 */

/**
 * Resolves the paths of an app from the folder of its config file, then from the current folder, as
 * PM2 does. Without `cwd`, an app runs in the folder from which its script was resolved, or in the
 * folder that projectOf() returns.
 * @param {string} script
 * @param {string | undefined} cwd  As in the file.
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
 * The folder of an app that is a command or has an absolute script: the folder of the config file.
 * If the config file is in a subfolder such as "config/", and only the current folder has a
 * package.json, the result is the current folder.
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
    return false; // buildSpec() reports the missing folder.
  }
}
