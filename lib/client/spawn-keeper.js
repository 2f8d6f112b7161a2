import { spawn } from 'node:child_process';
import { closeSync, fstatSync, mkdirSync, openSync, readSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { OF_KEEPER } from '../shared/daemon/keeper-process.js';
import { fromFields, NclustError } from '../shared/errors.js';
import { DAEMON_NODE_ARGS, DAEMON_NODE_ENV } from '../shared/host/daemon-node.js';
import { readUntil } from './try-connect.js';

/** @import { Socket } from 'node:net' */
/** @import { HomePaths } from '../shared/paths.js' */

/** Variables for the keeper and control. Apps get the variables of their spec. */
const INHERITED = ['PATH', 'HOME', 'USER', 'LOGNAME', 'LANG', 'LC_ALL', 'TZ', 'TMPDIR'];

const REPORT_MAX_BYTES = 64 * 1024;
const TAIL_BYTES = 4 * 1024;
const TAIL_LINES = 10;

/**
 * Starts a keeper that outlives this process. Then waits for the keeper's report.
 * @param {HomePaths} paths
 * @param {AbortSignal} signal
 * @returns {Promise<void>}  Resolves if control is ready, or if another keeper holds the home.
 */
export async function spawnKeeper(paths, signal) {
  mkdirSync(paths.run, { recursive: true, mode: 0o700 });
  const log = openSync(paths.daemonLog, 'a', 0o600);
  const child = spawn(
    process.execPath,
    [...DAEMON_NODE_ARGS, fileURLToPath(new URL('../../daemon/keeper/main.js', import.meta.url))],
    {
      cwd: '/', // A daemon must not keep a file system busy.
      detached: true,
      env: keeperEnv(paths.home),
      stdio: ['ignore', log, log, 'pipe'],
    },
  );
  closeSync(log);
  child.unref();
  const failed = new Promise((_resolve, reject) => {
    child.once('error', (error) => reject(noKeeper(paths, error.message)));
  });
  const pipe = /** @type {Socket} */ (child.stdio[3]);
  const line = await Promise.race([readUntil(pipe, signal, REPORT_MAX_BYTES, (line) => line), failed]);
  if (typeof line !== 'string') throw noKeeper(paths, 'it exited at once');
  const { ok, held, error } = JSON.parse(line);
  if (!ok && !held) throw fromFields({ code: 'ERR_NCLUST_DAEMON_UNREACHABLE', ...error });
}

/**
 * @param {string} file
 * @returns {string[]}
 */
export function readTail(file) {
  return readEnd(file, TAIL_BYTES)?.text.trimEnd().split('\n').slice(-TAIL_LINES) ?? [];
}

/**
 * @param {string} file
 * @param {number} maxBytes
 * @returns {{ text: string, isWhole: boolean } | null}  Null: the file is missing or not readable.
 */
export function readEnd(file, maxBytes) {
  try {
    const fd = openSync(file, 'r');
    try {
      const { size } = fstatSync(fd);
      const bytes = Buffer.alloc(Math.min(size, maxBytes));
      readSync(fd, bytes, 0, bytes.length, size - bytes.length);
      return { text: bytes.toString('utf8'), isWhole: size <= maxBytes };
    } finally {
      closeSync(fd);
    }
  } catch {
    return null;
  }
}

/** @param {string} home */
function keeperEnv(home) {
  const kept = INHERITED.flatMap((name) => (process.env[name] === undefined ? [] : [[name, process.env[name]]]));
  return { ...Object.fromEntries(kept), ...DAEMON_NODE_ENV, NCLUST_HOME: home, NCLUST_INSTANCE: OF_KEEPER };
}

/**
 * @param {HomePaths} paths
 * @param {string} why
 */
function noKeeper(paths, why) {
  return new NclustError(
    'ERR_NCLUST_DAEMON_UNREACHABLE',
    `The manager for "${paths.home}" could not be started: ${why}.`,
    { hint: `The whole log is in ${paths.daemonLog}`, data: { lastLines: readTail(paths.daemonLog) } },
  );
}
