// How a process ends: the one place that sends stop signals.
//
//   leave rotation -> drain (the agent finishes what is in flight) -> signal -> SIGKILL at the deadline -> last relative gone
//
// Signalling before draining is the classic cause of lost requests; waiting for the main process alone leaves orphans.
import { createDeadline } from './deadline.js';
import { hasSignal, relativesOf, signalProcess } from './processes.js';

/** The part of the time that draining may take, so that a program with a signal handler still gets to run it. */
const DRAIN_SHARE = 0.75;
/** What survives the main process without having been asked to end gets this long after its signal. */
const LEFTOVER_GRACE_MS = 2_000;
/** The agent of an adopted process finds this keeper's door within its search interval (agent/orphan.cjs: 200 ms). */
const ORPHAN_CALL_MS = 1_000;

/**
 * @typedef {object} Retirement
 * @property {import('./deadline.js').Deadline} deadline
 * @property {boolean} tree
 * @property {() => void} drained  The agent has nothing in flight any more.
 * @property {string[] | null} caught  Signals the app has handlers for, as its agent says.
 *
 * @typedef {() => Promise<import('./processes.js').ProcessFact[]>} ProcessTable
 */

/**
 * Takes an instance out of rotation and ends it, whatever happens to control meanwhile.
 * @param {import('./child.js').Child} child
 * @param {import('./protocol.js').RetireParams} params
 * @param {ProcessTable} processTable
 * @returns {Promise<void>}  Resolves when the main process has ended (`sweep` sees to the rest). Never rejects.
 */
export async function retire(child, params, processTable) {
  if (child.retirement) return child.retirement.deadline.bringForward(params.killTimeoutMs);
  const deadline = createDeadline(params.killTimeoutMs);
  await drain(child, params, deadline);
  const stop = params.killTimeoutMs === 0 ? 'SIGKILL' : chooseSignal(child, params.signal);
  if (!child.exit) await signalTree(child, stop, params.tree, processTable);
  await Promise.race([child.exited, deadline.passed]);
  if (!child.exit) await signalTree(child, 'SIGKILL', params.tree, processTable);
  await child.exited;
}

/**
 * @param {import('./child.js').Child} child
 * @param {import('./protocol.js').RetireParams} params
 * @param {import('./deadline.js').Deadline} deadline
 */
async function drain(child, { drain: mode, killTimeoutMs, tree }, deadline) {
  const isDrained = new Promise((resolve) => {
    child.retirement = { deadline, tree, caught: null, drained: () => resolve(undefined) };
  });
  if (killTimeoutMs === 0) return;
  if (child.isAdopted && child.mode !== 'exec') await atMost(ORPHAN_CALL_MS, [child.agentFound, child.exited, deadline.passed]);
  if (!child.hasAgent || !child.tell({ act: 'drain', mode })) return;
  await atMost(killTimeoutMs * DRAIN_SHARE, [isDrained, child.exited, deadline.passed]);
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
 * Ends what is left of an instance when its main process has ended, and returns when nothing is.
 * @param {import('./child.js').Child} child
 * @param {ProcessTable} processTable
 */
export async function sweep(child, processTable) {
  const { retirement } = child;
  const deadline = retirement?.deadline ?? createDeadline(LEFTOVER_GRACE_MS);
  let hasSignalled = retirement !== null;
  for (let pauseMs = 10; retirement?.tree ?? true; pauseMs = Math.min(pauseMs * 2, 200)) {
    const left = relativesOf(await processTable(), child.instanceId, child.pid);
    if (left.length === 0) break;
    const isLate = deadline.remainingMs() === 0;
    if (isLate || !hasSignalled) for (const pid of left) signalProcess(pid, isLate ? 'SIGKILL' : 'SIGTERM');
    hasSignalled = true;
    // Nobody reports the death of a process that is not one's child: the table has to be read again.
    await new Promise((resolve) => setTimeout(resolve, Math.min(pauseMs, Math.max(deadline.remainingMs(), 10))));
  }
  deadline.clear();
  child.isGone = true;
}

/**
 * @param {import('./child.js').Child} child
 * @param {NodeJS.Signals} signal
 * @param {boolean} tree
 * @param {ProcessTable} processTable
 */
async function signalTree(child, signal, tree, processTable) {
  const relatives = tree ? relativesOf(await processTable(), child.instanceId, child.pid) : [];
  if (child.exit) return;
  signalProcess(child.pid, signal);
  // Shells start their background jobs with SIGINT ignored.
  for (const pid of relatives) signalProcess(pid, signal === 'SIGINT' && hasSignal(pid, 'SigIgn', signal) ? 'SIGTERM' : signal);
}

/**
 * SIGTERM for a program that handles it, else SIGINT, which is what PM2 sends.
 * @param {import('./child.js').Child} child
 * @param {NodeJS.Signals | null} wanted
 * @returns {NodeJS.Signals}
 */
function chooseSignal(child, wanted) {
  if (wanted) return wanted;
  // Node itself catches both signals, so for a Node program only its agent can tell.
  if (child.mode !== 'exec') return child.retirement?.caught?.includes('SIGTERM') ? 'SIGTERM' : 'SIGINT';
  return hasSignal(child.pid, 'SigCgt', 'SIGINT') && !hasSignal(child.pid, 'SigCgt', 'SIGTERM') ? 'SIGINT' : 'SIGTERM';
}
