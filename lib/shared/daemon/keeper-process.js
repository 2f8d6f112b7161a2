// Finds the manager of a home by its processes, for the case that its sockets were removed, or that
// it hangs. Linux only.
import { statIfThere, tryTo } from './files.js';
import { isSameHome, listPids, readEnviron, readProcFile, uidOf } from './home-processes.js';

/** A keeper has this in its environment instead of an id, so that it is not part of any instance. */
export const OF_KEEPER = 'nclust.keeper';

/** Keeper and control set this title when they own the home. */
const TITLE = /^nclust (keeper|control) \(/;

/**
 * @typedef {{ pid: number, role: 'keeper' | 'control' }} ManagerProcess
 */

/**
 * @param {string} home
 * @returns {ManagerProcess[]}  Without this process.
 */
export function findManagerProcesses(home) {
  // The folder may have been removed.
  const uid = statIfThere(home)?.uid ?? process.geteuid?.();
  return listPids().flatMap((pid) => {
    if (pid === process.pid) return [];
    // The owner comes first, because other users may have any number of processes.
    const role = uidOf(pid) === uid ? TITLE.exec(readProcFile(pid, 'cmdline'))?.[1] : undefined;
    if (!role) return [];
    return isSameHome(pid, readEnviron(pid).get('NCLUST_HOME') ?? '', home)
      ? [{ pid, role: /** @type {ManagerProcess['role']} */ (role) }]
      : [];
  });
}

/**
 * A keeper puts its sockets back at SIGHUP.
 * @param {string} home
 * @returns {number | null}  The pid of a keeper that lives, although no process listens at the lock
 *   of the home.
 */
export function wakeKeeper(home) {
  const keeper = findManagerProcesses(home).find(({ role }) => role === 'keeper');
  // The keeper may have just exited.
  return keeper && tryTo(() => process.kill(keeper.pid, 'SIGHUP'), false) ? keeper.pid : null;
}
