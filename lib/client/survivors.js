import { readdirSync, readFileSync, realpathSync } from 'node:fs';

/** @typedef {{ pid: number, name: string }} Survivor */

/**
 * Finds processes of apps whose manager has died. Linux only.
 * @param {string} home
 * @returns {Survivor[]}  The oldest process of each instance. Empty without /proc.
 */
export function findSurvivors(home) {
  const real = realPath(home);
  /** @type {Map<string, Survivor>} */
  const byInstance = new Map();
  const pids = tryTo(() => readdirSync('/proc'), []).filter((name) => /^\d+$/.test(name));
  for (const pid of pids.sort((a, b) => Number(a) - Number(b))) {
    const environ = tryTo(() => readFileSync(`/proc/${pid}/environ`, 'utf8'), '').split('\0');
    const valueOf = (/** @type {string} */ name) =>
      environ.find((one) => one.startsWith(`${name}=`))?.slice(name.length + 1);
    const instance = valueOf('NCLUST_INSTANCE');
    if (instance === undefined || byInstance.has(instance) || realPath(valueOf('NCLUST_HOME') ?? '') !== real) continue;
    byInstance.set(instance, { pid: Number(pid), name: valueOf('name') ?? 'unnamed' });
  }
  return [...byInstance.values()];
}

/** @param {string} path */
function realPath(path) {
  return tryTo(() => realpathSync(path), path);
}

/**
 * @template T
 * @param {() => T} action
 * @param {T} otherwise
 */
function tryTo(action, otherwise) {
  try {
    return action();
  } catch {
    return otherwise; // The process has exited, or belongs to another user.
  }
}
