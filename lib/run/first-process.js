import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { listPids, readStat } from '../shared/daemon/home-processes.js';

/** How often to look for zombies. Nothing reaps a zombie that is still there at the next check. */
const LOOK_EVERY_MS = 10_000;

const SHELL = '/bin/sh';
const RUNTIME = fileURLToPath(new URL('../../bin/nclust-runtime', import.meta.url));

/** The exit status that shells report for a process that SIGTERM has ended. */
const BY_SIGTERM = 143;

/**
 * The types of Node.js 20 do not contain execve().
 * @typedef {{ execve?: (file: string, args: string[], env: NodeJS.ProcessEnv) => never }}
 *   WithExecve
 */

/**
 * If the command is `run`, replaces this process with a shell of the same pid. The shell then
 * starts `nclust run` again. The reason: the first process of a container must reap every orphan,
 * and Node.js reaps only its own children. Without a shell or execve(), this process exits at a
 * stop signal until `run` listens to stop signals, because the kernel drops a signal if pid 1 has
 * no listener. Call this before other modules are loaded.
 * @param {string[]} argv  The arguments after node and the script.
 */
export function becomeInit(argv) {
  const words = parseRunWords(argv);
  if (words === null) return;
  const { execve } = /** @type {WithExecve} */ (process);
  // execve() never prints its ExperimentalWarning, because Node.js would do this in the next tick.
  if (execve && existsSync(SHELL) && existsSync(RUNTIME))
    execve.call(process, SHELL, ['sh', RUNTIME, `--node=${process.execPath}`, ...words], process.env);
  for (const signal of STOPPING) process.once(signal, () => process.exit(BY_SIGTERM));
}

/**
 * @param {string[]} argv
 * @returns {string[] | null}  The arguments without the word "run", which may follow options. Null:
 *   the command is not `run`.
 */
export function parseRunWords(argv) {
  const at = argv.findIndex((word) => !word.startsWith('-'));
  return argv[at] === 'run' ? argv.toSpliced(at, 1) : null;
}

/** @param {(sentence: string) => void} printMessage */
export function watchZombies(printMessage) {
  if (process.pid !== 1 || process.platform !== 'linux') return;
  /** @type {Set<number>} */
  let before = new Set();
  const timer = setInterval(() => {
    const dead = findZombies(process.pid);
    const stays = dead.find((pid) => before.has(pid));
    before = new Set(dead);
    if (stays === undefined) return;
    clearInterval(timer);
    printMessage(
      `process ${stays} stays a zombie, because Node.js is the first process of this container and ` +
        `cannot reap orphans: start "nclust-runtime", or use "docker run --init".`,
    );
  }, LOOK_EVERY_MS).unref();
}

/**
 * Pids of zombies that a parent must reap.
 * @param {number} parent
 * @param {string} [proc]
 * @returns {number[]}  Empty if the system has no /proc.
 */
export function findZombies(parent, proc = '/proc') {
  return listPids(proc).filter((pid) => {
    const stat = readStat(pid, proc);
    return stat?.hasExited && stat.ppid === parent;
  });
}

/**
 * Two stop signals within this time, in ms, count as one, because at Ctrl-C the terminal and the
 * shell (pid 1) each send a signal.
 */
const TWICE_MS = 300;

const STOPPING = /** @type {const} */ (['SIGTERM', 'SIGINT', 'SIGQUIT']);

/**
 * @typedef {object} Reactions
 * @property {(signal: string) => void} onStop  At the first stop signal.
 * @property {(signal: string) => void} onHurry  At each later stop signal.
 * @property {() => void} onReload
 * @property {() => void} onReopen
 */

/**
 * @param {Pick<NodeJS.Process, 'on' | 'removeAllListeners'>} source  Loses its earlier listeners of
 *   stop signals.
 * @param {Reactions} reactions
 * @param {() => number} [nowMono]
 */
export function listenToSignals(source, { onStop, onHurry, onReload, onReopen }, nowMono = () => performance.now()) {
  let lastMono = -Infinity;
  let hasStopped = false;
  for (const signal of STOPPING) {
    source.removeAllListeners(signal);
    source.on(signal, () => {
      if (nowMono() - lastMono < TWICE_MS) return;
      lastMono = nowMono();
      if (hasStopped) return onHurry(signal);
      hasStopped = true;
      onStop(signal);
    });
  }
  source.on('SIGHUP', onReload);
  source.on('SIGUSR2', onReopen);
}
