// Knows: which instance cannot serve by its own fault, and when it may be replaced. Must not: read
// a process or a clock, or replace an instance: health.js does so.
import { isBlocked } from '../metrics/reports.js';
import { isSurelyBlocked, isPoolStuck, WALL_TIMES } from '../troubles/worker-kinds.js';
import { formatDuration } from '../../../lib/shared/units.js';

/** @import { Replacement } from '../../../lib/shared/troubles.js' */
/** @import { WorkerFacts } from '../troubles/worker-facts.js' */

/** With several instances in cluster mode. */
const HANG_TIMEOUT_MS = 30_000;

/** Within this time, at most a third of the instances are replaced, but always one. */
export const BRAKE_MS = 10 * 60_000;
const BRAKE_PART = 3;

/** Only such an instance serves requests at its memory wall. */
const ANSWERED_MS = 30_000;

/**
 * @typedef {object} Patient  An instance, and what only the process table shows.
 * @property {WorkerFacts} worker
 * @property {boolean} isBooted
 * @property {boolean} isInspected  A debugger is attached, or nclust takes a snapshot of its heap.
 * @property {boolean} hasInput  Data from a client waits in one of its connections.
 */

/** @typedef {{ kind: 'loop-blocked' | 'pool-stuck' | 'memory-wall', sinceMs: number }} Sign */

/** @typedef {Map<string, Sign>} Signs  By instance. `sinceMs`: since when only the app is the cause. */

/**
 * @param {object} app
 * @param {Patient[]} app.patients  All that are online.
 * @param {boolean} app.isCluster
 * @param {number | null} app.hangTimeoutMs  0: never. Null: not set.
 * @param {ReadonlySet<string>} app.asked  Instances for which a replacement was asked in the last BRAKE_MS.
 * @param {number} app.replaced  Instances that were replaced in that time.
 * @param {Signs} before
 * @param {number} nowMs
 * @returns {{ signs: Signs, verdicts: Map<string, Replacement> }}  By instance.
 */
export function judgeHealth({ patients, isCluster, hangTimeoutMs, asked, replaced }, before, nowMs) {
  /** @type {Signs} */
  const signs = new Map();
  /** @type {Map<string, Replacement>} */
  const verdicts = new Map();
  const ill = patients.filter((one) => findSign(one.worker, nowMs));
  if (ill.length === 0) return { signs, verdicts };
  const limitMs = hangTimeoutMs ?? (isCluster && patients.length > 1 ? HANG_TIMEOUT_MS : 0);
  const isShared = ill.length > 1 && 2 * ill.length >= patients.length;
  const isFull = Math.max(asked.size, replaced) >= Math.max(1, Math.floor(patients.length / BRAKE_PART));
  for (const patient of ill) {
    const { worker } = patient;
    const id = /** @type {string} */ (worker.instanceId);
    const sign = /** @type {Sign} */ (findSign(worker, nowMs));
    const excuse = findExcuse(patient);
    const known = before.get(id);
    const knownMs = known?.kind === sign.kind ? known.sinceMs : Math.max(sign.sinceMs, known?.sinceMs ?? 0);
    // Time that an excuse explains does not count.
    const sinceMs = excuse ? nowMs : knownMs;
    signs.set(id, { ...sign, sinceMs });
    const held = excuse ?? (isShared ? 'shared' : isHarmful(patient, sign, nowMs) ? null : 'harmless');
    const isBraked = isFull && !asked.has(id);
    if (limitMs === 0) continue;
    verdicts.set(id, held ? { held } : isBraked ? { held: 'brake' } : { atMs: sinceMs + limitMs });
  }
  return { signs, verdicts };
}

/**
 * @param {WorkerFacts} worker
 * @param {number} nowMs
 * @returns {string}  Follows "it ".
 */
export function describeIllness(worker, nowMs) {
  const { frame, reportAgeMs, poolWaitMs } = worker;
  const seconds = (/** @type {number | null} */ ms) => formatDuration(Math.round((ms ?? 0) / 1_000) * 1_000);
  const sign = findSign(worker, nowMs);
  if (sign?.kind === 'pool-stuck') return `had a full thread pool for ${seconds(poolWaitMs)}`;
  if (sign?.kind === 'memory-wall') return 'had nearly no heap left';
  return `hung for ${seconds(reportAgeMs)}${frame?.where ? ` in ${frame.where}` : ''}`;
}

/**
 * @param {WorkerFacts} worker
 * @param {number} nowMs
 * @returns {Sign | null}
 */
function findSign(worker, nowMs) {
  const { reportAgeMs, poolWaitMs, wallTimes } = worker;
  if (isBlocked(worker) && isSurelyBlocked(worker))
    return { kind: 'loop-blocked', sinceMs: nowMs - (reportAgeMs ?? 0) };
  if (isPoolStuck(worker)) return { kind: 'pool-stuck', sinceMs: nowMs - (poolWaitMs ?? 0) };
  return wallTimes >= WALL_TIMES ? { kind: 'memory-wall', sinceMs: nowMs } : null;
}

/** The machine or a user causes these. @type {Set<WorkerFacts['activity']>} */
const OF_THE_MACHINE = new Set(['stopped', 'disk', 'no-cpu']);

/**
 * @param {Patient} patient
 * @returns {'machine' | 'inspected' | 'loading' | null}
 */
function findExcuse({ worker, isBooted, isInspected }) {
  if (isInspected) return 'inspected';
  if (!isBooted) return 'loading';
  return OF_THE_MACHINE.has(worker.activity) ? 'machine' : null;
}

/**
 * @param {Patient} patient
 * @param {Sign} sign
 * @param {number} nowMs
 */
function isHarmful({ worker, hasInput }, { kind }, nowMs) {
  const isServing = kind === 'memory-wall' && worker.http !== null && worker.unansweredMs < ANSWERED_MS;
  return hasInput || isServing || isInRequest(worker, nowMs) || (worker.http?.activeRequests ?? 0) > 0;
}

/**
 * Whether the code that blocks handles a request. The last report came before that request.
 * @param {WorkerFacts} worker
 * @param {number} nowMs
 */
function isInRequest({ frame, reportAgeMs }, nowMs) {
  const isOfThisBlock = frame !== null && frame.atMs > nowMs - (reportAgeMs ?? 0);
  return isOfThisBlock && frame.stack.some((line) => line.includes('node:_http_server'));
}
