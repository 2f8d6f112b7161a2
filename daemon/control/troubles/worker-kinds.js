import { isBlocked } from '../metrics/reports.js';
import { MINUTE_MS } from './incidents.js';
import { listSlots } from './process-kinds.js';

/** @import { Evidence, Kind } from '../../../lib/shared/troubles.js' */
/** @import { Finding, KindRow } from './judge.js' */
/** @import { WorkerFacts } from './worker-facts.js' */

/** Shorter blocks that are over are not counted. */
export const BLOCK_MIN_MS = 2_000;
/** Blocks that are older than this are forgotten. */
export const BLOCKS_KEPT_MS = 10 * MINUTE_MS;
const BLOCKS_MIN = 2;
/** Blocks that come and go are over after three of their intervals, and at least after this. */
const BLOCKS_LULL_MS = 30_000;

/** A machine that is too busy delays each process for some seconds: that is not the app's fault. */
const STARVED_MS = 10_000;
/** One that neither computes nor is stopped may wait for threads that get no CPU. */
const DOUBT_MS = 4_500;

const POOL_MS = 5_000;
/** Percent of a core. More means that the pool works. */
const POOL_CPU = 20;

const UNANSWERED_MS = 30_000;

/** Requests per second; fewer say nothing about a share or a percentile. */
const RATE_MIN = 1;
const FAILING_SHARE = 0.5;
const FAILING_MORE_SHARE = 0.05;
const SLOW_MS = 1_000;
/** While the usual latency is not known. */
const SLOW_UNKNOWN_MS = 5_000;
/** A multiple of the usual. */
const FAR_ABOVE = 5;

/** From 80 % on, V8 may end a process whose garbage collections free too little. */
const WALL_SHARE = 0.85;
/** Garbage collections of the whole heap, one after the other. */
export const WALL_TIMES = 2;

const DESCRIPTORS_SHARE = 0.9;

/** Percent of a core. */
const CHILD_CPU = 90;
const BESIDE_CHILD_CPU = 50;

const STORM_PER_S = 50;
const STORM_ABOVE = 10;

