import { execFile } from 'node:child_process';
import { readlinkSync } from 'node:fs';
import { basename } from 'node:path';
import { promisify } from 'node:util';
import { listPids, readProcFile, readRealUid, readStat, uidOf } from '../../../lib/shared/daemon/home-processes.js';

const MARKER = 'NCLUST_INSTANCE='; // For the process of a keeper: OF_KEEPER in keeper-process.js.
const CHANNEL = /(^|[\0 ])NODE_CHANNEL_FD=/;
/** Time limit for ps in ms. It is short, because a kill waits for ps. */
const PS_MS = 2_000;

/**
 * @typedef {object} ProcessEntry
 * @property {number} pid
 * @property {number} ppid
 * @property {number} pgid
 * @property {string | null} startTicks  Distinguishes reused pids. null without /proc.
 * @property {string | null} instanceId  A marker in the environment. Children inherit it. Null for
 *   a process of a stranger, see isOfOurs().
 * @property {number | null} uid  The real user. On Linux null if the process has no marker.
 * @property {boolean} [hasChannel]  It was started with the IPC channel in its environment.
 * @property {string} [command]  Its command line, without /proc.
 */

/**
 * Finds processes with the marker of the instance in their environment, known processes, and the
 * descendants of both. The marker survives setsid and a double fork. The search misses a program
 * that left the process tree with an empty environment. A descendant with another marker is not a
 * relative: it is the keeper of another home that the app started, or an app of that keeper.
 *
 * Any user can set the marker. So the marker counts in two cases only: the user is the user of the
 * keeper, of the instance or of a known process, or the process is in the process group of the
 * instance. A stranger cannot enter this group. A cluster worker has no process group of its own.
 * @param {ProcessEntry[]} table
 * @param {{ instanceId: string, pid: number, owner: { uid: number } | null }} instance
 * @param {ProcessEntry[]} known  A pid with another start time does not count.
 */
export function listRelatives(table, { instanceId, pid: leader, owner }, known) {
  const before = new Map(known.map(({ pid, startTicks }) => [pid, startTicks]));
  const isKnown = (/** @type {ProcessEntry} */ one) => before.has(one.pid) && before.get(one.pid) === one.startTicks;
  const uids = new Set([process.getuid?.(), owner?.uid, ...known.map((one) => one.uid)]);
  const isMarked = (/** @type {ProcessEntry} */ one) =>
    one.instanceId === instanceId && ((one.uid !== null && uids.has(one.uid)) || one.pgid === leader);
  const family = new Set(table.filter((one) => isMarked(one) || isKnown(one)).map(({ pid }) => pid));
  for (let size = -1; size !== family.size;) {
    size = family.size;
    for (const one of table)
      if (family.has(one.ppid) && (one.instanceId ?? instanceId) === instanceId) family.add(one.pid);
  }
  return table.filter(({ pid }) => family.has(pid));
}

/**
 * The users and the main processes of instances. The users include the keeper's own user.
 * @typedef {{ uids: Set<number>, pids: Set<number> }} Ours
 */

/**
 * @param {() => Ours} listOurs
 * @returns {() => Promise<ProcessEntry[]>}  Calls within a turn of the event loop share one scan.
 */
export function createProcessTable(listOurs) {
  /** @type {Promise<ProcessEntry[]> | null} */
  let next = null;
  return () => {
    next ??= new Promise((resolve) => setImmediate(resolve)).then(() => {
      next = null;
      return process.platform === 'linux' ? fromProc(listOurs()) : fromPs();
    });
    return next;
  };
}

/**
 * @param {Ours} ours
 * @returns {ProcessEntry[]}
 */
function fromProc(ours) {
  const rows = listPids().flatMap((pid) => {
    const stat = readStat(pid);
    return stat && !stat.hasExited ? [{ pid, ppid: stat.ppid, pgid: stat.pgid, startTicks: stat.startTicks }] : [];
  });
  const isOurs = isOfOurs(rows, ours);
  return rows.map((row) => {
    const environ = isOurs(row) ? readProcFile(row.pid, 'environ') : '';
    const instanceId = readMarker(environ);
    return {
      ...row,
      instanceId,
      uid: instanceId === null ? null : readRealUid(row.pid),
      hasChannel: CHANNEL.test(environ),
    };
  });
}

