import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { zombiesOf } from './zombies.js';

/** How often it is looked for dead processes that nobody collects, in ms: a dead one that is seen twice stays. */
const LOOK_EVERY_MS = 10_000;

const SHELL = '/bin/sh';
const RUNTIME = fileURLToPath(new URL('../../bin/nclust-runtime', import.meta.url));

/** Not in the types of Node.js 20. @typedef {{execve?: (file: string, args: string[], env: NodeJS.ProcessEnv) => never}} WithExecve */

/**
 * The first process of a container has to collect every orphan that dies, and Node.js cannot wait for processes it has not started; a shell does. So this process becomes one, under the same pid, and the shell starts
 * `nclust run` again. Does nothing where we are not the first process. Returns only where the system has no way to do it.
 * @param {string[]} words  Behind `run` on the command line.
 * @param {(sentence: string) => void} say
 */
export function becomeInit(words, say) {
  if (process.pid !== 1 || process.platform !== 'linux') return;
  const { execve } = /** @type {WithExecve} */ (process);
  // Its ExperimentalWarning is emitted in the next turn, which does not come.
  if (execve && existsSync(SHELL) && existsSync(RUNTIME)) execve.call(process, SHELL, ['sh', RUNTIME, `--node=${process.execPath}`, ...words], process.env);
  watchZombies(say);
}

/** @param {(sentence: string) => void} say */
function watchZombies(say) {
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