/** @satisfies {Partial<Record<Kind, KindRow>>} */
export const WORKER_KINDS = {
  'loop-blocked': {
    level: 'bad',
    begins: ({ workers }, nowMs) =>
      findBlocked(
        workers.filter((worker) => isSurelyBlocked(worker) || hasBlocks(worker)),
        nowMs,
      ),
    holds: ({ workers }, nowMs) =>
      findBlocked(
        workers.filter((worker) => isBlocked(worker) || isBlockedAgain(worker, nowMs)),
        nowMs,
      ),
    // The worker whose frame it is may turn while another one is blocked.
    carry: (evidence, { frame = null }) =>
      evidence.frame || !frame ? evidence : { ...evidence, frame: { ...frame, isEarlier: true } },
  },
  'pool-stuck': {
    level: 'bad',
    unless: ['loop-blocked'],
    begins: ({ workers }, nowMs) => findStuck(workers.filter(isPoolStuck), nowMs),
    // The loop may compute beside a pool that hangs.
    holds: ({ workers }, nowMs) =>
      findStuck(
        workers.filter(({ poolWaitMs }) => (poolWaitMs ?? 0) >= POOL_MS),
        nowMs,
      ),
  },
  'no-progress': {
    level: 'warn',
    unless: ['loop-blocked', 'pool-stuck'],
    begins: ({ workers, http }, nowMs) =>
      http.hasAnswered &&
      findWorst(
        workers.filter(isUnanswered),
        ({ http: own }) => own?.oldestRequestMs ?? 0,
        ({ http: own, elu }) => ({
          requests: own?.activeRequests ?? 0,
          oldestMs: own?.oldestRequestMs,
          isIdle: (elu ?? 0) < 0.5,
        }),
        nowMs,
      ),
  },
  failing: {
    level: 'bad',
    afterMs: 10_000,
    lullMs: 10_000,
    begins({ workers, http, errorLines }) {
      const { requestsPerS, errorsPerS, usualShare } = http;
      const share = requestsPerS > 0 ? errorsPerS / requestsPerS : 0;
      const isHigh = share >= FAILING_SHARE;
      const isUnusual = share >= FAILING_MORE_SHARE && usualShare !== null && share >= FAR_ABOVE * usualShare;
      return (
        requestsPerS >= RATE_MIN &&
        (isHigh || isUnusual) && {
          slots: listSlots(workers.filter(({ http: own }) => (own?.errorsPerS ?? 0) > 0)),
          level: isHigh ? 'bad' : 'warn',
          evidence: { share, perS: errorsPerS, line: errorLines?.line ?? null },
        }
      );
    },
  },
  slow: {
    level: 'warn',
    afterMs: 40_000,
    lullMs: 15_000,
    unless: ['loop-blocked', 'pool-stuck'],
    begins: ({ workers, http }) =>
      http.requestsPerS >= RATE_MIN &&
      findWorst(
        workers.filter(({ http: own }) => isSlow(own?.latencyP99Ms ?? 0, http.usualP99Ms)),
        ({ http: own }) => own?.latencyP99Ms ?? 0,
        ({ http: own, delayP99Ms }) => ({
          p99Ms: own?.latencyP99Ms,
          usualMs: http.usualP99Ms,
          delayP99Ms: delayP99Ms ?? 0,
        }),
        null,
      ),
  },
  'memory-wall': {
    level: 'bad',
    begins: ({ workers }) =>
      findWorst(
        workers.filter(({ wallTimes }) => wallTimes >= WALL_TIMES),
        ({ oldSpaceUsedBytes }) => oldSpaceUsedBytes ?? 0,
        ({ oldSpaceUsedBytes, oldSpaceLimitBytes, replacement }) => ({
          usedBytes: oldSpaceUsedBytes,
          limitBytes: oldSpaceLimitBytes,
          replacement,
        }),
        null,
      ),
  },
  descriptors: {
    level: 'bad',
    lullMs: 10_000,
    begins: ({ workers }) =>
      findWorst(
        workers.filter(({ fds, fdsLimit }) => fds !== null && fdsLimit !== null && fds > DESCRIPTORS_SHARE * fdsLimit),
        ({ fds }) => fds ?? 0,
        ({ fds, fdsLimit, sockets }) => ({ open: fds, limit: fdsLimit, sockets }),
        null,
      ),
  },
  'child-burns': {
    level: 'warn',
    afterMs: 45_000,
    lullMs: 10_000,
    begins: ({ workers }) =>
      findWorst(
        workers.filter(
          ({ isNode, tree, cpu }) => isNode && cpu < BESIDE_CHILD_CPU && (tree?.top?.cpuWanted ?? 0) > CHILD_CPU,
        ),
        ({ tree }) => tree?.top?.cpuWanted ?? 0,
        ({ tree }) => ({ ...tree?.top }),
        null,
      ),
  },
  'log-storm': {
    level: 'warn',
    unless: ['failing'],
    afterMs: 30_000,
    lullMs: 15_000,
    begins: ({ errorLines }) =>
      errorLines !== null &&
      errorLines.perS > STORM_PER_S &&
      (errorLines.usualPerS === null || errorLines.perS > STORM_ABOVE * errorLines.usualPerS) && {
        slots: [],
        evidence: errorLines,
      },
  },
};

/**
 * @param {WorkerFacts[]} own
 * @param {(worker: WorkerFacts) => number} measure  The evidence is that of the greatest.
 * @param {(worker: WorkerFacts) => object} describe
 * @param {number | null} nowMs  Not null: what is measured is how long it has lasted, in ms.
 * @returns {Finding | null}
 */
function findWorst(own, measure, describe, nowMs) {
  if (own.length === 0) return null;
  const worst = own.reduce((a, b) => (measure(b) > measure(a) ? b : a));
  return {
    slots: listSlots(own),
    ...(nowMs === null ? {} : { sinceMs: nowMs - measure(worst) }),
    evidence: describe(worst),
  };
}

/**
 * @param {WorkerFacts[]} own
 * @param {number} nowMs
 */
