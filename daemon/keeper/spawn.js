import { spawn } from 'node:child_process';
import cluster from 'node:cluster';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runWithDefaultOomScore } from '../../lib/shared/daemon/oom-score.js';
import { canPreload, isRestricted, getOption } from '../agent/tree/can-preload.cjs';
import { callInFolder } from './enter-folder.js';
import { callAsOwner, readOwner } from './host/owner.js';
import { KeeperError } from './protocol.js';

/** @import { ChildProcess } from 'node:child_process' */
/** @import { ChannelEnds } from './channel-ends.js' */
/** @import { Listener } from './sockets/listeners.js' */
/** @import { Pipes } from './pipes.js' */
/** @import { SpawnParams } from './protocol.js' */

/** Path of the agent for processes that start from now on. */
let agent = fileURLToPath(new URL('../agent/agent.cjs', import.meta.url));
const FIRST_LANE_FD = 4; // 3 is the IPC channel.

/**
 * @typedef {Pipes & { in: number | 'ignore' }} Ends
 * @typedef {Ends & { laneFds: number[] }} Descriptors
 */

/**
 * Uses the agent of another installation from now on, because the old installation may be removed.
 * @param {string} root  Root of an installation with the same agent.
 */
export function takeAgentFrom(root) {
  agent = join(root, 'daemon/agent/agent.cjs');
}

/**
 * @param {SpawnParams} params
 * @param {Ends} ends
 * @param {ChannelEnds | null} channel  null: the channel of Node.js.
 * @param {Listener[]} sockets  Inherited in fork mode, so that listen() can be synchronous.
 * @returns {Promise<ChildProcess>}  Rejects with an error that has the code of the system.
 */
export async function spawnProcess(params, ends, channel, sockets) {
  const starts = { cluster: startWorker, fork: startNode, exec: startProgram };
  const start = () => starts[params.mode](params, { ...ends, laneFds: channel?.laneFds ?? [] }, sockets);
  const child = callInFolder(params.cwd, params.isCwdTrusted ? null : readOwner(params), () =>
    runWithDefaultOomScore(() => (channel ? channel.give(start) : start())),
  );
  await new Promise((done, reject) => {
    const failed = (/** @type {NodeJS.ErrnoException} */ { code = 'ESPAWN', message }) =>
      reject(new KeeperError(code, message));
    child.once('error', failed).once('spawn', () => {
      child.removeListener('error', failed);
      done(undefined);
    });
  });
  return child;
}

/**
 * @param {SpawnParams} params
 * @param {Descriptors} descriptors
 */
function startProgram({ file, args, env, uid, gid, hasChannel, hasPreload }, { in: input, outFd, errFd }) {
  return spawn(file, args, {
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
  return isSafe ? { ...env, NODE_OPTIONS: `${NODE_OPTIONS} ${getOption(preload)}`.trim() } : env;
}

/**
 * @param {SpawnParams} params
 * @param {Descriptors} descriptors
 * @param {Listener[]} sockets
 */
function startNode(
  { file, execArgv, script, args, env, uid, gid, logFiles, isGated, metrics },
  { in: input, outFd, errFd, laneFds },
  sockets,
) {
  const firstFd = FIRST_LANE_FD + laneFds.length;
  const inherited = sockets.map(({ claim }, index) => ({ ...claim, fd: firstFd + index }));
  const settings = { lane: getLane(laneFds), sockets: inherited, logFiles, isGated, metrics };
  return spawn(file, [...execArgv, ...preload(execArgv, env), script ?? '', ...args], {
    env: { ...env, NCLUST_AGENT: JSON.stringify(settings) },
    uid,
    gid,
    detached: true,
    stdio: [input, outFd, errFd, 'ipc', ...laneFds, ...sockets.map(({ handle }) => handle.fd)],
  });
}

/**
 * Starts a node:cluster worker, so that `cluster.isWorker` is true and Node.js shares the UDP
 * sockets of the workers.
 * @param {SpawnParams} params
 * @param {Descriptors} descriptors
 */
function startWorker(
  { file, execArgv, script, args, env, uid, gid, logFiles, isGated, scheduling, metrics },
  { in: input, outFd, errFd, laneFds },
) {
  cluster.schedulingPolicy = cluster.SCHED_NONE;
  // setupPrimary() keeps the settings of the previous call, so each call needs every key.
  cluster.setupPrimary({
    exec: script,
    args,
    execArgv: [...execArgv, ...preload(execArgv, env)],
    uid,
    gid,
    silent: false,
    serialization: 'json',
    stdio: [input, outFd, errFd, 'ipc', ...laneFds],
  });
  // cluster.fork() has no option for the binary and uses process.execPath.
  const own = process.execPath;
  process.execPath = file;
  try {
    const settings = { lane: getLane(laneFds), isCluster: true, logFiles, isGated, scheduling, metrics };
    const worker = cluster.fork({ ...env, NCLUST_AGENT: JSON.stringify(settings) });
    worker.on('error', () => {}); // worker.process emits the same error.
    return worker.process;
  } finally {
    process.execPath = own;
  }
}

/**
 * @param {number[]} laneFds
 * @returns {number | undefined}  The descriptor in the process.
 */
const getLane = (laneFds) => (laneFds.length > 0 ? FIRST_LANE_FD : undefined);

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
