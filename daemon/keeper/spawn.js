import { spawn } from 'node:child_process';
import cluster from 'node:cluster';
import { accessSync, constants, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { atUsualOomScore } from '../../lib/shared/daemon/oom-score.js';
import { KeeperError } from './protocol.js';

/** @import { ChildProcess } from 'node:child_process' */
/** @import { Listener } from './sockets/listeners.js' */
/** @import { Pipes } from './pipes.js' */
/** @import { SpawnParams } from './protocol.js' */

/** Where the agent of whatever is started from now on is. */
let agent = fileURLToPath(new URL('../agent/agent.cjs', import.meta.url));
const FIRST_SOCKET_FD = 4; // 0..2 are the usual ones, 3 is the IPC channel.

/** @typedef {Pipes & { in: number | 'ignore' }} Ends  Of its standard streams. */

/**
 * The installation has moved, with the same agent in it; the folder of the old one may be removed
 * at any time.
 * @param {string} root
 */
export function takeAgentFrom(root) {
  agent = join(root, 'daemon/agent/agent.cjs');
}

/**
 * Starts one process with its output in the given pipes.
 * @param {SpawnParams} params
 * @param {Pipes} pipes
 * @param {number | null} inFd  Its standard input; null where it has none.
 * @param {Listener[]} sockets  What the app listened on before: a fork-mode process is born with
 *   them, so that `listen()` succeeds synchronously, as it does without a process manager.
 * @returns {Promise<ChildProcess>}  Running. Rejects with the system's code when it could not be
 *   started.
 */
export async function spawnProcess(params, pipes, inFd, sockets) {
  const starts = { cluster: startWorker, fork: startNode, exec: startProgram };
  const child = atUsualOomScore(() => starts[params.mode](params, { ...pipes, in: inFd ?? 'ignore' }, sockets));
  await new Promise((resolve, reject) => {
    const failed = (/** @type {NodeJS.ErrnoException} */ error) => reject(explain(error, params.cwd));
    child.once('error', failed).once('spawn', () => {
      child.removeListener('error', failed);
      resolve(undefined);
    });
  });
  return child;
}

/**
 * @param {SpawnParams} params
 * @param {Ends} ends
 */
function startProgram({ file, args, cwd, env, uid, gid }, { in: input, outFd, errFd }) {
  return spawn(file, args, { cwd, env, uid, gid, detached: true, stdio: [input, outFd, errFd] });
}

/**
 * @param {SpawnParams} params
 * @param {Ends} ends
 * @param {Listener[]} sockets
 */
function startNode(
  { file, execArgv, script, args, cwd, env, uid, gid, logFiles, isGated, metrics },
  { in: input, outFd, errFd },
  sockets,
) {
  const inherited = sockets.map(({ claim }, index) => ({ ...claim, fd: FIRST_SOCKET_FD + index }));
  return spawn(file, [...execArgv, ...preload(execArgv, env), script ?? '', ...args], {
    cwd,
    env: { ...env, NCLUST_AGENT: JSON.stringify({ sockets: inherited, logFiles, isGated, metrics }) },
    uid,
    gid,
    detached: true,
    stdio: [input, outFd, errFd, 'ipc', ...sockets.map(({ handle }) => handle.fd)],
  });
}

/**
 * A node:cluster worker, so that `cluster.isWorker` is true in the app and its Unix sockets and UDP
 * are shared as Node does it.
 * @param {SpawnParams} params
 * @param {Ends} ends
 */
function startWorker(
  { file, execArgv, script, args, cwd, env, uid, gid, logFiles, isGated, scheduling, metrics },
  { in: input, outFd, errFd },
) {
  // Nobody accepts on behalf of a worker.
  cluster.schedulingPolicy = cluster.SCHED_NONE;
  // setupPrimary merges with the call before: every key, every time.
  cluster.setupPrimary({
    exec: script,
    args,
    execArgv: [...execArgv, ...preload(execArgv, env)],
    cwd,
    uid,
    gid,
    silent: false,
    serialization: 'json',
    stdio: [input, outFd, errFd, 'ipc'],
  });
  // cluster.fork() has no option for the binary: child_process.fork() takes process.execPath at the
  // time of the call.
  const own = process.execPath;
  process.execPath = file;
  try {
    const worker = cluster.fork({
      ...env,
      NCLUST_AGENT: JSON.stringify({ isCluster: true, logFiles, isGated, scheduling, metrics }),
    });
    worker.on('error', () => {}); // The same error comes to the process, which is where it is looked at.
    return worker.process;
  } finally {
    process.execPath = own;
  }
}

/** Puts a program under Node's permission model: the flag of Node 20, and those that came later. */
const RESTRICTS = /^--(experimental[-_])?permission([-_]audit)?$/;

/**
 * @param {string[]} execArgv
 * @param {Record<string, string>} env
 * @returns {string[]}  What makes Node load the agent. A program under the permission model has to
 *   be allowed to read it; elsewhere Node refuses to start with that argument. The agent hides both
 *   from the program.
 */
function preload(execArgv, { NODE_OPTIONS = '' }) {
  const isRestricted = [...execArgv, ...NODE_OPTIONS.split(/[\s"]+/)].some((arg) => RESTRICTS.test(arg));
  return [...(isRestricted ? [`--allow-fs-read=${dirname(agent)}/*`] : []), '--require', agent];
}

/**
 * The system reports a missing folder as ENOENT of the program, which sends people looking in the
 * wrong place.
 * @param {NodeJS.ErrnoException} error
 * @param {string} cwd
 */
function explain({ code = 'ESPAWN', message }, cwd) {
  try {
    accessSync(cwd, constants.X_OK);
    return new KeeperError(
      code,
      statSync(cwd).isDirectory() ? message : `the working directory ${cwd} is not a directory`,
    );
  } catch {
    return new KeeperError(
      code,
      `the working directory ${cwd} ${code === 'ENOENT' ? 'does not exist' : 'cannot be entered'}`,
    );
  }
}
