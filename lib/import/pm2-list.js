import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { findProgram } from '../config/spec/find-program.js';
import { NclustError } from '../shared/errors.js';

/** @typedef {Record<string, any>} Pm2Record */

/**
 * @typedef {object} Pm2List
 * @property {string} source  A file, or "pm2 jlist".
 * @property {Pm2Record[]} records
 * @property {string} pm2Home
 * @property {string | null} instead  Why nclust has read the backup instead of the file. Null:
 *   nclust has not read the backup.
 */

const LIVE_MS = 60_000;
const LIVE_MAX_BYTES = 256 * 1024 * 1024;

/** @typedef {{ cwd: string, env: Record<string, string | undefined> }} Shell */

/** @param {Shell} shell */
function findPm2Home({ cwd, env }) {
  return resolve(cwd, env.PM2_HOME || join(env.HOME || homedir(), '.pm2'));
}

/**
 * Reads the file of `pm2 save`, or its backup.
 * @param {string | undefined} file  Default: dump.pm2 in the home of PM2.
 * @param {Shell} shell
 * @returns {Pm2List}
 */
export function readSavedList(file, shell) {
  const source = file === undefined ? join(findPm2Home(shell), 'dump.pm2') : resolve(shell.cwd, file);
  const pm2Home = dirname(source);
  const first = tryRead(source);
  if (Array.isArray(first)) return { source, records: first.map(asRecord), pm2Home, instead: null };
  const copy = `${source}.bak`;
  const second = tryRead(copy);
  if (Array.isArray(second))
    return { source: copy, records: second.map(asRecord), pm2Home, instead: `"${source}" ${first}` };
  throw new NclustError('ERR_NCLUST_IMPORT', `"${source}" ${first}, and there is no usable copy "${copy}".`, {
    hint: 'Write it with "pm2 save", or import from the running PM2: nclust import pm2 --live',
  });
}

/**
 * Checks first that PM2 runs, because otherwise `pm2 jlist` would start PM2.
 * @param {Shell} shell
 * @returns {Promise<Pm2List>}
 */
export async function readLiveList(shell) {
  const pm2Home = findPm2Home(shell);
  const o = { hint: 'Import its saved list: nclust import pm2' };
  if (readRunningPm2(pm2Home) === null)
    throw new NclustError('ERR_NCLUST_IMPORT', `PM2 does not run in "${pm2Home}".`, o);
  const file = findProgram('pm2', { path: shell.env.PATH, cwd: shell.cwd });
  if (!file) throw new NclustError('ERR_NCLUST_IMPORT', 'There is no "pm2" in PATH.', o);
  const limits = { timeout: LIVE_MS, maxBuffer: LIVE_MAX_BYTES };
  const running = promisify(execFile)(file, ['jlist'], { env: { ...shell.env, PM2_HOME: pm2Home }, ...limits });
  const { stdout: text } = await running.catch((cause) => {
    throw new NclustError('ERR_NCLUST_IMPORT', `"pm2 jlist" failed: ${cause.message}`, { cause });
  });
  const records = parseList(text);
  if (!records) throw new NclustError('ERR_NCLUST_IMPORT', '"pm2 jlist" printed no list.');
  return { source: 'pm2 jlist', records: records.map(asRecord), pm2Home, instead: null };
}

/**
 * @param {string} pm2Home
 * @returns {number | null}  Pid in PM2's pid file. Null: the file is missing, no process has this
 *   pid, or the process belongs to another user.
 */
export function readRunningPm2(pm2Home) {
  try {
    const pid = Number(readFileSync(join(pm2Home, 'pm2.pid'), 'utf8'));
    // The pid 0 would stand for the process group of this command.
    if (!(pid > 0)) return null;
    process.kill(pid, 0);
    return pid;
  } catch {
    return null; // The pid file is missing, or this user cannot signal a process with this pid.
  }
}

/**
 * @param {string} file
 * @returns {unknown[] | string}  The list, or the reason why the file is unusable.
 */
function tryRead(file) {
  /** @type {string} */
  let text;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    const { code } = /** @type {NodeJS.ErrnoException} */ (error);
    return code === 'ENOENT' ? 'does not exist' : `cannot be read (${code})`;
  }
  try {
    const value = JSON.parse(text);
    return Array.isArray(value) ? value : 'does not contain a list';
  } catch {
    return 'is not valid JSON';
  }
}

/**
 * Searches for the list, because the first command after the installation of PM2 also prints a
 * greeting.
 * @param {string} text
 * @returns {unknown[] | null}  Null: the text does not contain a list.
 */
function parseList(text) {
  for (const line of text.split('\n').reverse()) {
    if (!/^\s*\[/.test(line)) continue;
    try {
      const value = JSON.parse(line);
      if (Array.isArray(value)) return value;
    } catch {
      // Tries the line above, because this line is part of the greeting.
    }
  }
  return null;
}

/**
 * In a saved list, the record contains the settings. In a live list, `pm2_env` contains them.
 * @param {unknown} value
 * @returns {Pm2Record}
 */
function asRecord(value) {
  const record = /** @type {Pm2Record} */ (typeof value === 'object' && value !== null ? value : {});
  return typeof record.pm2_env === 'object' && record.pm2_env !== null
    ? { ...record.pm2_env, name: record.name ?? record.pm2_env.name }
    : record;
}
