import { addPairs, noLatencies } from './latency.js';
import { number, readHttp } from './lifetime-totals.js';

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
 * @property {number} heapLimitBytes
 * @property {number | null} oldSpaceLimitBytes
 * @property {number} externalBytes
 * @property {number} elu
 * @property {[p50: number, p99: number, max: number]} delayMs
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
 * @property {Report[]} recent  Oldest first, with `last`. Latencies use these reports.
 */

/** Number of reports that latencies are computed from. */
const RECENT = 10;

/** Interval of the reports while there is activity, in ms. */
const REPORT_MS = 1_000;

export function createReports() {
  /** @type {Map<string, Track>} */
  const tracks = new Map();
  /** @type {number | null} */
  let sinceMs = null;

  return {
    /** Time of the first take(). Null: there was none. */
    get sinceMs() {
      return sinceMs;
    },
    /**
     * @param {Record<string, unknown>} reports  By instance. Instances without a report are
     *   forgotten.
     * @param {number} nowMs
     */
    take(reports, nowMs) {
      sinceMs ??= nowMs;
      for (const instanceId of tracks.keys()) if (!Object.hasOwn(reports, instanceId)) tracks.delete(instanceId);
      for (const [instanceId, given] of Object.entries(reports)) {
        const track = tracks.get(instanceId);
        if (track?.last.seq === /** @type {any} */ (given)?.seq) continue;
        const last = readReport(given);
        tracks.set(instanceId, {
          last,
          before: track?.last ?? null,
          seenAtMs: nowMs,
          recent: [...(track?.recent ?? []), last].slice(-RECENT - 1),
        });
      }
    },
    /** @param {string} instanceId */
    of: (instanceId) => tracks.get(instanceId) ?? null,
  };
}

/**
 * @param {Omit<Track, 'recent'>} track
 * @param {number} nowMs
 */
export function readGauges({ last, before, seenAtMs }, nowMs) {
  const ageMs = getAge(last, seenAtMs, nowMs);
  // A blocked event loop cannot report its delay and its use, so the age of the last report counts.
  const heldUpMs = isLate(ageMs) ? ageMs : 0;
  const [p50, p99, max] = last.delayMs;
  return {
    heapUsedBytes: last.heapUsedBytes,
    heapLimitBytes: last.heapLimitBytes,
    oldSpaceLimitBytes: last.oldSpaceLimitBytes,
    externalBytes: last.externalBytes,
    elu: heldUpMs > 0 ? 1 : last.elu,
    delayP50Ms: p50,
    delayP99Ms: Math.max(p99, heldUpMs),
    delayMaxMs: Math.max(max, heldUpMs),
    gcMsPerS: rate(last.gcMs, before?.gcMs ?? 0, last, before),
    handles: last.handles,
    connections: last.connections,
    reportAgeMs: ageMs,
  };
}

const EMPTY = { last: readReport(null), before: null, seenAtMs: 0 };

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
export function computeRates({ last, before, seenAtMs }, nowMs) {
  if (isLate(getAge(last, seenAtMs, nowMs))) return { requestsPerS: 0, errorsPerS: 0 };
  const errors = (/** @type {Report | null} */ report) => report?.http?.responses[4] ?? 0;
  return {
    requestsPerS: rate(last.http?.requests ?? 0, before?.http?.requests ?? 0, last, before),
    errorsPerS: rate(errors(last), errors(before), last, before),
  };
}

/**
 * @param {Track[]} tracks
 * @param {number} [reports]  Number of reports to use. Default: all known reports.
 */
export function recentLatencies(tracks, reports = RECENT) {
  const steps = noLatencies();
  for (const { recent, last } of tracks) {
    addPairs(steps, last.http?.latency ?? [], 1);
    if (recent.length > 1) addPairs(steps, recent[Math.max(0, recent.length - 1 - reports)].http?.latency ?? [], -1);
  }
  return steps;
}

/**
 * Leaves out the extra time that the agent announced, because an idle agent reports less often.
 * @param {Report} last
 * @param {number} seenAtMs
 * @param {number} nowMs
 */
function getAge({ nextMs }, seenAtMs, nowMs) {
  return Math.max(0, nowMs - seenAtMs - (nextMs - REPORT_MS));
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
    heapLimitBytes: number(given?.heapLimitBytes),
    oldSpaceLimitBytes: number(given?.oldSpaceLimitBytes) || null,
    externalBytes: number(given?.externalBytes),
    elu: Math.min(1, number(given?.elu)),
    delayMs: [p50 ?? 0, p99 ?? 0, max ?? 0],
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
