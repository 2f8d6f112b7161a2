import { LATENCY_MS } from '../../../lib/shared/metrics.js';
import { addPairs, noLatencies } from './latency.js';
import { number, numberOrNull, readHttp } from './lifetime-totals.js';

/** @import { WorkerSample } from '../../../lib/shared/metrics.js' */
/** @import { HttpReport } from './lifetime-totals.js' */

/** If the last report of an agent is older than this, its event loop counts as blocked. */
const BLOCKED_MS = 3_000;

/**
 * The report that an agent sends every second, or less often while it is idle. The agent makes it
 * in daemon/agent/report.cjs.
 * @typedef {object} Report
 * @property {number} seq
 * @property {number} atMono
 * @property {number} nextMs  Longest time until the next report.
 * @property {number} heapUsedBytes
 * @property {number | null} oldSpaceUsedBytes  After the last major GC.
 * @property {number | null} majorGcs
 * @property {number | null} oldSpaceLimitBytes
 * @property {number} externalBytes
 * @property {number} elu
 * @property {[p50: number, p99: number, max: number]} delayMs
 * @property {number | null} poolWaitMs
 * @property {number} gcMs
 * @property {number} handles
 * @property {number} connections
 * @property {HttpReport | null} http
 */

/**
 * @typedef {object} Track  The reports of one instance.
 * @property {Report} last
 * @property {Report | null} before
 * @property {number} seenAtMs  Arrival of the last new report.
 * @property {number} unseenMs  Age of `last` at its arrival: control may have started later.
 * @property {{ seenAtMs: number, http: HttpReport | null }[]} recent  Oldest first, with `last`.
 *   Only the oldest is older than LATENCY_MS.
 */

/** Interval of the reports while there is activity, in ms. */
const REPORT_MS = 1_000;

export function createReports() {
  /** @type {Map<string, Track>} */
  const tracks = new Map();
  let areKnown = false;

  return {
    /** Whether the keeper has given the reports. Until then, a missing report means nothing. */
    get areKnown() {
      return areKnown;
    },
    /**
     * @param {Record<string, unknown>} reports  By instance. Instances without a report are
     *   forgotten.
     * @param {number} nowMs
     * @param {(instanceId: string) => number | null} [startedAtMs]  Of the process.
     */
    take(reports, nowMs, startedAtMs = () => null) {
      areKnown = true;
      for (const instanceId of tracks.keys()) if (!Object.hasOwn(reports, instanceId)) tracks.delete(instanceId);
      for (const [instanceId, given] of Object.entries(reports)) {
        const track = tracks.get(instanceId);
        if (track?.last.seq === /** @type {any} */ (given)?.seq) continue;
        const last = readReport(given);
        const recent = track?.recent ?? [{ seenAtMs: -Infinity, http: last.atMono > LATENCY_MS ? last.http : null }];
        const from = recent.findLastIndex(({ seenAtMs }) => seenAtMs <= nowMs - LATENCY_MS);
        const madeAtMs = track ? nowMs : (startedAtMs(instanceId) ?? nowMs) + last.atMono;
        tracks.set(instanceId, {
          last,
          before: track?.last ?? null,
          seenAtMs: nowMs,
          unseenMs: Math.max(0, nowMs - madeAtMs),
          recent: [...recent.slice(Math.max(0, from)), { seenAtMs: nowMs, http: last.http }],
        });
      }
    },
    /** @param {number} ms  By which the clock of the machine has jumped. */
    moveTimes(ms) {
      for (const [instanceId, track] of tracks)
        tracks.set(instanceId, {
          ...track,
          seenAtMs: track.seenAtMs + ms,
          recent: track.recent.map(({ seenAtMs, http }) => ({ seenAtMs: seenAtMs + ms, http })),
        });
    },
    /** @param {string} instanceId */
    of: (instanceId) => tracks.get(instanceId) ?? null,
  };
}

/**
 * @param {Omit<Track, 'recent'>} track
 * @param {number} nowMs
 */
