import { spawn } from 'node:child_process';
import { closeSync, fstatSync, mkdirSync, openSync, readSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { createLineReader } from '../shared/daemon/lines.js';
import { OF_KEEPER } from '../shared/daemon/keeper-process.js';
import { fromFields, NclustError } from '../shared/errors.js';
import { DAEMON_NODE_ARGS, DAEMON_NODE_ENV } from '../shared/host/daemon-node.js';

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
 * @returns {Promise<'ok' | 'held'>}  ok: control is ready. held: another keeper owns the home.
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
  const line = await Promise.race([readReport(/** @type {Socket} */ (child.stdio[3]), signal), failed]);
  return outcomeOf(/** @type {string | null} */ (line), paths);
}

/**
 * @param {string} file
 * @returns {string[]}
 */
export function readTail(file) {
  try {
    const fd = openSync(file, 'r');
    try {
      const { size } = fstatSync(fd);
      const bytes = Buffer.alloc(Math.min(size, TAIL_BYTES));
      readSync(fd, bytes, 0, bytes.length, size - bytes.length);
      return bytes.toString('utf8').trimEnd().split('\n').slice(-TAIL_LINES);
    } finally {
      closeSync(fd);
    }
  } catch {
    // Ignores the error, because the lines only add details to another error message.
    return [];
  }
}

/** @param {string} home */
function keeperEnv(home) {
  const kept = INHERITED.flatMap((name) => (process.env[name] === undefined ? [] : [[name, process.env[name]]]));
  return { ...Object.fromEntries(kept), ...DAEMON_NODE_ENV, NCLUST_HOME: home, NCLUST_INSTANCE: OF_KEEPER };
}

/**
 * @param {Socket} pipe
 * @param {AbortSignal} signal
 * @returns {Promise<string | null>}  Null if the keeper exited without a report, or the report is
 *   too long.
 */
function readReport(pipe, signal) {
  return new Promise((resolve, reject) => {
    const onAbort = () => {
      pipe.destroy();
      reject(signal.reason);
    };
    /** @param {string | null} line */
    const finish = (line) => {
      signal.removeEventListener('abort', onAbort);
      pipe.destroy();
      resolve(line);
    };
    const read = createLineReader({ maxBytes: REPORT_MAX_BYTES, onLine: finish, onTooLong: () => finish(null) });
    signal.addEventListener('abort', onAbort, { once: true });
    pipe.on('data', read);
    pipe.on('error', () => {}); // 'close' follows.
    pipe.on('close', () => finish(null));
  });
}

/**
 * @param {string | null} line
 * @param {HomePaths} paths
 * @returns {'ok' | 'held'}
 */
function outcomeOf(line, paths) {
  if (line === null) throw noKeeper(paths, 'it exited at once');
  const report = JSON.parse(line);
  if (report.ok) return 'ok';
  if (report.held) return 'held';
  throw fromFields({ code: 'ERR_NCLUST_DAEMON_UNREACHABLE', ...report.error });
}

/**
 * @param {HomePaths} paths
 * @param {string} why
 */
function noKeeper(paths, why) {
  return new NclustError(
    'ERR_NCLUST_DAEMON_UNREACHABLE',
    `The manager for "${paths.home}" could not be started: ${why}.`,
    {
      hint: `The whole log is in ${paths.daemonLog}`,
      data: { lastLines: readTail(paths.daemonLog) },
    },
  );
}
