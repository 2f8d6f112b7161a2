// Reads /proc, and decides which processes belong to a home. Linux only.
import { createHash } from 'node:crypto';
import { closeSync, openSync, readSync, realpathSync, statSync } from 'node:fs';
import { constants } from 'node:os';
import { namesIn, statIfThere, tryTo } from './files.js';

/**
 * @param {string} [proc]
 * @returns {number[]}  Empty if there is no /proc.
 */
export function listPids(proc = '/proc') {
  return namesIn(proc)
    .filter((entry) => /^\d+$/.test(entry))
    .map(Number);
}

/**
 * @param {number | string} pid
 * @param {string} file
 * @param {string} [proc]
 * @returns {string}  At most PROC_MAX_BYTES. Empty if the process has exited, or belongs to another
 *   user.
 */
export function readProcFile(pid, file, proc = '/proc') {
  return tryTo(() => readStart(`${proc}/${pid}/${file}`, PROC_MAX_BYTES), '');
}

/** A process decides how long its command line and its environment are. */
const PROC_MAX_BYTES = 256 * 1024;

const shared = Buffer.allocUnsafe(PROC_MAX_BYTES);

/**
 * Reads a file of the kernel, whose size other users decide.
 * @param {string} path
 * @param {number} maxBytes
 */
export function readStart(path, maxBytes) {
  const fd = openSync(path, 'r');
  try {
    let bytes = shared;
    let length = 0;
    for (let got = -1; got !== 0 && length < maxBytes; length += got) {
      if (length === bytes.length) bytes = Buffer.concat([bytes], 4 * length);
      got = readSync(fd, bytes, length, Math.min(bytes.length, maxBytes) - length, null);
    }
    return bytes.toString('utf8', 0, length);
  } finally {
    closeSync(fd);
  }
}

/**
 * @param {number | string} pid
 * @param {string} [proc]
 * @returns {Map<string, string>}  Empty if the environment cannot be read.
 */
export function readEnviron(pid, proc = '/proc') {
  const entries = readProcFile(pid, 'environ', proc).split('\0');
  return new Map(
    entries.flatMap((entry) => {
      const at = entry.indexOf('=');
      return at < 0 ? [] : [[entry.slice(0, at), entry.slice(at + 1)]];
    }),
  );
}

/**
 * Times are in hundredths of a second on every Linux that Node.js runs on.
 * @typedef {object} ProcessStat
 * @property {string} state  One letter: see proc(5).
 * @property {boolean} hasExited  The parent has not collected it yet. A process whose first thread
 *   has exited before the others still has its sockets.
 * @property {number} ppid
 * @property {number} pgid
 * @property {string} startTicks  The pid and the start time identify the process.
 * @property {number} ownTicks  CPU time.
 * @property {number} waitedTicks  CPU time of children that have exited.
 * @property {number} residentPages
 */

/**
 * @param {number | string} pid
 * @param {string} [proc]
 * @returns {ProcessStat | null}  Null if the process has exited, or there is no /proc.
 */
export function readStat(pid, proc = '/proc') {
  const stat = readProcFile(pid, 'stat', proc);
  if (stat === '') return null;
  // Looks for the last parenthesis, because the name in parentheses may itself contain spaces and
  // parentheses: proc(5).
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ', 22);
  return {
    state: fields[0],
    hasExited: fields[0] === 'Z' && !(Number(fields[17]) > 1),
    ppid: Number(fields[1]),
    pgid: Number(fields[2]),
    startTicks: fields[19],
    ownTicks: Number(fields[11]) + Number(fields[12]),
    waitedTicks: Number(fields[13]) + Number(fields[14]),
    residentPages: Number(fields[21]),
  };
}

/**
 * @param {number} pid
 * @param {string} [proc]
 * @returns {number | null}  The effective user. Null: the process has exited.
 */
export function uidOf(pid, proc = '/proc') {
  return statIfThere(`${proc}/${pid}`)?.uid ?? null;
}

/**
 * Returns the real user, because the effective user of a set-uid program is root.
 * @param {number | string} pid
 * @param {string} [proc]
 * @returns {number | null}  Null: /proc/PID/status cannot be read.
 */
export function readRealUid(pid, proc = '/proc') {
  const uid = /^Uid:\s+(\d+)/m.exec(readProcFile(pid, 'status', proc))?.[1];
  return uid === undefined ? null : Number(uid);
}

/**
 * @param {number} pid
 * @param {'SigCgt' | 'SigIgn'} kind  SigCgt: a handler exists. SigIgn: the signal is ignored.
 * @param {'SIGTERM' | 'SIGINT' | 'SIGURG' | 'SIGUSR1'} signal
 * @returns {boolean}  false also if /proc/PID/status cannot be read.
 */
export function hasSignal(pid, kind, signal) {
  const mask = readProcFile(pid, 'status').match(new RegExp(`^${kind}:\\s*([0-9a-f]+)`, 'm'))?.[1];
  return mask !== undefined && (BigInt(`0x${mask}`) >> BigInt(constants.signals[signal] - 1)) % 2n === 1n;
}

/**
 * If the first process of a container does not collect its orphans, a dead process stays in the
 * process table. Without /proc, such a process counts as running.
 * @param {number} pid
 */
export function isRunning(pid) {
  return isThere(pid) && !readStat(pid)?.hasExited;
}

/**
 * Whether the process table has the process. It may be dead.
 * @param {number} pid
 */
export function isThere(pid) {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return /** @type {NodeJS.ErrnoException} */ (error).code === 'EPERM';
  }
}

/**
 * Control adds this text to the id of each instance, because a command for another home inherits
 * the id from the app that runs it. The text contains the inode as well, because the home of a
 * container may have the same path.
 * @param {string} home
 * @returns {string}  Begins with a dot.
 */
export function homeMark(home) {
  const path = realpathSync(home);
  const { dev, ino } = statSync(path);
  return `.${createHash('sha256').update(`${path}\0${dev}:${ino}`).digest('hex').slice(0, 16)}`;
}

/**
 * Whether a process of an app of this home has this environment. Any user can set the variables.
 * @param {number} pid
 * @param {Map<string, string>} env
 * @param {{ home: string, mark: string, proc?: string }} o  `mark`: see homeMark().
 */
export function isAppOfHome(pid, env, { home, mark, proc }) {
  const [id, path] = [env.get('NCLUST_INSTANCE') ?? '', env.get('NCLUST_HOME') ?? ''];
  // Earlier versions did not add the mark.
  if (!id.includes('.')) return id !== '' && isSameHome(pid, path, home, proc);
  // The mark differs for homes with the same path, such as in an app with a /tmp of its own.
  return id.endsWith(mark) && realPath(path) === realPath(home);
}

/**
 * Compares folders, because a path may lead to the home through links, and in a container the same
 * path leads to another folder. Compares paths if the home or the root of the process is hidden, or
 * if the home was removed for both.
 * @param {number | string} pid
 * @param {string} path  As the process has it.
 * @param {string} home
 * @param {string} [proc]
 */
export function isSameHome(pid, path, home, proc = '/proc') {
  const [root, ours] = [`${proc}/${pid}/root`, statIfThere(home)];
  const its = path === '' ? null : statIfThere(`${root}${path}`);
  if (ours ? !statIfThere(root) : !its) return realPath(path) === realPath(home);
  return its?.ino === ours?.ino && its?.dev === ours?.dev;
}

/** @param {string} path */
export function realPath(path) {
  return tryTo(() => realpathSync(path), path); // A path that does not exist may lead to a home elsewhere.
}
