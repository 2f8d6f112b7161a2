import { lstatSync, readlinkSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { readIfThere } from '../../../lib/shared/daemon/files.js';
import {
  isAppOfHome,
  listPids,
  readEnviron,
  readRealUid,
  readStat,
  realPath,
  uidOf,
} from '../../../lib/shared/daemon/home-processes.js';

/** @import { Stats } from 'node:fs' */

/** Linux uses 100 on every architecture that Node.js supports. */
const TICKS_PER_SECOND = 100;

const SET_UID = 0o4000;

/** Longer than any id that control gives. */
const ID_MAX_CHARS = 128;

/**
 * @typedef {object} Orphan
 * @property {string} instanceId
 * @property {number} pid
 * @property {string} startTicks  Field 22 of /proc/PID/stat. With the pid it identifies a process.
 * @property {number} startedAtMs
 * @property {string} name
 * @property {number} id
 * @property {string | null} outPipe
 * @property {string | null} errPipe
 */

/**
 * @typedef {{ pid: number, ppid: number, startTicks: string, env: Map<string, string> }} Process
 */

/**
 * Returns the users of a slot in all its generations. A null entry: the manager's own user. Null
 * instead of a list: the slot does not exist. Empty: the instance cannot be of this slot.
 * @typedef {(id: number, instanceId: string) => (number | null)[] | null} UidsOf
 */

/**
 * Finds orphans by the id of their instance and by their home. Children inherit both, so the main
 * process is the process whose parent does not have the same id. Any user can set the variables, so
 * isOurs() checks more.
 * @param {object} o
 * @param {string} o.home
 * @param {string} o.run  The folder of the keeper's pipes.
 * @param {string} o.mark  See homeMark().
 * @param {UidsOf} o.uidsOf
 * @param {Set<number | null>} o.uids  The users of all slots.
 * @param {number} [o.ownUid]
 * @param {string} [o.proc]
 * @returns {Orphan[]}  Empty if there is no /proc.
 */
export function findOrphans({ home, run, mark, uidsOf, uids, ownUid = process.getuid?.() ?? 0, proc = '/proc' }) {
  const marker = (/** @type {Process | undefined} */ process) => process?.env.get('NCLUST_INSTANCE');
  const marked = listPids(proc)
    .filter((pid) => mayBeOurs(pid, { uids, ownUid, run, proc }))
    .flatMap((pid) => readMarked(pid, { home, mark, proc }) ?? [])
    .filter((process) =>
      isOurs(process, { uids: uidsOf(findSlot(process), marker(process) ?? ''), ownUid, run, proc }),
    );
  const byPid = new Map(marked.map((process) => [process.pid, process]));
  const mains = marked.filter((process) => marker(byPid.get(process.ppid)) !== marker(process));
  const bootMs = Number(/^btime (\d+)$/m.exec(readIfThere(`${proc}/stat`))?.[1] ?? 0) * 1000;
  /** @type {Map<string, Orphan>} */
  const orphans = new Map();
  for (const process of mains.sort((a, b) => Number(a.startTicks) - Number(b.startTicks))) {
    const instanceId = marker(process) ?? '';
    // Keeps only the oldest process. A child whose parent died also looks like a main process, but
    // started later. The keeper finds such a child by the marker.
    if (!orphans.has(instanceId)) orphans.set(instanceId, describe(process, { instanceId, bootMs, run, proc, ownUid }));
  }
  return [...orphans.values()];
}

/**
 * Any user can start any number of processes with an environment of megabytes, so the environments
 * of strangers are not read.
 * @param {number} pid
 * @param {{ uids: Set<number | null>, ownUid: number, run: string, proc: string }} o
 */
function mayBeOurs(pid, { uids, ownUid, run, proc }) {
  const uid = uidOf(pid, proc) ?? Number.NaN;
  return uid === ownUid || uids.has(uid) || [0, 1, 2].some((fd) => findPipe(proc, pid, fd, run) !== null);
}

/**
 * Whether a keeper of this home started the process or one of its ancestors. A pipe of the keeper
 * is a proof, because only the keeper can open its pipes. The pipe belongs to the user of the app,
 * so an app cannot pass for an app of another user. Without a pipe, the user of the process
 * decides. A set-uid program is then never ours, because any user can run sudo, and sudo runs as
 * root while it asks for the password.
 * @param {Process} process
 * @param {{ uids: ReturnType<UidsOf>, ownUid: number, run: string, proc: string }} o
 */
function isOurs({ pid }, { uids, ownUid, run, proc }) {
  const isOfSlot = (/** @type {number} */ uid) => (uids ?? [null]).some((one) => (one ?? ownUid) === uid);
  const [pipe] = [0, 1, 2].flatMap((fd) => findPipe(proc, pid, fd, run) ?? []);
  if (pipe) return uids === null || isOfSlot(pipe.uid);
  try {
    return (
      isOfSlot(readRealUid(pid, proc) ?? Number.NaN) && (statSync(join(proc, String(pid), 'exe')).mode & SET_UID) === 0
    );
  } catch {
    return false;
  }
}

/** @param {Process} process */
function findSlot({ env }) {
  return Number(env.get('pm_id') ?? Number.NaN);
}

/**
 * @param {Process} process
 * @param {{ instanceId: string, bootMs: number, run: string, proc: string, ownUid: number }} o
 * @returns {Orphan}
 */
function describe(process, { instanceId, bootMs, run, proc, ownUid }) {
  const { pid, startTicks, env } = process;
  return {
    instanceId,
    pid,
    startTicks,
    startedAtMs: Math.round(bootMs + (Number(startTicks) / TICKS_PER_SECOND) * 1000),
    name: env.get('name') ?? '',
    id: findSlot(process),
    outPipe: pipePath([proc, pid, 1, run], ownUid),
    errPipe: pipePath([proc, pid, 2, run], ownUid),
  };
}

/**
 * @param {number} pid
 * @param {{ home: string, mark: string, proc: string }} o
 * @returns {Process | null}  Null: the process is not of this home, is a zombie, or cannot be read.
 */
function readMarked(pid, o) {
  const env = readEnviron(pid, o.proc);
  const isShort = (env.get('NCLUST_INSTANCE') ?? '').length <= ID_MAX_CHARS;
  const stat = isShort && isAppOfHome(pid, env, o) ? readStat(pid, o.proc) : null;
  return stat && !stat.hasExited ? { pid, ppid: stat.ppid, startTicks: stat.startTicks, env } : null;
}

/**
 * @param {string} proc
 * @param {number} pid
 * @param {number} fd
 * @param {string} run
 * @returns {{ path: string, uid: number } | null}
 */
function findPipe(proc, pid, fd, run) {
  try {
    const link = join(proc, String(pid), 'fd', String(fd));
    const target = readlinkSync(link);
    const stat = statSync(link);
    const path = join(run, basename(target));
    return realPath(run) === dirname(target) && isSame(stat, lstatSync(path)) ? { path, uid: stat.uid } : null;
  } catch {
    return null;
  }
}

/**
 * If the name of a pipe was removed, returns a path that leads to the descriptor of the process.
 * Control does not open a descriptor of a process of another user, who could exchange it.
 * @param {Parameters<typeof findPipe>} of
 * @param {number} ownUid
 * @returns {string | null}
 */
function pipePath([proc, pid, fd, run], ownUid) {
  const pipe = findPipe(proc, pid, fd, run);
  if (pipe) return pipe.path;
  const link = join(proc, String(pid), 'fd', String(fd));
  try {
    const stat = statSync(link);
    const wasOurs = dirname(readlinkSync(link)) === realPath(run);
    return wasOurs && stat.isFIFO() && stat.nlink === 0 && stat.uid === ownUid ? link : null;
  } catch {
    return null;
  }
}

/**
 * The same path is not enough, because in another mount namespace it can be another file.
 * @param {Stats} one
 * @param {Stats} other
 */
function isSame(one, other) {
  return one.isFIFO() && one.dev === other.dev && one.ino === other.ino;
}
