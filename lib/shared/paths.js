import { homedir } from 'node:os';
import { join, resolve } from 'node:path';

/** @import { LogStream } from './wire/protocol.js' */

/**
 * @param {Record<string, string | undefined>} env
 * @returns {string}
 */
export function resolveHome(env) {
  return resolve(env.NCLUST_HOME || join(env.HOME || homedir(), '.nclust'));
}

/**
 * @typedef {object} HomePaths
 * @property {string} home
 * @property {string} sock
 * @property {string} state
 * @property {string} stateBackup
 * @property {string} reserve  A file that reserves space in case the disk becomes full.
 * @property {string} dump
 * @property {string} settings
 * @property {string} webToken
 * @property {string} daemonLog
 * @property {string} events
 * @property {string} notify
 * @property {string} logs
 * @property {string} run
 * @property {string} pids
 */

/**
 * @param {string} home
 * @returns {HomePaths}
 */
export function homePaths(home) {
  return {
    home,
    sock: join(home, 'nclust.sock'),
    state: join(home, 'state.json'),
    stateBackup: join(home, 'state.json.bak'),
    reserve: join(home, 'state.reserve'),
    dump: join(home, 'dump.json'),
    settings: join(home, 'settings.json'),
    webToken: join(home, 'web.token'),
    daemonLog: join(home, 'nclust.log'),
    events: join(home, 'events.log'),
    notify: join(home, 'notify'),
    logs: join(home, 'logs'),
    run: join(home, 'run'),
    pids: join(home, 'pids'),
  };
}

/**
 * As in PM2, except that letters of other alphabets stay: else two such names would be one.
 * @param {string} name  Of an app.
 */
export function fileStem(name) {
  return name.replace(/[^\p{L}\p{N}.]/gu, '-');
}

/**
 * @param {string} logs
 * @param {string} name
 * @param {LogStream | null} stream  Null: the file has both streams.
 * @param {number | null} id  Null if all instances share the file.
 */
export function logFile(logs, name, stream, id) {
  const stem = fileStem(name);
  const word = stream === null ? [] : [stream === 'out' ? 'out' : 'error'];
  return join(logs, `${[stem, ...word, ...(id === null ? [] : [id])].join('-')}.log`);
}
