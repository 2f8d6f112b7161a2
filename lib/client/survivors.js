import { existsSync } from 'node:fs';
import { OF_KEEPER } from '../shared/daemon/keeper-process.js';
import { homeMark, isAppOfHome, listPids, readEnviron, readStat } from '../shared/daemon/home-processes.js';

/** @typedef {{ pid: number, name: string }} Survivor */

/**
 * Finds processes of apps whose manager has died. Linux only.
 * @param {string} home
 * @returns {Survivor[]}  The oldest process of each instance. Empty without /proc.
 */
export function findSurvivors(home) {
  // If the folder is gone, no mark can be compared, so the path decides.
  const mark = existsSync(home) ? homeMark(home) : '';
  const own = listAncestors();
  /** @type {Map<string, Survivor>} */
  const byInstance = new Map();
  for (const pid of listPids().sort((a, b) => a - b)) {
    const env = readEnviron(pid);
    const instance = env.get('NCLUST_INSTANCE') ?? '';
    if (
      pid === process.pid ||
      instance === OF_KEEPER ||
      byInstance.has(instance) ||
      !isAppOfHome(pid, env, { home, mark })
    )
      continue;
    // The user may have set the variables in the shell of this command.
    if (own.includes(pid) && !instance.includes('.')) continue;
    byInstance.set(instance, { pid, name: env.get('name') ?? 'unnamed' });
  }
  return [...byInstance.values()];
}

function listAncestors() {
  const pids = [];
  for (let pid = process.ppid; pid > 0; pid = readStat(pid)?.ppid ?? 0) pids.push(pid);
  return pids;
}
