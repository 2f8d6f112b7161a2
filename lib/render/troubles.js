import {
  clockTime,
  formatBytes,
  formatCoarse,
  formatCount,
  formatDelay,
  formatPercent,
  formatRate,
  formatSpan,
} from '../figures/format.js';
import { formatPlace } from '../shared/address.js';
import {
  adviseOnPort,
  describeEnd,
  describeListenFailure,
  quoteErrorLine,
  withoutPrefix,
} from '../shared/death-text.js';
import { shellQuote } from '../shared/shell-quote.js';

/** @import { ActivityKind } from '../shared/metrics.js' */
/** @import { BlockFrame, Evidence, Kind, Replacement, Trouble } from '../shared/troubles.js' */

/** @type {Record<ActivityKind, string>} */
const DOING = {
  computes: 'it computes',
  waits: 'it waits in a system call',
  disk: 'it waits for a disk',
  stopped: 'a signal has stopped it',
  'no-cpu': 'it gets no CPU',
};

/** Why an instance is not replaced. @type {Record<string, string>} */
const HELD = {
  machine: 'the machine or a signal stops it',
  loading: 'it loads its main module',
  failed: 'the last try failed',
  inspected: 'a debugger looks into it',
  shared: 'other instances have the same fault',
  harmless: 'no request waits for it',
  brake: 'another one was replaced in the last 10m',
};

const LOOK_UPSTREAM = 'Look at the database or service that it calls';

/**
 * `text` follows the name of the app. `next`: a command, or an advice.
 * @type {{ [K in Kind]: {
 *   text: (evidence: Evidence[K], trouble: Trouble<K>) => string,
 *   next: (name: string, evidence: Evidence[K]) => string,
 * } }}
 */