/** @typedef {Pick<ProcessEntry, 'pid' | 'ppid' | 'pgid'>} Lineage */

/**
 * Whether a process may belong to an instance. Any user can start any number of processes with an
 * environment of megabytes, so the environments of strangers are not read.
 * @param {Lineage[]} rows
 * @param {Ours} ours
 * @returns {(row: Lineage) => boolean}
 */
function isOfOurs(rows, { uids, pids }) {
  /** @type {Map<number, number[]>} */
  const children = new Map();
  for (const { pid, ppid } of rows) {
    const siblings = children.get(ppid);
    if (siblings) siblings.push(pid);
    else children.set(ppid, [pid]);
  }
  const family = new Set(pids);
  // A loop over a set also visits members that are added during the loop.
  for (const pid of family) for (const child of children.get(pid) ?? []) family.add(child);
  return ({ pid, pgid }) => family.has(pid) || pids.has(pgid) || uids.has(uidOf(pid) ?? Number.NaN);
}

/**
 * Returns the name of the program file, because a process can change its title.
 * @param {ProcessEntry} entry
 * @returns {string}  Empty: the process has exited, or belongs to another user.
 */
export function readProgram({ pid, command }) {
  if (command !== undefined) return basename(command.split(' ')[0]);
  try {
    return basename(readlinkSync(`/proc/${pid}/exe`).replace(/ \(deleted\)$/, ''));
  } catch {
    return '';
  }
}

/**
 * @param {ProcessEntry} entry
 * @returns {string[]}  The words of the command line. A process can change them.
 */
export function readWords({ pid, command }) {
  return (command ?? readProcFile(pid, 'cmdline')).split(/[\0 ]+/);
}

/** @param {string} environ */
function readMarker(environ) {
  const at = environ.startsWith(MARKER) ? 0 : environ.indexOf(`\0${MARKER}`) + 1;
  if (at === 0 && !environ.startsWith(MARKER)) return null;
  const end = environ.indexOf('\0', at);
  return environ.slice(at + MARKER.length, end === -1 ? undefined : end);
}

/** @returns {Promise<ProcessEntry[]>} */
async function fromPs() {
  // -E appends the environment to the command line, for processes of the keeper's user only.
  const { stdout } = await promisify(execFile)('ps', ['-axwwE', '-o', 'pid=,ppid=,pgid=,ruid=,stat=,command='], {
    maxBuffer: 1 << 26,
    timeout: PS_MS,
    killSignal: 'SIGKILL',
  });
  return stdout.split('\n').flatMap((line) => {
    const match = /^\s*(\d+)\s+(\d+)\s+(\d+)\s+(-?\d+)\s+(\S+)\s(.*)$/.exec(line);
    if (!match || match[5].startsWith('Z')) return [];
    return [
      {
        pid: Number(match[1]),
        ppid: Number(match[2]),
        pgid: Number(match[3]),
        startTicks: null,
        instanceId: / NCLUST_INSTANCE=(\S+)/.exec(match[6])?.[1] ?? null,
        uid: Number(match[4]),
        hasChannel: CHANNEL.test(match[6]),
        command: match[6],
      },
    ];
  });
}

/**
 * Does not throw if the process is gone, or has changed its user (sudo).
 * @param {number} pid
 * @param {NodeJS.Signals | 0} signal
 */
export function signalProcess(pid, signal) {
  try {
    process.kill(pid, signal);
    return 'sent';
  } catch (error) {
    const { code } = /** @type {NodeJS.ErrnoException} */ (error);
    if (code === 'ESRCH') return 'gone';
    if (code === 'EPERM') return 'forbidden';
    throw error;
  }
}
