// Ends processes. No other file sends stop signals to apps.
//
//   leave rotation -> drain (the agent finishes what is in flight) -> signal
//     -> SIGKILL at the deadline -> last relative gone
//
// A signal before the drain would lose requests. The last step is needed, because relatives may
// outlive the main process.
import { describeError } from './host/log.js';
import { hasSignal } from '../../lib/shared/daemon/home-processes.js';
import { listRelatives, signalProcess } from './host/processes.js';
import { chooseStopSignal, readsMessages } from './stop-signal.js';

/** @import { Child } from './child.js' */
/** @import { Log } from './host/log.js' */
/** @import { ProcessEntry } from './host/processes.js' */
/** @import { RetireParams } from './protocol.js' */

/** The drain's share of the kill timeout. The rest is for the signal handlers of the app. */
const DRAIN_SHARE = 0.75;
/** Share of the remaining time in which the primary of an app may end the workers of the app. */
const WORKERS_SHARE = 0.5;
/** How long relatives get after SIGTERM when the main process has exited unexpectedly. */
const LEFTOVER_GRACE_MS = 2_000;
/**
 * Time for an agent without a keeper to connect, in ms. The agent looks for a keeper every 200 ms
 * (agent/reconnect.cjs).
 */
const ORPHAN_CALL_MS = 1_000;

/** @typedef {{ processTable: () => Promise<ProcessEntry[]>, log: Log }} Tools */