const WORDS = {
  errored: {
    text: (evidence, { times }) =>
      `is down and is no longer restarted${'last' in evidence ? `: it ${describeCrashes(evidence, times)}` : ''}`,
    next: (name) => `nclust logs ${name} --err; then: nclust start ${name}`,
  },
  'port-taken': {
    text: ({ failure }) => describeListenFailure(failure),
    next: (name, { failure }) => adviseOnPort(failure, name),
  },
  'crash-loop': {
    text: (evidence, { times }) => describeCrashes(evidence, times),
    next: (name) => `nclust logs ${name} --err`,
  },
  'deploy-halted': {
    text: (evidence) =>
      (evidence.isRolledBack
        ? 'was rolled back, and the old code serves: '
        : 'runs the old code, because its last reload was halted: ') +
      evidence.reason +
      quoteErrorLine(evidence),
    next: (name) => `Fix the new code, then: nclust reload ${name}`,
  },
  'slow-start': {
    text: ({ forMs, isProgressing }) =>
      `has been starting for ${formatCoarse(forMs)}: it ${isProgressing ? 'computes' : 'waits for something'}`,
    next: (name, { isProgressing }) => (isProgressing ? `Wait, or see: nclust logs ${name}` : `nclust logs ${name}`),
  },
  'stop-hangs': {
    text: ({ signal, forMs, killAtMs }) =>
      `has not exited ${formatCoarse(forMs)} after ${signal ?? 'its stop signal'}; SIGKILL follows at ` +
      clockTime(killAtMs, killAtMs),
    next: (name) => `To end it now: nclust sendSignal SIGKILL ${name}. Later, let the handler of its signal exit`,
  },
  'memory-limit': {
    text: ({ firstMs, lastMs, by }, { times }) =>
      `was replaced ${times} times within ${formatSpan(firstMs, lastMs)} by its memory limit: ${withoutPrefix(by)}`,
    next: (name) => `nclust profile ${name} --heap; or raise its max_memory_restart`,
  },
  'lines-lost': {
    text: ({ lines, file, reason }) =>
      `loses its output: ${formatCount(lines, 'line')} could not be written` +
      `${file ? ` to ${file}` : ''} (${reason})`,
    next: (name) => `Free space on that disk, or empty its log: nclust flush ${name}`,
  },
  'trigger-failed': {
    text: ({ by, message }) => `runs the old code, because it could not be reloaded (${by}): ${message}`,
    next: (name) => `Fix that, then: nclust reload ${name}`,
  },
  'socket-unserved': {
    text: (socket) => `does not listen on ${formatPlace(socket)}, which nclust holds for it: clients wait there`,
    next: (name) => `nclust logs ${name}; then: nclust restart ${name}`,
  },
  'loop-blocked': {
    text({ forMs, longestMs, doing, frame }, { times, evidence }) {
      const where = whereBlocked(evidence);
      if (forMs === null)
        return `had its event loop blocked ${times} times, for ${formatDelay(longestMs)} at the longest${where}`;
      const at = where && frame?.isEarlier ? `; the last time it was${where.slice(1)}` : where;
      const how = doing && !(where && doing === 'computes') ? `; ${DOING[doing]}` : '';
      return `does not answer: its event loop has been blocked for ${formatCoarse(forMs)}${at}${how}`;
    },
    next(name, { forMs, doing }) {
      if (forMs === null) return `nclust profile ${name}`;
      if (doing === 'stopped') return `nclust sendSignal SIGCONT ${name}`;
      return doing === 'no-cpu' ? 'nclust list --sort cpu:desc' : `nclust stack ${name}`;
    },
  },
  'pool-stuck': {
    text: ({ forMs, requests }) =>
      `has a full thread pool: a job has waited for ${formatCoarse(forMs)}` +
      `${requests > 0 ? `, and ${formatCount(requests, 'request')} with it` : ''}; a file, DNS or crypto call hangs`,
    next: (name) => `nclust stack ${name}; look at its files, DNS and network disks`,
  },
  'no-progress': {
    text: ({ requests, oldestMs, isIdle }) =>
      `answers none of ${formatCount(requests, 'request')}; the oldest waits for ${formatCoarse(oldestMs)}: it ` +
      `${isIdle ? 'waits for something else' : 'is busy'}`,
    next: (name, { isIdle }) => (isIdle ? LOOK_UPSTREAM : `nclust profile ${name}`),
  },
  failing: {
    text: ({ share, perS, line }) =>
      `fails ${formatPercent(share * 100)} of its requests (${formatRate(perS)}/s with a status of 5xx)` +
      `${line ? `, "${line}"` : ''}`,
    next: (name) => `nclust logs ${name} --err`,
  },
  slow: {
    text: ({ p99Ms, usualMs, delayP99Ms }) =>
      `answers slowly: 1 in 100 requests takes ${formatDelay(p99Ms)} or more` +
      `${usualMs === null ? '' : `, usually ${formatDelay(usualMs)}`}; ` +
      `${isOwnWork(delayP99Ms, p99Ms) ? 'its own work delays it' : 'it waits for something else'}`,
    next: (name, { delayP99Ms, p99Ms }) => (isOwnWork(delayP99Ms, p99Ms) ? `nclust profile ${name}` : LOOK_UPSTREAM),
  },
  'memory-wall': {
    text: ({ usedBytes, limitBytes }) =>
      `has nearly no heap left: ${formatBytes(usedBytes)} of ${formatBytes(limitBytes)} after a garbage collection`,
    next: (name) => `nclust profile ${name} --heap; or raise --max-old-space-size`,
  },
  descriptors: {
    text: ({ open, limit, sockets }) =>
      `has ${open} of ${limit} file descriptors open${sockets === null ? '' : ` (${formatCount(sockets, 'socket')})`}`,
    next: (name) =>
      `For now: nclust restart ${name}. Then look for a leak, or raise the limit (ulimit -n) and restart the manager`,
  },
  'child-burns': {
    text: ({ pid, program, cpu }) =>
      `has a child process that computes without a pause: ${program} (pid ${pid}), ` +
      `with ${formatPercent(cpu)} of a core`,
    next: (_, { pid }) => `To see its command: ps -fp ${pid}; to end it: kill ${pid}`,
  },
  'log-storm': {
    text: ({ perS, usualPerS, line, share }) =>
      `writes ${Math.round(perS)} error lines a second` +
      `${usualPerS === null ? '' : `, usually ${Math.round(usualPerS)}`}` +
      `${line ? `; ${formatPercent(share * 100)} are "${line}"` : ''}`,
    next: (name) => `nclust logs ${name} --err`,
  },
};

