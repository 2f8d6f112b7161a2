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
 * @property {boolean} isInDiskWait  One of its threads waits for a disk.
 */

/** @typedef {{ kind: 'loop-blocked' | 'pool-stuck' | 'memory-wall', sinceMs: number }} Sign */

/**
 * By instance. `sinceMs` is later than the real beginning, by the time that an excuse explains.
 * `seenMs`: the time of the look.
 * @typedef {Map<string, Sign & { seenMs: number }>} Signs
 */

/**
 * @param {object} app
 * @param {Patient[]} app.patients  All that are online.
 * @param {number} app.wanted  The number of instances that should be online.
 * @param {boolean} app.isCluster
 * @param {number | null} app.hangTimeoutMs  0: never. Null: not set.
 * @param {ReadonlyMap<string, { hasFailed: boolean }>} app.asked  By instance: replacements that were
 *   asked for in the last BRAKE_MS.
 * @param {number} app.replaced  Instances that were replaced in that time.
 * @param {{ signs: Signs, fromMs: number }} before  `fromMs`: what was earlier is not known.
 * @param {number} nowMs
 * @returns {{ signs: Signs, verdicts: Map<string, Replacement> }}  By instance.
 */
export function judgeHealth({ patients, wanted, isCluster, hangTimeoutMs, asked, replaced }, before, nowMs) {
  /** @type {Signs} */
  const signs = new Map();
  /** @type {Map<string, Replacement>} */
  const verdicts = new Map();
  const ill = patients.filter(({ worker }) => findSign(worker, nowMs));
  const limitMs = hangTimeoutMs ?? (isCluster && wanted > 1 ? HANG_TIMEOUT_MS : 0);
  const failing = ill.length + Math.max(0, wanted - patients.length);
  const isShared = failing > 1 && 2 * failing >= wanted;
  const isFull = Math.max(asked.size, replaced) >= Math.max(1, Math.floor(wanted / BRAKE_PART));
  for (const patient of ill) {
    const id = /** @type {string} */ (patient.worker.instanceId);
    const sign = /** @type {Sign} */ (findSign(patient.worker, nowMs));
    const excuse = findExcuse(patient, sign);
    const known = before.signs.get(id);
    const sinceMs = excuse
      ? Math.min(nowMs, (known?.sinceMs ?? nowMs) + nowMs - (known?.seenMs ?? nowMs))
      : findSince(sign, known, before.fromMs);
    signs.set(id, { ...sign, sinceMs, seenMs: nowMs });
    // The first look does not show yet what a blocked process does.
    const isUnknown = sign.kind === 'loop-blocked' && patient.worker.activity === null;
    if (limitMs === 0 || isUnknown) continue;
    const request = asked.get(id);
    const fault = isShared ? 'shared' : isHarmful(patient, sign, nowMs) ? null : 'harmless';
    const held = excuse ?? fault ?? (request?.hasFailed ? 'failed' : isFull && !request ? 'brake' : null);
    verdicts.set(id, held ? { held } : { atMs: sinceMs + limitMs });
  }
  return { signs, verdicts };
}

/**
 * @param {Sign} sign
 * @param {Sign | undefined} known
 * @param {number} fromMs
 */
function findSince(sign, known, fromMs) {
  // The heap is measured only now and then.
  if (sign.kind === 'memory-wall' && known?.kind === 'memory-wall') return known.sinceMs;
  return Math.max(sign.sinceMs, known?.sinceMs ?? fromMs);
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
export function findSign(worker, nowMs) {
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
 * @param {Sign} sign
 * @returns {'machine' | 'inspected' | 'loading' | null}
 */
function findExcuse({ worker, isBooted, isInspected, isInDiskWait }, { kind }) {
  if (isInspected) return 'inspected';
  if (!isBooted) return 'loading';
  const isOfMachine = kind === 'pool-stuck' ? isInDiskWait : OF_THE_MACHINE.has(worker.activity);
  return isOfMachine ? 'machine' : null;
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