export class Retirement {
  /** Signals that the app has handlers for. @type {string[]} */
  caught = [];
  /**
   * Collected before the main process exits. After the exit, the keeper cannot find a relative that
   * has emptied its environment.
   * @type {ProcessEntry[]}
   */
  relatives = [];
  hasWorkers = false;
  hasSignalledRelatives = false;
  /** @type {() => void} */
  #resolveDrained = () => {};
  drainEnded = new Promise((resolve) => {
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

  /** @param {string[]} signals */
  drained(signals) {
    this.caught = signals;
    this.#resolveDrained();
  }
}

/**
 * Ends the main process, even if control dies. sweep() ends the relatives that are left. A second
 * call for the same child can only shorten the time limit.
 * @param {Child} child
 * @param {RetireParams} params
 * @param {Tools} tools
 * @returns {Promise<void>}
 */
export async function retire(child, params, tools) {
  if (child.retirement) return child.retirement.deadline.bringForward(params.killTimeoutMs);
  const retirement = new Retirement(params);
  child.retirement = retirement;
  const ending = drain(child, retirement, params)
    .then(() => (child.exit ? undefined : askToEnd(child, retirement, params, tools)))
    .catch((error) => tools.log('retire-failed', { instanceId: child.instanceId, ...describeError(error) }))
    .then(() => child.exited);
  // The deadline holds even if a step fails or never finishes.
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
  if (message && (await canReadMessages(child, tools)) && child.message('shutdown')) return;
  if (child.exit) return;
  const chosen = signal ?? (await chooseSignal(child, retirement, tools));
  if (child.exit) return;
  if (!retirement.hasWorkers) return signalTree(child, chosen, tools);
  // Signals only the primary, because the primary lets the workers finish.
  await findRelatives(child, tools);
  if (child.exit) return;
  signalMain(child, chosen, tools);
  await atMost(retirement.deadline.remainingMs() * WORKERS_SHARE, [child.exited, retirement.deadline.passed]);
  if (child.exit) return;
  // Searches again, because the primary may have started other workers.
  await findRelatives(child, tools);
  if (!child.exit) signalRelatives(retirement, chosen);
}

/**
 * @param {Child} child
 * @param {Retirement} retirement
 * @param {RetireParams} params
 */
async function drain(child, { drainEnded, deadline }, { drain: mode, killTimeoutMs, message: byMessage, signal }) {
  if (killTimeoutMs === 0) return;
  // Waits for the agent of an orphan, or of an app that called process.disconnect(), to connect.
  if (child.mode !== 'exec' && !child.isReachable)
    await atMost(ORPHAN_CALL_MS, [child.agentFound, child.exited, deadline.passed]);
  if (!child.hasAgent || !child.tell({ act: 'drain', mode, byMessage, signal })) return;
  await atMost(killTimeoutMs * DRAIN_SHARE, [drainEnded, child.exited, deadline.passed]);
}

/**
 * Ends the relatives after the main process has exited, and waits until they are gone.
 * @param {Child} child
 * @param {Tools} tools
 */
export async function sweep(child, { processTable, log }) {
  const { retirement } = child;
  const deadline = retirement?.deadline ?? createDeadline(LEFTOVER_GRACE_MS);
  let hasSignalled = retirement?.hasSignalledRelatives ?? false;
  for (let pauseMs = 10; retirement?.tree ?? true; pauseMs = Math.min(pauseMs * 2, 200)) {
    const left = await findProcesses(child, { processTable, log }, () => retirement?.relatives ?? []);
    if (left?.length === 0) break;
    const isLate = deadline.remainingMs() === 0;
    const isSignalDue = isLate || !hasSignalled;
    const foreign = isSignalDue
      ? (left ?? []).filter(({ pid }) => signalProcess(pid, isLate ? 'SIGKILL' : 'SIGTERM') === 'forbidden')
      : [];
    if (isLate && left && foreign.length === left.length) {
      log('leftovers-of-another-user', { instanceId: child.instanceId, pids: foreign.map(({ pid }) => pid) });
      break;
    }
    hasSignalled ||= left !== null;
    await new Promise((resolve) => setTimeout(resolve, Math.min(pauseMs, Math.max(deadline.remainingMs(), 10))));
  }
  deadline.clear();
  child.gone();
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
async function findRelatives(child, tools) {
  const { retirement } = child;
  const tree = retirement?.tree ? await findTree(child, tools) : null;
  if (retirement && tree && !child.exit) retirement.relatives = tree.filter(({ pid }) => pid !== child.pid);
}

/**
 * @param {Child} child
 * @param {Tools} tools
 * @returns {Promise<ProcessEntry[] | null>}  With the main process. null: the table could not be read.
 */
function findTree(child, tools) {
  return findProcesses(child, tools, (table) => table.filter(({ pid }) => pid === child.pid));
}

/**
 * @param {Child} child
 * @param {Tools} tools
 * @param {(table: ProcessEntry[]) => ProcessEntry[]} listKnown
 * @returns {Promise<ProcessEntry[] | null>}  null: the table could not be read.
 */
async function findProcesses(child, { processTable, log }, listKnown) {
  try {
    const table = await processTable();
    return listRelatives(table, child, listKnown(table));
  } catch (error) {
    log('process-table-failed', { instanceId: child.instanceId, ...describeError(error) });
    return null;
  }
}

/**
 * @param {Child} child
 * @param {Retirement} retirement
 * @param {Tools} tools
 */
function chooseSignal(child, { caught }, tools) {
  const { pid, mode } = child;
  return chooseStopSignal({
    pid,
    caught: [...caught, ...child.caught],
    hasAgent: mode !== 'exec',
    findTree: async () => (await findTree(child, tools)) ?? [],
  });
}

/**
 * @param {Child} child
 * @param {Tools} tools
 */
async function canReadMessages(child, tools) {
  return child.mode !== 'exec' || child.isReady || ((await findTree(child, tools)) ?? []).some(readsMessages);
}

/**
 * @param {Child} child
 * @param {NodeJS.Signals} signal
 * @param {Tools} tools
 */
function signalMain({ instanceId, pid }, signal, { log }) {
  // For example, the program is set-uid, and the manager does not run as root.
  if (signalProcess(pid, signal) === 'forbidden') log('signal-forbidden', { instanceId, pid, signal });
}

/**
 * @param {Retirement} retirement
 * @param {NodeJS.Signals} signal
 */
function signalRelatives(retirement, signal) {
  retirement.hasSignalledRelatives = true;
  // Sends SIGTERM to a process that ignores SIGINT, because shells make their background jobs
  // ignore SIGINT.
  for (const { pid } of retirement.relatives)
    signalProcess(pid, signal === 'SIGINT' && hasSignal(pid, 'SigIgn', signal) ? 'SIGTERM' : signal);
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
 * A time limit that can only become shorter.
 * @param {number} ms
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
    /** @param {number} laterMs */
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
