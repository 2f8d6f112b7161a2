// How a process ends: the one place that sends stop signals.
//
//   leave rotation -> drain (the agent finishes what is in flight) -> signal
//     -> SIGKILL at the deadline -> last relative gone
//
// Signalling before draining is the classic cause of lost requests; waiting for the main process
// alone leaves orphans.
import { describeError } from './host/log.js';
import { hasSignal, relativesOf, signalProcess } from './host/processes.js';

/** @import { Child } from './child.js' */
/** @import { Log } from './host/log.js' */
/** @import { ProcessFact } from './host/processes.js' */
/** @import { RetireParams } from './protocol.js' */

/**
 * The part of the time that draining may take, so that a program with a signal handler still gets
 * to run it.
 */
const DRAIN_SHARE = 0.75;
/**
 * The part of the time that is left in which the primary of an app's own node:cluster ends its
 * workers, before they get the signal, too.
 */
const WORKERS_SHARE = 0.5;
/**
 * What survives the main process without having been asked to end gets this long after its signal.
 */
const LEFTOVER_GRACE_MS = 2_000;
/**
 * The agent of an adopted process finds this keeper's door within its search interval
 * (agent/reconnect.cjs: 200 ms).
 */
const ORPHAN_CALL_MS = 1_000;

/** @typedef {{ processTable: () => Promise<ProcessFact[]>, log: Log }} Tools */

/** That a child is ending, and how far that has come. */
export class Retirement {
  /** Signals the app has handlers for, as its agent says. @type {string[]} */
  caught = [];
  /**
   * Relatives that were seen while the main process lived: one that emptied its environment cannot
   * be found afterwards.
   * @type {ProcessFact[]}
   */
  relatives = [];
  /** Whether its main process is the primary of a node:cluster of its own. */
  hasWorkers = false;
  /** Whether its relatives were asked to end. */
  hasAsked = false;
  /** @type {() => void} */
  #resolveDrained = () => {};
  isDrained = new Promise((resolve) => {
    this.#resolveDrained = () => resolve(undefined);
  });

  /** @param {RetireParams} params */
  constructor({ killTimeoutMs, tree }) {
    this.deadline = createDeadline(killTimeoutMs);
    this.tree = tree;
  }

  /**
   * @param {string[]} signals
   * @param {boolean} hasWorkers
   */
  draining(signals, hasWorkers) {
    this.caught = signals;
    this.hasWorkers = hasWorkers;
  }

  /**
   * The agent has nothing in flight any more.
   * @param {string[]} signals
   */
  drained(signals) {
    this.caught = signals;
    this.#resolveDrained();
  }
}

/**
 * Takes an instance out of rotation and ends it, whatever happens to control meanwhile.
 * @param {Child} child
 * @param {RetireParams} params
 * @param {Tools} tools
 * @returns {Promise<void>}  Resolves when the main process has ended (`sweep` sees to the rest).
 */
export async function retire(child, params, tools) {
  if (child.retirement) return child.retirement.deadline.bringForward(params.killTimeoutMs);
  const retirement = new Retirement(params);
  child.retirement = retirement;
  const ending = drain(child, retirement, params)
    .then(() => (child.exit ? undefined : askToEnd(child, retirement, params, tools)))
    .catch((error) => tools.log('retire-failed', { instanceId: child.instanceId, ...describeError(error) }))
    .then(() => child.exited);
  // The deadline holds, even if a step before has failed or does not end.
  await Promise.race([ending, retirement.deadline.passed]);
  if (!child.exit) await signalTree(child, 'SIGKILL', tools);
  await child.exited;
}

/**
 * @param {Child} child
 * @param {Retirement} retirement
 * @param {RetireParams} params
 * @param {Tools} tools
 */
async function askToEnd(child, retirement, { killTimeoutMs, message, signal }, tools) {
  if (killTimeoutMs === 0) return signalTree(child, 'SIGKILL', tools);
  if (message && child.message('shutdown')) return;
  const chosen = chooseSignal(child, retirement, signal);
  if (!retirement.hasWorkers) return signalTree(child, chosen, tools);
  // A primary lets its workers finish, which a signal would end at once.
  await findRelatives(child, tools);
  if (child.exit) return;
  signalMain(child, chosen, tools);
  await atMost(retirement.deadline.remainingMs() * WORKERS_SHARE, [child.exited, retirement.deadline.passed]);
  if (child.exit) return;
  // Workers have come and gone in that time.
  await findRelatives(child, tools);
  if (!child.exit) signalRelatives(retirement, chosen);
}

/**
 * @param {Child} child
 * @param {Retirement} retirement
 * @param {RetireParams} params
 */
async function drain(child, { isDrained, deadline }, { drain: mode, killTimeoutMs, message: byMessage, signal }) {
  if (killTimeoutMs === 0) return;
  // An orphan, or an app that called process.disconnect(): its agent looks for the door.
  if (child.mode !== 'exec' && !child.isReachable)
    await atMost(ORPHAN_CALL_MS, [child.agentFound, child.exited, deadline.passed]);
  if (!child.hasAgent || !child.tell({ act: 'drain', mode, byMessage, signal })) return;
  await atMost(killTimeoutMs * DRAIN_SHARE, [isDrained, child.exited, deadline.passed]);
}

