import { closeSync, openSync, readdirSync, readSync, statSync } from 'node:fs';

/**
 * One process.
 * @typedef {object} ProcRow
 * @property {number} pid
 * @property {number} ppid
 * @property {number} rssBytes
 * @property {string} start  With the pid it is an identity.
 * @property {number} ownTicks  CPU, in hundredths of a second.
 * @property {number} waitedTicks  Of the children that have ended.
 */

/** USER_HZ is 100 on every Linux that Node runs on. */
export const TICK_OF_CPU_MS = 10;

/** Longer than any line of /proc/PID/stat. */
const buffer = Buffer.allocUnsafe(2_048);

/**
 * Into one buffer, and without a stat of the file before: a third of what readFileSync() takes.
 * @param {number|'self'} pid
 * @returns {ProcRow|null}  Null when it has ended.
 */
export function readProcRow(pid) {
  const text = readLine(`/proc/${pid}/stat`);
  if (text === null) return null;
  // The name in parentheses may itself hold spaces and parentheses: proc(5).
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ', 22);
  return {
    pid: Number(pid),
    ppid: Number(fields[1]),
    rssBytes: Number(fields[21]) * pageBytes(),
    start: fields[19],
    ownTicks: Number(fields[11]) + Number(fields[12]),
    waitedTicks: Number(fields[13]) + Number(fields[14]),
  };
}

/** @returns {ProcRow[]}  Of everything that runs. */
export function readProcTable() {
  return readdirSync('/proc').flatMap((entry) => (isPid(entry) ? readProcRow(Number(entry)) ?? [] : []));
}

/**
 * Open descriptors of a process.
 * @param {number} pid
 * @returns {number|null}  Null when it has ended, or is another user's.
 */
export function countFds(pid) {
  try {
    // Linux 6.2 tells their number as the size of the folder.
    return statSync(`/proc/${pid}/fd`).size || readdirSync(`/proc/${pid}/fd`).length;
  } catch {
    return null;
  }
}

/** @param {string} path @returns {string|null} */
export function readLine(path) {
  let fd = -1;
  try {
    fd = openSync(path, 'r');
    return buffer.toString('latin1', 0, readSync(fd, buffer, 0, buffer.length, 0));
  } catch {
    return null; // It ended meanwhile, or it is not ours to read.
  } finally {
    if (fd !== -1) closeSync(fd);
  }
}

/** @param {string} entry */
function isPid(entry) {
  const code = entry.charCodeAt(0);
  return code >= 48 && code <= 57;
}

let knownPageBytes = 0;

/** Of this machine: Node does not tell, but it tells in bytes what the system tells in pages. */
function pageBytes() {
  if (knownPageBytes === 0) {
    const text = readLine('/proc/self/statm') ?? '0 1';
    knownPageBytes = 2 ** Math.round(Math.log2(process.memoryUsage.rss() / Number(text.split(' ')[1])));
  }
  return knownPageBytes;
}
