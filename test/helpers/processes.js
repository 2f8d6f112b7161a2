import { readdirSync, readFileSync } from 'node:fs';
import { OF_KEEPER } from '../../lib/shared/daemon/keeper-process.js';

/**
 * @typedef {object} HomeProcess
 * @property {number} pid
 * @property {number} ppid
 * @property {string} startTicks  Together with the pid, identifies a process.
 * @property {string} command
 * @property {string | null} instanceId
 * @property {'keeper' | 'control' | 'app' | 'other'} role  `app`: any process that carries an
 *   instance's marker, including children.
 */

/**
 * @param {string} home
 * @returns {HomeProcess[]}  Without zombies.
 */
export function processesOf(home) {
  return readdirSync('/proc')
    .filter((entry) => /^\d+$/.test(entry))
    .flatMap((entry) => {
      const found = readProcess(Number(entry), home);
      return found ? [found] : [];
    });
}

/**
 * Returns the main process of each instance: the oldest process with the marker of the instance.
 * @param {string} home
 */
export function instancesOf(home) {
  /** @type {Map<string | null, HomeProcess>} */
  const oldest = new Map();
  for (const one of processesOf(home)) {
    const other = oldest.get(one.instanceId);
    if (one.role === 'app' && (!other || Number(one.startTicks) < Number(other.startTicks)))
      oldest.set(one.instanceId, one);
  }
  return [...oldest.values()];
}

/** @param {number} pid */
export function killIfThere(pid) {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code !== 'ESRCH') throw error;
  }
}

/**
 * @param {number} pid
 * @returns {boolean}
 */
export function isRunning(pid) {
  const stat = readStat(pid);
  return stat !== null && !stat.hasExited;
}

/**
 * @param {number} pid
 * @returns {{ hasExited: boolean, ppid: number, cpuTicks: number, startTicks: string } | null}
 */
export function readStat(pid) {
  const text = readProc(pid, 'stat');
  if (text === null) return null;
  // Starts after the last parenthesis, because the name may contain spaces and parentheses.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return {
    // Until its last thread has exited, a process may have open sockets.
    hasExited: 'ZX'.includes(fields[0]) && Number(fields[17]) <= 1,
    ppid: Number(fields[1]),
    cpuTicks: Number(fields[11]) + Number(fields[12]),
    startTicks: fields[19],
  };
}

/**
 * @param {number} pid
 * @returns {number}
 */
export function privateBytes(pid) {
  const text = readProc(pid, 'smaps_rollup') ?? '';
  return [...text.matchAll(/^Private_(?:Clean|Dirty):\s+(\d+) kB/gm)].reduce(
    (sum, match) => sum + Number(match[1]) * 1024,
    0,
  );
}

/**
 * @param {number} pid
 * @returns {number}
 */
export function residentBytes(pid) {
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(readProc(pid, 'status') ?? '')?.[1] ?? 0) * 1024;
}

/**
 * @param {number} pid
 * @returns {Record<string, string>}
 */
export function environmentOf(pid) {
  const entries = (readProc(pid, 'environ') ?? '').split('\0').filter(Boolean);
  return Object.fromEntries(
    entries.map((entry) => [entry.slice(0, entry.indexOf('=')), entry.slice(entry.indexOf('=') + 1)]),
  );
}

/**
 * @param {number} pid
 * @param {string} home
 * @returns {HomeProcess | null}
 */
function readProcess(pid, home) {
  const environ = readProc(pid, 'environ');
  if (!environ || !`\0${environ}`.includes(`\0NCLUST_HOME=${home}\0`)) return null;
  const stat = readStat(pid);
  if (!stat || stat.hasExited) return null;
  const command = (readProc(pid, 'cmdline') ?? '').replaceAll('\0', ' ').trim();
  const instanceId = /(?:^|\0)NCLUST_INSTANCE=([^\0]*)/.exec(environ)?.[1] ?? null;
  return { pid, ppid: stat.ppid, startTicks: stat.startTicks, command, instanceId, role: roleOf(command, instanceId) };
}

/**
 * @param {string} command
 * @param {string | null} instanceId
 * @returns {HomeProcess['role']}
 */
function roleOf(command, instanceId) {
  if (instanceId !== null && instanceId !== OF_KEEPER) return 'app';
  // The command line contains the script until the process sets its title.
  if (/daemon\/keeper\/main\.js|^nclust keeper \(/.test(command)) return 'keeper';
  return /daemon\/control\/main\.js|^nclust control \(/.test(command) ? 'control' : 'other';
}

/**
 * @param {number} pid
 * @param {string} file
 */
function readProc(pid, file) {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8');
  } catch {
    // The process has exited, or belongs to another user and so is not ours.
    return null;
  }
}