function findStuck(own, nowMs) {
  return findWorst(
    own,
    ({ poolWaitMs }) => poolWaitMs ?? 0,
    ({ poolWaitMs, http, replacement }) => ({
      forMs: poolWaitMs,
      requests: http?.activeRequests ?? 0,
      replacement,
    }),
    nowMs,
  );
}

/** @param {WorkerFacts} worker */
export function isPoolStuck({ poolWaitMs, cpu }) {
  return (poolWaitMs ?? 0) >= POOL_MS && cpu < POOL_CPU;
}

/** @param {WorkerFacts} worker */
export function isSurelyBlocked(worker) {
  const { activity, reportAgeMs } = worker;
  const doubtMs = activity === 'no-cpu' ? STARVED_MS : activity === 'computes' || activity === 'stopped' ? 0 : DOUBT_MS;
  return isBlocked(worker) && (reportAgeMs ?? 0) > doubtMs;
}

/** @param {WorkerFacts} worker */
function hasBlocks({ blocks }) {
  return blocks.length >= BLOCKS_MIN;
}

/**
 * @param {WorkerFacts} worker
 * @param {number} nowMs
 */
function isBlockedAgain({ blocks }, nowMs) {
  if (blocks.length < BLOCKS_MIN) return false;
  const [first, last] = [blocks[0].atMs, blocks[blocks.length - 1].atMs];
  const everyMs = (last - first) / (blocks.length - 1);
  return nowMs - last < Math.max(BLOCKS_LULL_MS, 3 * everyMs);
}

/**
 * @param {WorkerFacts[]} own
 * @param {number} nowMs
 * @returns {Finding | null}
 */
function findBlocked(own, nowMs) {
  if (own.length === 0) return null;
  const now = own.filter(isBlocked);
  const forMs = now.length > 0 ? Math.max(...now.map(({ reportAgeMs }) => reportAgeMs ?? 0)) : null;
  const blocks = own.flatMap((worker) => worker.blocks);
  return {
    slots: listSlots(own),
    times: blocks.length + now.length,
    ...(blocks.length === 0 && forMs !== null ? { sinceMs: nowMs - forMs } : {}),
    evidence: {
      forMs,
      longestMs: Math.max(forMs ?? 0, ...blocks.map(({ ms }) => ms)),
      doing: now[0]?.activity ?? null,
      frame: findFrame(own, nowMs),
      replacement:
        now.find(({ replacement }) => replacement && 'atMs' in replacement)?.replacement ?? now[0]?.replacement ?? null,
    },
  };
}

/**
 * Many apps have requests that take long, such as exports or long polls, beside others.
 * @param {WorkerFacts} worker
 */
function isUnanswered({ http, unansweredMs }) {
  return (http?.oldestRequestMs ?? 0) > UNANSWERED_MS && unansweredMs > UNANSWERED_MS;
}

/**
 * @param {WorkerFacts[]} own
 * @param {number} nowMs
 * @returns {Evidence['loop-blocked']['frame']}  The one of a block that lasts, else the last one.
 */
function findFrame(own, nowMs) {
  const frames = own.flatMap((worker) => {
    const { frame, reportAgeMs } = worker;
    return frame ? { ...frame, isEarlier: !isBlocked(worker) || frame.atMs < nowMs - (reportAgeMs ?? 0) } : [];
  });
  const [best = null] = frames.sort((a, b) => Number(a.isEarlier) - Number(b.isEarlier) || b.atMs - a.atMs);
  return best;
}

/**
 * @param {number} p99Ms
 * @param {number | null} usualMs
 */
function isSlow(p99Ms, usualMs) {
  return usualMs === null ? p99Ms > SLOW_UNKNOWN_MS : p99Ms > SLOW_MS && p99Ms > FAR_ABOVE * usualMs;
}

/** @param {{ oldSpaceUsedBytes: number | null, oldSpaceLimitBytes: number | null }} heap */
export function isAtWall({ oldSpaceUsedBytes, oldSpaceLimitBytes }) {
  return (
    oldSpaceUsedBytes !== null && oldSpaceLimitBytes !== null && oldSpaceUsedBytes > WALL_SHARE * oldSpaceLimitBytes
  );
}