export function readGauges(track, nowMs) {
  const { last, before } = track;
  const ageMs = getAge(track, nowMs);
  // A blocked event loop cannot report its delay and its use, so the age of the last report counts.
  const heldUpMs = isLate(ageMs) ? ageMs : 0;
  const [p50, p99, max] = last.delayMs;
  return {
    heapUsedBytes: last.heapUsedBytes,
    oldSpaceUsedBytes: last.oldSpaceUsedBytes,
    majorGcs: last.majorGcs,
    oldSpaceLimitBytes: last.oldSpaceLimitBytes,
    externalBytes: last.externalBytes,
    elu: heldUpMs > 0 ? 1 : last.elu,
    delayP50Ms: p50,
    delayP99Ms: Math.max(p99, heldUpMs),
    delayMaxMs: Math.max(max, heldUpMs),
    poolWaitMs: last.poolWaitMs,
    gcMsPerS: rate(last.gcMs, before?.gcMs ?? 0, last, before),
    handles: last.handles,
    connections: last.connections,
    reportAgeMs: ageMs,
  };
}

const EMPTY = { last: readReport(null), before: null, seenAtMs: 0, unseenMs: 0 };

/**
 * The gauges of an instance without a report.
 * @type {{ [K in keyof ReturnType<typeof readGauges>]: null }}
 */
export const NO_GAUGES = /** @type {any} */ (
  Object.fromEntries(Object.keys(readGauges(EMPTY, 0)).map((key) => [key, null]))
);

/**
 * @param {Track} track
 * @param {number} nowMs
 */
export function computeRates(track, nowMs) {
  const { last, before } = track;
  if (isLate(getAge(track, nowMs))) return { requestsPerS: 0, errorsPerS: 0 };
  const errors = (/** @type {Report | null} */ report) => report?.http?.responses[4] ?? 0;
  return {
    requestsPerS: rate(last.http?.requests ?? 0, before?.http?.requests ?? 0, last, before),
    errorsPerS: rate(errors(last), errors(before), last, before),
  };
}

/**
 * @param {Track[]} tracks
 * @param {number} nowMs
 * @param {number} [windowMs]  At most the default.
 */
export function recentLatencies(tracks, nowMs, windowMs = LATENCY_MS) {
  const steps = noLatencies();
  for (const { recent, last } of tracks) {
    const before = recent.findLast(({ seenAtMs }) => seenAtMs <= nowMs - windowMs);
    addPairs(steps, last.http?.latency ?? [], 1);
    addPairs(steps, before?.http?.latency ?? [], -1);
  }
  return steps;
}

/**
 * Leaves out the extra time that the agent announced, because an idle agent reports less often.
 * Adds `unseenMs` only if no other report comes, because the clock of the machine may have jumped.
 * @param {Omit<Track, 'recent'>} track
 * @param {number} nowMs
 */
function getAge({ last, seenAtMs, unseenMs }, nowMs) {
  const ageMs = Math.max(0, nowMs - seenAtMs - (last.nextMs - REPORT_MS));
  return isLate(ageMs) ? ageMs + unseenMs : ageMs;
}

/** @param {number} ageMs */
function isLate(ageMs) {
  return ageMs > BLOCKED_MS;
}

/**
 * @param {number} now
 * @param {number} then
 * @param {Report} last
 * @param {Report | null} before
 */
function rate(now, then, last, before) {
  // Without an earlier report, returns the average since the process started, because then its
  // counters and its clock were 0.
  const ms = last.atMono - (before?.atMono ?? 0);
  return ms > 0 ? Math.max(0, Math.round(((now - then) * 100_000) / ms) / 100) : 0;
}

/**
 * @param {any} given
 * @returns {Report}
 */
function readReport(given) {
  const [p50, p99, max] = Array.isArray(given?.delayMs) ? given.delayMs.map(number) : [];
  return {
    seq: number(given?.seq),
    atMono: number(given?.atMono),
    nextMs: number(given?.nextMs) || REPORT_MS,
    heapUsedBytes: number(given?.heapUsedBytes),
    oldSpaceUsedBytes: numberOrNull(given?.oldSpaceUsedBytes),
    majorGcs: numberOrNull(given?.majorGcs),
    oldSpaceLimitBytes: numberOrNull(given?.oldSpaceLimitBytes),
    externalBytes: number(given?.externalBytes),
    elu: Math.min(1, number(given?.elu)),
    delayMs: [p50 ?? 0, p99 ?? 0, max ?? 0],
    poolWaitMs: numberOrNull(given?.poolWaitMs),
    gcMs: number(given?.gcMs),
    handles: number(given?.handles),
    connections: number(given?.connections),
    http: readHttp(given?.http),
  };
}

/** @param {Pick<WorkerSample, 'status' | 'isNode' | 'reportAgeMs'>} worker */
export function isBlocked({ status, isNode, reportAgeMs }) {
  return isNode && status === 'online' && isLate(reportAgeMs ?? 0);
}
