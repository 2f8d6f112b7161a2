import { spawn } from 'node:child_process';
import cluster from 'node:cluster';
import { accessSync, constants, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runWithDefaultOomScore } from '../../lib/shared/daemon/oom-score.js';
import { canPreload, isRestricted, optionFor } from '../agent/tree/can-preload.cjs';
import { callAsOwner, readOwner } from './host/owner.js';
import { KeeperError } from './protocol.js';

/** @import { ChildProcess } from 'node:child_process' */
/** @import { Listener } from './sockets/listeners.js' */
/** @import { Pipes } from './pipes.js' */
/** @import { SpawnParams } from './protocol.js' */

/** Path of the agent for processes that start from now on. */
let agent = fileURLToPath(new URL('../agent/agent.cjs', import.meta.url));
const FIRST_SOCKET_FD = 4; // 3 is the IPC channel.

/** @typedef {Pipes & { in: number | 'ignore' }} Ends */

/**
 * Uses the agent of another installation from now on, because the old installation may be removed.
 * @param {string} root  Root of an installation with the same agent.
 */
export function takeAgentFrom(root) {
  agent = join(root, 'daemon/agent/agent.cjs');
}

/**
 * @param {SpawnParams} params
 * @param {Pipes} pipes
 * @param {number | null} inFd
 * @param {Listener[]} sockets  Inherited in fork mode, so that listen() can be synchronous.
 * @returns {Promise<ChildProcess>}  Rejects with an error that has the code of the system.
 */
export async function spawnProcess(params, pipes, inFd, sockets) {
  const starts = { cluster: startWorker, fork: startNode, exec: startProgram };
  const child = runWithDefaultOomScore(() => starts[params.mode](params, { ...pipes, in: inFd ?? 'ignore' }, sockets));
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
function startProgram({ file, args, cwd, env, uid, gid, hasChannel, hasPreload }, { in: input, outFd, errFd }) {
  return spawn(file, args, {
    cwd,
    env: hasPreload ? withPreload(args, env, { uid, gid }) : env,
    uid,
    gid,
    detached: true,
    stdio: [input, outFd, errFd, ...(hasChannel ? /** @type {const} */ (['ipc']) : [])],
  });
}

/**
 * @param {string[]} args
 * @param {Record<string, string>} env
 * @param {{ uid?: number, gid?: number }} user
 * @returns {Record<string, string>}
 */
function withPreload(args, env, user) {
  const { NODE_OPTIONS = '' } = env;
  const preload = join(dirname(agent), 'tree/preload.cjs');
  const isSafe = callAsOwner(readOwner(user), () => canPreload(preload, [...args, NODE_OPTIONS]));
  return isSafe ? { ...env, NODE_OPTIONS: `${NODE_OPTIONS} ${optionFor(preload)}`.trim() } : env;
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
 * Starts a node:cluster worker, so that `cluster.isWorker` is true and Node.js shares the UDP
 * sockets of the workers.
 * @param {SpawnParams} params
 * @param {Ends} ends
 */
function startWorker(
  { file, execArgv, script, args, cwd, env, uid, gid, logFiles, isGated, scheduling, metrics },
  { in: input, outFd, errFd },
) {
  cluster.schedulingPolicy = cluster.SCHED_NONE;
  // setupPrimary() keeps the settings of the previous call, so each call needs every key.
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
  // cluster.fork() has no option for the binary and uses process.execPath.
  const own = process.execPath;
  process.execPath = file;
  try {
    const worker = cluster.fork({
      ...env,
      NCLUST_AGENT: JSON.stringify({ isCluster: true, logFiles, isGated, scheduling, metrics }),
    });
    worker.on('error', () => {}); // worker.process emits the same error.
    return worker.process;
  } finally {
    process.execPath = own;
  }
}

/**
 * @param {string[]} execArgv
 * @param {Record<string, string>} env
 * @returns {string[]}  Options that load the agent. Under the permission model, they also allow the
 *   app to read the agent.
 */
function preload(execArgv, env) {
  return [
    ...(isRestricted([...execArgv, env.NODE_OPTIONS ?? '']) ? [`--allow-fs-read=${dirname(agent)}/*`] : []),
    '--require',
    agent,
  ];
}

/**
 * Returns an error that names the working directory if that is the cause, because the system
 * reports a missing working directory as ENOENT of the program.
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
