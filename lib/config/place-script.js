import { isAbsolute, join, relative, resolve } from 'node:path';
import { isFile, isFolder } from '../shared/daemon/files.js';
import { readPackage } from './package-json.js';

/**
 * @typedef {object} ScriptPaths
 * @property {string} cwd  Absolute. It may not exist.
 * @property {string | null} file  Absolute; of a folder, its main file. Null: not a file.
 */

/**
 * Resolves the paths of an app from the folder of its config file, then from the current folder, as
 * PM2 does. Without `cwd`, an app runs in the folder from which its script was resolved, or in the
 * folder that findProject() returns.
 * @param {string} script
 * @param {string | undefined} cwd  As in the file.
 * @param {object} o
 * @param {string} o.folder  Of the config file.
 * @param {string} o.shellCwd
 * @returns {ScriptPaths}
 */
export function placeScript(script, cwd, { folder, shellCwd }) {
  const folders = [...new Set([folder, shellCwd])];
  if (cwd !== undefined) {
    const from = folders.map((one) => resolve(one, cwd)).find(isFolder) ?? resolve(folder, cwd);
    return {
      cwd: from,
      file: [from, ...folders].map((one) => getFile(one, script)).find((file) => file !== null) ?? null,
    };
  }
  if (isAbsolute(script)) return { cwd: findProject(folder, shellCwd), file: getFile('/', script) };
  const home = folders.find((one) => getFile(one, script) !== null);
  return home === undefined
    ? { cwd: findProject(folder, shellCwd), file: null }
    : { cwd: home, file: getFile(home, script) };
}

/**
 * The word "serve" alone may be a program, and wins over a folder of this name.
 * @param {string} folder
 * @param {string} script
 */
function getFile(folder, script) {
  const path = resolve(folder, script);
  if (isFile(path)) return path;
  return /\/|^\.+$/.test(script) ? mainFile(path) : null;
}

/**
 * Returns the file that `node <folder>` runs: `main` of its package.json, or index.js. Does not use
 * require.resolve(), because that follows links: an app in /srv/app/current would keep its release.
 * @param {string} folder  Absolute.
 * @returns {string | null}
 */
export function mainFile(folder) {
  const { main } = readPackage(join(folder, 'package.json'), null);
  const names = typeof main === 'string' ? [main, `${main}.js`, join(main, 'index.js')] : [];
  return [...names, 'index.js'].map((name) => join(folder, name)).find(isFile) ?? null;
}

/**
 * The folder of an app that is a command or has an absolute script: the folder of the config file.
 * If the config file is in a subfolder such as "config/", and only the current folder has a
 * package.json, the result is the current folder.
 * @param {string} folder
 * @param {string} shellCwd
 */
function findProject(folder, shellCwd) {
  const isBelow = !/^\.\.(\/|$)/.test(relative(shellCwd, folder));
  return isBelow && !isFile(join(folder, 'package.json')) && isFile(join(shellCwd, 'package.json')) ? shellCwd : folder;
}
