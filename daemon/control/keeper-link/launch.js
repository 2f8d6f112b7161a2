import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { OF_KEEPER } from '../../../lib/shared/daemon/keeper-process.js';
import { DAEMON_NODE_ARGS, DAEMON_NODE_ENV } from '../../../lib/shared/host/daemon-node.js';

/** @import { ChildProcess } from 'node:child_process' */
/** @import { Readable } from 'node:stream' */
/** @import { Installation } from '../update/installation.js' */
/** @import { Port } from './link.js' */

const REPORT_FD = 3;

/**
 * Time limit until the keeper listens, and then again until the keeper answers. On a fast disk,
 * each step takes 0.2 s.
 */
const HANGS_MS = 10_000;

/**
 * @param {object} o
 * @param {Installation} o.from
 * @param {Record<string, string>} o.env  The whole environment.
 * @param {number} o.logFd
 * @param {() => void} o.onHeld  Called if another keeper owns the home.
 * @param {(error: unknown) => void} o.onFailed  Called if the new keeper could not take the home.
 * @returns {Promise<Port>}  Resolves when the keeper owns the home and reads its channel.
 *   Rejects if the keeper cannot be started, or exits before that.
 */
export function launchKeeper({ from, env, logFd, onHeld, onFailed }) {
  const child = spawn(from.node, [...DAEMON_NODE_ARGS, join(from.root, 'daemon/keeper/main.js')], {
    detached: true,
    cwd: '/',
    env: { ...env, ...DAEMON_NODE_ENV, NCLUST_KEEPER_INHERIT: '1', NCLUST_INSTANCE: OF_KEEPER },
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
  // Node.js 20 to 26 never emits 'disconnect' if the channel closes while a handle waits for its
  // acknowledgement. So this code emits 'disconnect' when the keeper exits.
  child.once('exit', () => child.emit('disconnect'));
  endWhenItHangs(child);
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code, signal) => reject(new Error(`the keeper exited at once (${signal ?? code})`)));
    // Resolves only after a message from the keeper, because Node.js reads the channel while
    // modules still load. If control were killed at that time, a sent socket would stay open in the
    // keeper, and no process could bind its address again.
    child.once('message', () => resolve(/** @type {Port} */ (/** @type {unknown} */ (child))));
  });
}

/** @param {ChildProcess} child */
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