/**
 * Ends what is left of an instance when its main process has ended, and returns when nothing is.
 * @param {Child} child
 * @param {Tools} tools
 */
export async function sweep(child, { processTable, log }) {
  const { retirement } = child;
  const deadline = retirement?.deadline ?? createDeadline(LEFTOVER_GRACE_MS);
  let hasSignalled = retirement?.hasAsked ?? false;
  for (let pauseMs = 10; retirement?.tree ?? true; pauseMs = Math.min(pauseMs * 2, 200)) {
    const left = await leftovers(child, { processTable, log });
    if (left?.length === 0) break;
    const isLate = deadline.remainingMs() === 0;
    const isSignalDue = isLate || !hasSignalled;
    const foreign = isSignalDue
      ? (left ?? []).filter((pid) => signalProcess(pid, isLate ? 'SIGKILL' : 'SIGTERM') === 'forbidden')
      : [];
    if (isLate && left && foreign.length === left.length) {
      log('leftovers-of-another-user', { instanceId: child.instanceId, pids: foreign });
      break;
    }
    hasSignalled ||= left !== null;
    // Nobody reports the death of a process that is not one's child: the table has to be read
    // again.
    await new Promise((resolve) => setTimeout(resolve, Math.min(pauseMs, Math.max(deadline.remainingMs(), 10))));
  }
  deadline.clear();
  child.gone();
}

/**
 * @param {Child} child
 * @param {Tools} tools
 * @returns {Promise<number[] | null>}  null when the table could not be read, for which there may
 *   be no descriptor left.
 */
async function leftovers(child, { processTable, log }) {
  try {
    return relativesOf(await processTable(), child, child.retirement?.relatives ?? []).map(({ pid }) => pid);
  } catch (error) {
    log('process-table-failed', { instanceId: child.instanceId, ...describeError(error) });
    return null;
  }
}

/**
 * @param {Child} child
 * @param {NodeJS.Signals} signal
 * @param {Tools} tools
 */
async function signalTree(child, signal, tools) {
  await findRelatives(child, tools);
  if (child.exit) return;
  signalMain(child, signal, tools);
  if (child.retirement) signalRelatives(child.retirement, signal);
}

/**
 * @param {Child} child
 * @param {Tools} tools
 */
async function findRelatives(child, { processTable, log }) {
  const { retirement } = child;
  try {
    const table = retirement?.tree ? await processTable() : [];
    if (retirement && !child.exit)
      retirement.relatives = relativesOf(
        table,
        child,
        table.filter(({ pid }) => pid === child.pid),
      ).filter(({ pid }) => pid !== child.pid);
  } catch (error) {
    log('process-table-failed', { instanceId: child.instanceId, ...describeError(error) });
  }
}

/**
 * @param {Child} child
 * @param {NodeJS.Signals} signal
 * @param {Tools} tools
 */
function signalMain({ instanceId, pid }, signal, { log }) {
  // For example, the program is set-uid and the manager is not root.
  if (signalProcess(pid, signal) === 'forbidden') log('signal-forbidden', { instanceId, pid, signal });
}

/**
 * @param {Retirement} retirement
 * @param {NodeJS.Signals} signal
 */
function signalRelatives(retirement, signal) {
  retirement.hasAsked = true;
  // Shells start their background jobs with SIGINT ignored.
  for (const { pid } of retirement.relatives)
    signalProcess(pid, signal === 'SIGINT' && hasSignal(pid, 'SigIgn', signal) ? 'SIGTERM' : signal);
}

/**
 * SIGTERM for a program that handles it, else SIGINT, which is what PM2 sends.
 * @param {Child} child
 * @param {Retirement} retirement
 * @param {NodeJS.Signals | null} wanted
 */
function chooseSignal(child, { caught }, wanted) {
  if (wanted) return wanted;
  // Node itself catches both signals, so for a Node program only its agent can tell.
  if (child.mode !== 'exec') return caught.includes('SIGTERM') ? 'SIGTERM' : 'SIGINT';
  return hasSignal(child.pid, 'SigCgt', 'SIGINT') && !hasSignal(child.pid, 'SigCgt', 'SIGTERM') ? 'SIGINT' : 'SIGTERM';
}

/**
 * @param {number} ms
 * @param {Promise<unknown>[]} promises
 */
async function atMost(ms, promises) {
  const enough = createDeadline(ms);
  await Promise.race([enough.passed, ...promises]);
  enough.clear();
}

/**
 * A time at which waiting ends. It can only become earlier.
 * @param {number} ms  From now.
 */
export function createDeadline(ms) {
  /** @type {() => void} */
  let resolve = () => {};
  const passed = new Promise((done) => {
    resolve = () => done(undefined);
  });
  let atMono = performance.now() + ms;
  let timer = setTimeout(resolve, ms);
  return {
    passed,
    /** @param {number} laterMs  From now. */
    bringForward(laterMs) {
      if (performance.now() + laterMs >= atMono) return;
      atMono = performance.now() + laterMs;
      clearTimeout(timer);
      timer = setTimeout(resolve, laterMs);
    },
    remainingMs: () => Math.max(0, atMono - performance.now()),
    clear: () => clearTimeout(timer),
  };
}
