// Runs a program with the rights of an app's user, who may have written or replaced the program.
// So the program gets nothing of root: it has a session of its own without a terminal, because a
// process can type into the terminal of its session; its folder is "/", because it must not inherit
// a folder that its user may not enter; and it has no other groups (libuv calls setgroups(2)).
import { spawn, spawnSync } from 'node:child_process';
import { closeSync, constants, mkdtempSync, openSync, rmSync } from 'node:fs';
import { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isThere } from '../daemon/home-processes.js';
import { withoutInherited } from '../daemon/inherited-descriptors.js';
import { runWithDefaultOomScore } from '../daemon/oom-score.js';
import { afterMs } from '../deadline.js';

/** @import { ChildProcess } from 'node:child_process' */

/** @typedef {{ uid: number | null, gid: number | null }} Owner  Null: as this process. */

/**
 * @typedef {object} Limits
 * @property {Record<string, string | undefined>} env  All variables of the program.
 * @property {number} timeoutMs
 * @property {number} maxBytes  Of the output. With 0, the program of runAsUserSync() has no output.
 */

/**
 * @typedef {object} Outcome
 * @property {number | null} code  Null: a signal ended the program.
 * @property {string | null} signal
 * @property {Buffer} output
 * @property {'time' | 'bytes' | null} exceeded  The limit that the program has exceeded.
 */

/** Programs that run. They end with this process, because it keeps their time limits. @type {Set<ChildProcess>} */
const running = new Set();

function endAll() {
  for (const { pid } of running) endGroup(pid);
}

/**
 * At the end, kills the whole process group. A process that has left the group, with setsid(2), may
 * remain.
 * @param {Owner} owner
 * @param {string} file
 * @param {string[]} args
 * @param {Limits & {
 *   cwd?: string, stream?: 'stdout' | 'stderr', input?: string, after?: typeof afterMs
 * }} o  `cwd`: entered as this process. `stream`: the output to return; by default stdout. The
 *   program cannot use the other one. `input`: its standard input, only if it has no other owner.
 * @returns {Promise<Outcome>}  Rejects with an error of the system if the program cannot be started.
 */
export function runAsUser(owner, file, args, o) {
  const { cwd, env, timeoutMs, maxBytes, stream = 'stdout', input, after = afterMs } = o;
  return new Promise((resolve, reject) => {
    const pipe = isOther(owner) ? openPipe() : null;
    const ends = ['stdin', 'stdout', 'stderr'].map((one) => (one === stream ? (pipe?.given ?? 'pipe') : 'ignore'));
    if (input !== undefined) ends[0] = 'pipe';
    const child = withoutInherited(ends, (stdio) =>
      runWithDefaultOomScore(() => spawn(file, args, { ...optionsAsUser(owner, cwd), env, stdio })),
    );
    if (pipe) closeSync(pipe.given);
    // A program need not read its input; its exit code shows whether it has failed.
    child.stdin?.on('error', () => {}).end(input);
    if (running.size === 0) process.on('exit', endAll);
    running.add(child);
    const forget = () => {
      running.delete(child);
      if (running.size === 0) process.off('exit', endAll);
    };
    const source = pipe ? new Socket({ fd: pipe.own, writable: false }) : child[stream];
    /** @type {Buffer[]} */
    const chunks = [];
    let length = 0;
    /** @param {Pick<Outcome, 'code' | 'signal' | 'exceeded'>} how */
    const finish = (how) => {
      cancel();
      resolve({ ...how, output: Buffer.concat(chunks) });
    };
    /** @param {'time' | 'bytes'} exceeded */
    const giveUp = (exceeded) => {
      if (child.exitCode === null && child.signalCode === null) endGroup(child.pid);
      source?.destroy(); // A process that has left the group may keep the pipe open.
      child.unref();
      finish({ code: null, signal: null, exceeded });
    };
    const cancel = after(timeoutMs, () => giveUp('time'));
    child.on('error', (error) => {
      forget();
      cancel();
      source?.destroy();
      reject(error);
    });
    child.on('exit', (code, signal) => {
      forget();
      endGroup(child.pid);
      const end = () => finish({ code, signal, exceeded: null });
      if (source?.closed === false) source.once('close', end);
      else end();
    });
    // If descriptors ran out, there is no pipe; the 'error' event reports that.
    source?.on('data', (/** @type {Buffer} */ chunk) => {
      length += chunk.length;
      if (length > maxBytes) giveUp('bytes');
      else chunks.push(chunk);
    });
  });
}

/** @param {Owner} owner */
function isOther({ uid }) {
  return uid !== null && uid !== process.geteuid?.();
}

/**
 * Makes a pipe for the output of a program. The pipes of Node.js are Unix sockets, over which the
 * program could send a connection that blocks the process that closes it (SO_LINGER).
 * @returns {{ own: number, given: number }}  Throws an error of the system.
 */
function openPipe() {
  const folder = mkdtempSync(join(tmpdir(), 'nclust-'));
  try {
    const path = join(folder, 'pipe');
    const { error, status } = spawnSync('mkfifo', ['-m', '600', path], {
      env: { PATH: process.env.PATH },
      stdio: 'ignore',
    });
    if (error ?? status !== 0) throw error ?? new Error(`mkfifo exited with code ${status}`);
    const own = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    return { own, given: openSync(path, constants.O_WRONLY) };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/**
 * The same as runAsUser(), for callers that cannot wait. Returns stdout.
 * @param {Owner} owner
 * @param {string} file
 * @param {string[]} args
 * @param {Limits} o
 * @returns {Outcome}  Throws an error of the system if the program cannot be started.
 */
export function runAsUserSync(owner, file, args, { env, timeoutMs, maxBytes }) {
  const limits = { timeout: timeoutMs, maxBuffer: maxBytes, killSignal: /** @type {const} */ ('SIGKILL') };
  const { pid, status, signal, stdout, error } = withoutInherited(
    ['ignore', maxBytes > 0 ? 'pipe' : 'ignore', 'ignore'],
    (stdio) => runWithDefaultOomScore(() => spawnSync(file, args, { ...optionsAsUser(owner), ...limits, env, stdio })),
  );
  // The program may have exited long ago, if another process kept its output open.
  if (pid && !isThere(pid)) endGroup(pid);
  const { code = null } = /** @type {NodeJS.ErrnoException} */ (error ?? {});
  if (error && code !== 'ETIMEDOUT' && code !== 'ENOBUFS') throw error;
  return {
    code: status,
    signal,
    output: stdout ?? Buffer.alloc(0),
    exceeded: code === 'ETIMEDOUT' ? 'time' : code === 'ENOBUFS' ? 'bytes' : null,
  };
}

/**
 * For spawn(). The caller sets `stdio`, without a terminal, and `env`.
 * @param {Owner} owner
 * @param {string} [cwd]
 */
export function optionsAsUser({ uid, gid }, cwd = '/') {
  return { uid: uid ?? undefined, gid: gid ?? uid ?? undefined, cwd, detached: true };
}

/** @param {number | undefined} pid  The first process of the group. */
function endGroup(pid) {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch (error) {
    // The group is empty, or its processes run as another user (sudo).
    if (!['ESRCH', 'EPERM'].includes(/** @type {NodeJS.ErrnoException} */ (error).code ?? '')) throw error;
  }
}