/**
 * @param {Trouble} trouble
 * @param {number} [instances]  Of the app.
 * @returns {{ text: string, next: string }}  `text` follows the name of the app.
 */
export function describeTrouble(trouble, instances = trouble.slots.length) {
  const { app, kind, slots, evidence } = trouble;
  const words = /** @type {any} */ (WORDS)[kind];
  // A newer manager may know more kinds, and a report for others leaves the evidence out.
  if (!words || !evidence) return { text: `has the trouble "${kind}"`, next: `nclust why ${shellQuote(app)}` };
  const who = slots.length > 0 && slots.length < instances ? `(instance ${slots.join(', ')}) ` : '';
  return {
    text: `${who}${words.text(evidence, trouble)}`,
    next: words.next(shellQuote(app), evidence) + describeReplacement(/** @type {any} */ (evidence).replacement),
  };
}

/**
 * @param {Trouble} trouble
 * @param {{ instances?: number, nowMs: number }} o
 * @returns {string}  Follows the name of the app.
 */
export function describeTroubleSince(trouble, { instances, nowMs }) {
  const { sinceMs } = trouble;
  const { text } = describeTrouble(trouble, instances);
  return `${text}, since ${clockTime(sinceMs, nowMs)} (${formatCoarse(nowMs - sinceMs)})`;
}

/**
 * Texts for a trouble that has ended. They follow "it ".
 * @type {Record<Kind, string>}
 */
const PAST = {
  errored: 'was down',
  'port-taken': 'could not listen',
  'crash-loop': 'crashed again and again',
  'deploy-halted': 'ran old code after a failed reload',
  'slow-start': 'started slowly',
  'stop-hangs': 'did not exit after its stop signal',
  'memory-limit': 'exceeded its memory limit again and again',
  'lines-lost': 'lost its output',
  'trigger-failed': 'could not be reloaded',
  'socket-unserved': 'did not listen on an address that nclust holds',
  'loop-blocked': 'had a blocked event loop',
  'pool-stuck': 'had a full thread pool',
  'no-progress': 'answered no request',
  failing: 'failed many requests',
  slow: 'answered slowly',
  'memory-wall': 'had nearly no heap left',
  descriptors: 'had too many files open',
  'child-burns': 'had a busy child process',
  'log-storm': 'wrote too many error lines',
};

/** @param {{ kind: string, evidence?: any }} trouble  One that has ended. */
export function describePastTrouble({ kind, evidence }) {
  const text = /** @type {Record<string, string>} */ (PAST)[kind] ?? `had the trouble "${kind}"`;
  return `${text}${whereBlocked(evidence)}`;
}

/** @param {{ frame?: BlockFrame | null } | null} [evidence]  An earlier version sends no frame. */
function whereBlocked(evidence) {
  return evidence?.frame?.where ? `, in ${evidence.frame.where}` : '';
}

/** @param {Replacement | null} [replacement] */
function describeReplacement(replacement) {
  if (!replacement) return '';
  if ('atMs' in replacement)
    return `; nclust replaces it at ${clockTime(replacement.atMs, replacement.atMs)}, unless it recovers`;
  const why = HELD[replacement.held];
  return why ? `; nclust does not replace it, because ${why}` : '';
}

/**
 * @param {Evidence['crash-loop']} evidence
 * @param {number} times
 */
function describeCrashes({ firstMs, lastMs, last }, times) {
  const how = `${describeEnd(last)}${quoteErrorLine(last)}`;
  return times === 1 ? how : `crashed ${times} times within ${formatSpan(firstMs, lastMs)}; the last time it ${how}`;
}

/**
 * @param {number} delayMs
 * @param {number} latencyMs
 */
function isOwnWork(delayMs, latencyMs) {
  return delayMs > 0.5 * latencyMs;
}
