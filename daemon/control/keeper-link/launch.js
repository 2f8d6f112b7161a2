import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { DAEMON_NODE_ARGS, DAEMON_NODE_ENV } from '../../../lib/shared/host/daemon-node.js';

/** @import { ChildProcess } from 'node:child_process' */
/** @import { Readable } from 'node:stream' */
/** @import { Installation } from '../update/installation.js' */
/** @import { Port } from './link.js' */

const REPORT_FD = 3;

/**
 * From its start until it listens, and from there until it answers: each takes a fifth of a second,
 * and a slow disk may take its time.
 */
const HANGS_MS = 10_000;

/**
 * Starts the next keeper when the one before died under control.
 * @param {object} o
 * @param {Installation} o.from
 * @param {Record<string, string>} o.env  The whole environment.
 * @param {number} o.logFd  nclust.log, open for appending.
 * @param {() => void} o.onHeld  Another keeper owns the home.
 * @param {(error: unknown) => void} o.onFailed  It could not take the home; its channel closes too.
 * @returns {Promise<Port>}  Resolves when it owns the home and listens to us. Rejects when the
 *   process could not be created, ended before, or hung and was ended.
 */
export function launchKeeper({ from, env, logFd, onHeld, onFailed }) {
  const child = spawn(from.node, [...DAEMON_NODE_ARGS, join(from.root, 'daemon/keeper/main.js')], {
    detached: true,
    cwd: '/',
    env: { ...env, ...DAEMON_NODE_ENV, NCLUST_KEEPER_INHERIT: '1' },
    stdio: ['ignore', logFd, logFd, 'pipe', 'ipc'],
  });
  let report = '';
  const pipe = /** @type {Readable} */ (child.stdio[REPORT_FD]);
  pipe.setEncoding('utf8').on('data', (text) => {
    report += text;
  });
  pipe
    .on('error', () => pipe.destroy())
    .on('close', () => {
      const { held, error } = parse(report);
      if (held) onHeld();
      else if (error) onFailed(error);
    });
  // A channel that closes while a handle waits to be acknowledged never says 'disconnect' (Node 20
  // to 26). The exit is the same news.
  child.once('exit', () => child.emit('disconnect'));
  endWhenItHangs(child);
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code, signal) => reject(new Error(`The keeper ended at once (${signal ?? code}).`)));
    // Not before it says so: Node reads a channel while modules are still being loaded. Should we
    // be killed then, a socket that was sent would be open in that keeper and belong to nobody, and
    // its address could not be bound again.
    child.once('message', () => resolve(/** @type {Port} */ (/** @type {unknown} */ (child))));
  });
}

/**
 * Nobody else would ever look at it, and the next one can be started only when it is gone.
 * @param {ChildProcess} child
 */
function endWhenItHangs(child) {
  const kill = () => child.kill('SIGKILL');
  let timer = setTimeout(kill, HANGS_MS);
  const onListening = () => {
    clearTimeout(timer);
    timer = setTimeout(kill, HANGS_MS);
    child.once('message', () => clearTimeout(timer));
  };
  child.once('message', onListening).once('exit', () => clearTimeout(timer));
}

/**
 * @param {string} report
 * @returns {{ ok?: true, held?: true, error?: unknown }}
 */
function parse(report) {
  try {
    return JSON.parse(report);
  } catch {
    return {};
  }
}
