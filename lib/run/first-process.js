import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/**
 * How often it is looked for dead processes that nobody collects, in ms: a dead one that is seen
 * twice stays.
 */
const LOOK_EVERY_MS = 10_000;

const SHELL = '/bin/sh';
const RUNTIME = fileURLToPath(new URL('../../bin/nclust-runtime', import.meta.url));

/** Of a shell: a process that was ended by a signal. */
const BY_SIGTERM = 143;

/**
 * Not in the types of Node.js 20.
 * @typedef {{ execve?: (file: string, args: string[], env: NodeJS.ProcessEnv) => never }}
 *   WithExecve
 */

/**
 * The first process of a container has to collect every orphan that dies, and Node.js cannot wait
 * for processes it has not started; a shell does. So this process becomes one, under the same pid,
 * and the shell starts `nclust run` again. Where the system has no way to do it, this process ends
 * at least by the signals of which the kernel drops those that its first process has no listener
 * for: `run` replaces these listeners. To be called before anything is read that takes time.
 * @param {string[]} argv  Without node and the script.
 */
export function becomeInit(argv) {
  const words = wordsOfRun(argv);
  if (words === null) return;
  const { execve } = /** @type {WithExecve} */ (process);
  // Its ExperimentalWarning is emitted in the next turn, which does not come.
  if (execve && existsSync(SHELL) && existsSync(RUNTIME))
    execve.call(process, SHELL, ['sh', RUNTIME, `--node=${process.execPath}`, ...words], process.env);
  for (const signal of STOPPING) process.once(signal, () => process.exit(BY_SIGTERM));
}

/**
 * @param {string[]} argv
 * @returns {string[] | null}  Null: another command. "-s" and "--no-color" may stand in front, and
 *   behind as well.
 */
export function wordsOfRun(argv) {
  const at = argv.findIndex((word) => !word.startsWith('-'));
  return argv[at] === 'run' ? argv.toSpliced(at, 1) : null;
}

/** @param {(sentence: string) => void} say */
export function watchZombies(say) {
  if (process.pid !== 1 || process.platform !== 'linux') return;
  /** @type {Set<number>} */
  let before = new Set();
  const timer = setInterval(() => {
    const dead = zombiesOf(process.pid);
    const stays = dead.find((pid) => before.has(pid));
    before = new Set(dead);
    if (stays === undefined) return;
    clearInterval(timer);
    say(
      `process ${stays} is dead and nobody collects it, because Node.js is the first process of this ` +
        `container: start "nclust-runtime", or use "docker run --init".`,
    );
  }, LOOK_EVERY_MS).unref();
}

/**
 * Dead processes whose parent has to collect them.
 * @param {number} parent
 * @param {string} [proc]
 * @returns {number[]}  Their pids. None where there is no /proc.
 */
export function zombiesOf(parent, proc = '/proc') {
  return pidsIn(proc).filter((pid) => {
    const stat = statOf(`${proc}/${pid}/stat`);
    // The name in parentheses may hold spaces and parentheses itself.
    const [state, ppid] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return state === 'Z' && Number(ppid) === parent;
  });
}

/** @param {string} proc */
function pidsIn(proc) {
  try {
    return readdirSync(proc)
      .filter((entry) => /^\d+$/.test(entry))
      .map(Number);
  } catch {
    return [];
  }
}

/** @param {string} file */
function statOf(file) {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return ''; // Gone between the two looks.
  }
}

/**
 * Ctrl-C in a container comes twice, from the terminal and from the shell that is its first
 * process; what comes within so many ms is one.
 */
const TWICE_MS = 300;

const STOPPING = /** @type {const} */ (['SIGTERM', 'SIGINT', 'SIGQUIT']);

/**
 * What is to be done when this process is told something.
 * @typedef {object} Reactions
 * @property {(signal: string) => void} onStop  The first request to end.
 * @property {(signal: string) => void} onHurry  Each one after that.
 * @property {() => void} onReload
 * @property {() => void} onReopen
 */

/**
 * @param {Pick<NodeJS.Process, 'on' | 'removeAllListeners'>} source  Its listeners so far were for
 *   a process that has not started anything.
 * @param {Reactions} reactions
 * @param {() => number} [nowMono]  In ms.
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
