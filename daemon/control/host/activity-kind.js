import { namesIn } from '../../../lib/shared/daemon/files.js';
import { readProcFile, readStat } from '../../../lib/shared/daemon/home-processes.js';
import { TICK_OF_CPU_MS } from './processes.js';

/** @import { ActivityKind } from '../../../lib/shared/metrics.js' */

/** The shortest time between two looks, because the kernel counts CPU time in steps of 10 ms. */
const APART_MS = 200;
/** After this time a look is forgotten. */
const KEPT_MS = 10_000;

/**
 * A look at the main thread of a process, which runs the event loop of Node.js.
 * @typedef {object} ActivityLook
 * @property {number} atMono
 * @property {string} state  One letter: see proc(5).
 * @property {number} cpuMs
 * @property {number} delayMs  Time for which it was ready to run, but had no CPU.
 */

/**
 * Linux only.
 * @param {number} pid
 * @param {object} [o]
 * @param {string} [o.proc]
 * @param {() => number} [o.nowMono]
 * @returns {ActivityLook | null}  Null if the process has exited, or there is no /proc.
 */
export function lookAtActivity(pid, { proc = '/proc', nowMono = () => performance.now() } = {}) {
  const stat = readStat(pid, `${proc}/${pid}/task`);
  if (stat === null) return null;
  return {
    atMono: nowMono(),
    state: stat.state,
    cpuMs: stat.ownTicks * TICK_OF_CPU_MS,
    delayMs: readRunDelayMs(pid, proc),
  };
}

/**
 * @param {number} pid
 * @param {string} [proc]
 * @returns {number}  Time for which its main thread was ready to run, but had no CPU. 0: not known.
 */
export function readRunDelayMs(pid, proc) {
  const [, delayNs = 0] = readProcFile(pid, 'schedstat', proc).split(' ').map(Number);
  return delayNs / 1e6;
}

/**
 * Whether a thread of the process waits for a disk, a network disk too. Linux only.
 * @param {number} pid
 */
export function waitsForDisk(pid) {
  return namesIn(`/proc/${pid}/task`).some((thread) => readStat(Number(thread), `/proc/${pid}/task`)?.state === 'D');
}

/**
 * @typedef {(pids: number[]) => Map<number, ActivityKind>} ReadActivityKinds  Looks at each process.
 *   Processes without an earlier look are missing.
 */

/**
 * @param {object} [o]
 * @param {(pid: number) => ActivityLook | null} [o.look]
 * @param {() => number} [o.nowMono]
 * @returns {ReadActivityKinds}
 */
export function createActivityKinds({ look = lookAtActivity, nowMono = () => performance.now() } = {}) {
  /** @type {Map<number, { last: ActivityLook, kind: ActivityKind | null }>} */
  const known = new Map();
  return (pids) => {
    for (const [pid, { last }] of known) if (nowMono() - last.atMono > KEPT_MS) known.delete(pid);
    for (const pid of pids) {
      const before = known.get(pid);
      if (before && nowMono() - before.last.atMono < APART_MS) continue;
      const last = look(pid);
      if (last) known.set(pid, { last, kind: before ? readActivityKind(before.last, last) : null });
    }
    return new Map(
      pids.flatMap((pid) => {
        const kind = known.get(pid)?.kind ?? null;
        return kind === null ? [] : [/** @type {const} */ ([pid, kind])];
      }),
    );
  };
}

/**
 * @param {ActivityLook} before
 * @param {ActivityLook} after
 * @returns {ActivityKind}
 */
export function readActivityKind(before, after) {
  if (after.state === 'T' || after.state === 't') return 'stopped';
  const halfMs = (after.atMono - before.atMono) / 2;
  const cpuMs = after.cpuMs - before.cpuMs;
  const delayMs = after.delayMs - before.delayMs;
  if (cpuMs + delayMs >= halfMs) return delayMs > cpuMs ? 'no-cpu' : 'computes';
  const isIn = (/** @type {string} */ state) => before.state === state && after.state === state;
  // The kernel counts a delay when it ends. So a process that gets no CPU at all has no new delay.
  if (isIn('R')) return 'no-cpu';
  return isIn('D') ? 'disk' : 'waits';
}
