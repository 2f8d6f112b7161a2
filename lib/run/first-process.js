import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { STOPPING } from './signals.js';
import { zombiesOf } from './zombies.js';

/** How often it is looked for dead processes that nobody collects, in ms: a dead one that is seen twice stays. */
const LOOK_EVERY_MS = 10_000;

const SHELL = '/bin/sh';
const RUNTIME = fileURLToPath(new URL('../../bin/nclust-runtime', import.meta.url));

/** Of a shell: a process that was ended by a signal. */
const BY_SIGTERM = 143;

/** Not in the types of Node.js 20. @typedef {{execve?: (file: string, args: string[], env: NodeJS.ProcessEnv) => never}} WithExecve */

/**
 * The first process of a container has to collect every orphan that dies, and Node.js cannot wait for processes it has not started; a shell does. So this process becomes one, under the same pid, and the shell starts
 * `nclust run` again. Where the system has no way to do it, this process ends at least by the signals of which the kernel drops those that its first process has no listener for: `run` replaces these listeners.
 * To be called before anything is read that takes time.
 * @param {string[]} argv  Without node and the script.
 */
export function becomeInit(argv) {
  const words = wordsOfRun(argv);
  if (words === null) return;
  const { execve } = /** @type {WithExecve} */ (process);
  // Its ExperimentalWarning is emitted in the next turn, which does not come.
  if (execve && existsSync(SHELL) && existsSync(RUNTIME)) execve.call(process, SHELL, ['sh', RUNTIME, `--node=${process.execPath}`, ...words], process.env);
  for (const signal of STOPPING) process.once(signal, () => process.exit(BY_SIGTERM));
}

/**
 * @param {string[]} argv
 * @returns {string[]|null}  Null: another command. "-s" and "--no-color" may stand in front, and behind as well.
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
    say(`process ${stays} is dead and nobody collects it, because Node.js is the first process of this container: start "nclust-runtime", or use "docker run --init".`);
  }, LOOK_EVERY_MS).unref();
}
