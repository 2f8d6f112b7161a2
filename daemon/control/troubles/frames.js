// Knows: when to look for the code that blocks an event loop. Must not: look into a process itself.
import { readActivityKind } from '../host/activity-kind.js';
import { isBlocked } from '../metrics/reports.js';
import { MINUTE_MS } from './incidents.js';
import { BLOCKS_KEPT_MS } from './worker-kinds.js';

/** @import { Clock } from '../host/clock.js' */
/** @import { WorkerFacts } from './worker-facts.js' */

/**
 * @typedef {object} TakenFrame
 * @property {string} instanceId
 * @property {number} atMs  Wall clock.
 * @property {string | null} where  Like `render (report.js:31)`. Null: no code of the app.
 * @property {string[]} stack  The innermost frame first.
 */

const BLOCKED_MS = 5_000;
/** If blocks come and go, the next one may be short. */
const AGAIN_MS = 2_000;
/** A worker is looked into at most this often. */
const APART_MS = 10 * MINUTE_MS;
/** The kernel counts CPU time in steps of 10 ms. */
const LOOK_MS = 250;

/** On a busy machine, a worker that computes gets little CPU. */
const RUNS = new Set(['computes', 'no-cpu']);

/**
 * @param {object} o
 * @param {Pick<Clock, 'nowMs' | 'after'>} o.clock
 * @param {() => boolean} o.areTaken  The setting.
 * @param {(id: number, instanceId: string) => ReturnType<typeof import('../profiling/frame.js').takeFrame>} o.take
 * @param {typeof import('../host/activity-kind.js').lookAtActivity} o.look
 * @param {() => void} o.onTaken
 * @param {(worker: WorkerFacts, message: string) => void} o.onFailed
 */
export function createFrames({ clock, areTaken, take, look, onTaken, onFailed }) {
  /** The last try, by instance. @type {Map<string, { atMs: number, frame: TakenFrame | null }>} */
  const tries = new Map();
  let isBusy = false;

  /** @param {WorkerFacts} worker */
  function isDue(worker) {
    const { instanceId, status, isNode, blocks, silentMs } = worker;
    const ageMs = worker.reportAgeMs ?? 0;
    // Before the first report, control does not know whether the app handles SIGUSR1.
    const isLong = blocks.length > 0 ? ageMs >= AGAIN_MS : isBlocked(worker) && silentMs >= BLOCKED_MS;
    if (instanceId === null || !isNode || status !== 'online' || !isLong) return false;
    const triedMs = tries.get(instanceId)?.atMs ?? -Infinity;
    const nowMs = clock.nowMs();
    return nowMs - triedMs >= APART_MS && triedMs < nowMs - silentMs;
  }

  /**
   * A worker that waits in a system call runs no JavaScript, so its inspector does not open.
   * @param {WorkerFacts[]} workers
   * @returns {Promise<WorkerFacts[]>}  Those that run, one for each app.
   */
  async function findRunning(workers) {
    const looks = workers.map((worker) => ({ worker, before: look(worker.pid) }));
    await new Promise((resolve) => clock.after(LOOK_MS, () => resolve(undefined)));
    const running = looks.flatMap(({ worker, before }) => {
      const after = look(worker.pid);
      return before && after && RUNS.has(readActivityKind(before, after)) ? worker : [];
    });
    // The last one of an app wins: the one that is blocked longest.
    const sorted = running.sort((a, b) => a.silentMs - b.silentMs);
    return [...new Map(sorted.map((worker) => [worker.name, worker])).values()];
  }

  /** @param {WorkerFacts} worker */
  async function attempt(worker) {
    const instanceId = /** @type {string} */ (worker.instanceId);
    tries.set(instanceId, { atMs: clock.nowMs(), frame: null });
    try {
      const found = await take(worker.id, instanceId);
      const atMs = clock.nowMs();
      if (found === 'turned') tries.delete(instanceId);
      if (!found || found === 'turned') return;
      tries.set(instanceId, { atMs, frame: { instanceId, atMs, ...found } });
      onTaken();
    } catch (error) {
      onFailed(worker, /** @type {Error} */ (error).message);
    }
  }

  /** @param {WorkerFacts[]} workers */
  async function attemptAll(workers) {
    await Promise.all((await findRunning(workers)).map(attempt));
  }

  return {
    /**
     * @param {string} instanceId
     * @param {number} ageMs  Of its last report.
     * @returns {TakenFrame | null}  Null also if it is of a block that is forgotten.
     */
    of(instanceId, ageMs) {
      const { frame = null } = tries.get(instanceId) ?? {};
      return frame && clock.nowMs() - frame.atMs < Math.max(BLOCKS_KEPT_MS, ageMs) ? frame : null;
    },
    /** @param {TakenFrame[]} frames  Taken by an earlier control. */
    restore(frames) {
      for (const frame of frames) tries.set(frame.instanceId, { atMs: frame.atMs, frame });
    },
    /**
     * Looks into one worker of each app, because a trouble shows one frame.
     * @param {WorkerFacts[]} workers  Their apps have a blocked loop, and its code is not known yet.
     */
    consider(workers) {
      const due = isBusy || !areTaken() ? [] : workers.filter(isDue);
      if (due.length === 0) return;
      isBusy = true;
      void attemptAll(due).finally(() => {
        isBusy = false;
      });
    },
    /** @param {number} ms  By which the clock of the machine has jumped. */
    moveTimes(ms) {
      for (const [instanceId, { atMs, frame }] of tries)
        tries.set(instanceId, { atMs: atMs + ms, frame: frame && { ...frame, atMs: frame.atMs + ms } });
    },
    /** @param {(instanceId: string) => boolean} isThere */
    forget(isThere) {
      for (const instanceId of tries.keys()) if (!isThere(instanceId)) tries.delete(instanceId);
    },
  };
}
