import { lstatSync, readFileSync, readdirSync, readlinkSync, statSync } from 'node:fs';
import { join, sep } from 'node:path';

/** @import { Stats } from 'node:fs' */

/** Linux uses 100 on every architecture that Node.js supports. */
const TICKS_PER_SECOND = 100;

const SET_UID = 0o4000;

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
 * instead of a list: the slot does not exist.
 * @typedef {(id: number) => (number | null)[] | null} UidsOf
 */

/**
 * Finds orphans by a marker in their environment. Children inherit the marker, so the main process
 * is the process whose parent does not have the same marker. Any user can set the marker, so
 * isOurs() checks more.
 * @param {object} o
 * @param {string} o.home
 * @param {string} o.run  The folder of the keeper's pipes.
 * @param {UidsOf} o.uidsOf
 * @param {number} [o.ownUid]
 * @param {string} [o.proc]
 * @returns {Orphan[]}  Empty if there is no /proc.
 */
export function findOrphans({ home, run, uidsOf, ownUid = process.getuid?.() ?? 0, proc = '/proc' }) {
  const marked = list(proc)
    .flatMap((pid) => readMarked(proc, pid, home) ?? [])
    .filter((process) => isOurs(process, { uids: uidsOf(slotOf(process)), ownUid, run, proc }));
  const byPid = new Map(marked.map((process) => [process.pid, process]));
  const marker = (/** @type {Process | undefined} */ process) => process?.env.get('NCLUST_INSTANCE');
  const mains = marked.filter((process) => marker(byPid.get(process.ppid)) !== marker(process));
  const bootMs = readBootMs(proc);
  /** @type {Map<string, Orphan>} */
  const orphans = new Map();
  for (const process of mains.sort((a, b) => Number(a.startTicks) - Number(b.startTicks))) {
    const instanceId = marker(process) ?? '';
    // Keeps only the oldest process. A child whose parent died also looks like a main process, but
    // started later. The keeper finds such a child by the marker.
    if (!orphans.has(instanceId)) orphans.set(instanceId, describe(process, { instanceId, bootMs, run, proc }));
  }
  return [...orphans.values()];
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
  const isOfSlot = (/** @type {number} */ uid) => uid === ownUid || (uids ?? []).includes(uid);
  const [pipe] = [0, 1, 2].flatMap((fd) => findPipe(proc, pid, fd, run) ?? []);
  if (pipe) return uids === null || isOfSlot(pipe.uid);
  try {
    const uid = /^Uid:\s+(\d+)/m.exec(readFileSync(join(proc, String(pid), 'status'), 'utf8'))?.[1];
    return isOfSlot(Number(uid)) && (statSync(join(proc, String(pid), 'exe')).mode & SET_UID) === 0;
  } catch {
    return false;
  }
}

/** @param {Process} process */
function slotOf({ env }) {
  return Number(env.get('pm_id') ?? Number.NaN);
}

/**
 * @param {Process} process
 * @param {{ instanceId: string, bootMs: number, run: string, proc: string }} o
 * @returns {Orphan}
 */
function describe(process, { instanceId, bootMs, run, proc }) {
  const { pid, startTicks, env } = process;
  return {
    instanceId,
    pid,
    startTicks,
    startedAtMs: Math.round(bootMs + (Number(startTicks) / TICKS_PER_SECOND) * 1000),
    name: env.get('name') ?? '',
    id: slotOf(process),
    outPipe: findPipe(proc, pid, 1, run)?.path ?? null,
    errPipe: findPipe(proc, pid, 2, run)?.path ?? null,
  };
}

/** @param {string} proc */
function list(proc) {
  try {
    return readdirSync(proc)
      .filter((entry) => /^\d+$/.test(entry))
      .map(Number);
  } catch {
    return [];
  }
}

/**
 * @param {string} proc
 * @param {number} pid
 * @param {string} home
 * @returns {Process | null}  Null: the process has no marker of this home, is a zombie, or cannot
 *   be read.
 */
function readMarked(proc, pid, home) {
  try {
    const env = parseEnv(readFileSync(join(proc, String(pid), 'environ'), 'utf8'));
    if (!env.has('NCLUST_INSTANCE') || env.get('NCLUST_HOME') !== home) return null;
    const stat = readFileSync(join(proc, String(pid), 'stat'), 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return fields[0] === 'Z' ? null : { pid, ppid: Number(fields[1]), startTicks: fields[19], env };
  } catch {
    return null;
  }
}

/** @param {string} text */
function parseEnv(text) {
  return new Map(
    text
      .split('\0')
      .filter((entry) => entry.includes('='))
      .map((entry) => {
        const at = entry.indexOf('=');
        return [entry.slice(0, at), entry.slice(at + 1)];
      }),
  );
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
    const path = readlinkSync(link);
    const stat = statSync(link);
    return path.startsWith(run + sep) && isSame(stat, lstatSync(path)) ? { path, uid: stat.uid } : null;
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

/** @param {string} proc */
function readBootMs(proc) {
  try {
    return Number(/^btime (\d+)$/m.exec(readFileSync(join(proc, 'stat'), 'utf8'))?.[1] ?? 0) * 1000;
  } catch {
    return 0;
  }
}
