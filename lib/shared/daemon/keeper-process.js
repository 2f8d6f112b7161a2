// Finds the manager of a home by its processes, for the case that its sockets were removed, or that
// it hangs. Linux only.
import { readdirSync, readFileSync, statSync } from 'node:fs';

/** A keeper has this in its environment instead of an id, so that it is not part of any instance. */
export const OF_KEEPER = 'nclust.keeper';

/** Keeper and control set this title when they own the home. */
const TITLE = /^nclust (keeper|control) \(/;

/**
 * @typedef {{ pid: number, role: 'keeper' | 'control' }} ManagerProcess
 */

/**
 * The path in the environment of a process may lead to the home through links, and in a container
 * the same path leads to another folder. So this function compares folders, not paths.
 * @param {string} home
 * @returns {ManagerProcess[]}  Without this process.
 */
export function findManagerProcesses(home) {
  const folder = statIfThere(home);
  if (process.platform !== 'linux' || !folder) return [];
  return readdirSync('/proc').flatMap((entry) => {
    const pid = Number(entry);
    if (!Number.isInteger(pid) || pid === process.pid) return [];
    const role = TITLE.exec(read(pid, 'cmdline'))?.[1];
    if (!role || statIfThere(`/proc/${pid}`)?.uid !== folder.uid) return [];
    const own = /(?:^|\0)NCLUST_HOME=([^\0]+)/.exec(read(pid, 'environ'))?.[1];
    const its = own === undefined ? null : statIfThere(`/proc/${pid}/root${own}`);
    return its?.ino === folder.ino && its.dev === folder.dev
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
  if (!keeper) return null;
  try {
    process.kill(keeper.pid, 'SIGHUP');
    return keeper.pid;
  } catch {
    return null; // It has just exited.
  }
}

/** @param {string} path */
function statIfThere(path) {
  try {
    return statSync(path);
  } catch {
    return null;
  }
}

/**
 * @param {number} pid
 * @param {string} file
 */
function read(pid, file) {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8');
  } catch {
    return ''; // The process has exited, or belongs to another user.
  }
}
