import { addPairs, noLatencies } from './latency.js';
import { number, readHttp } from './lifetime-totals.js';

/** @import { HttpReport } from './lifetime-totals.js' */

/**
 * What an agent tells once a second: daemon/agent/report.cjs.
 * @typedef {object} Report
 * @property {number} seq
 * @property {number} atMono
 * @property {number} nextMs  When the next one is due, at the latest.
 * @property {number} heapUsedBytes
 * @property {number} heapLimitBytes
 * @property {number} externalBytes
 * @property {number} elu
 * @property {[p50: number, p99: number, max: number]} delayMs
 * @property {number} gcMs
 * @property {number} handles
 * @property {number} connections
 * @property {HttpReport | null} http
 */

/**
 * @typedef {object} Track  Of one instance.
 * @property {Report} last
 * @property {Report | null} before
 * @property {number} seenAtMs  When the last one was new.
 * @property {Report[]} recent  Oldest first, the last one included: as far apart as latencies are
 *   looked at.
 */

/** Latencies are those of the last so many reports. */
const RECENT = 10;

/**
 * Later than this, in ms, a loop is held up: a report waits for a tick, and a busy machine for its
 * turn.
 */
const LATE_MS = 2_000;

/** How often an agent tells when there is something to tell, in ms. */
const REPORT_MS = 1_000;

/** The last reports of all agents. */
export function createReports() {
  /** @type {Map<string, Track>} */
  const tracks = new Map();

  return {
    /**
     * @param {Record<string, unknown>} told  By instance: everything there is.
     * @param {number} nowMs
     */
    take(told, nowMs) {
      for (const instanceId of tracks.keys()) if (!Object.hasOwn(told, instanceId)) tracks.delete(instanceId);
      for (const [instanceId, given] of Object.entries(told)) {
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
 * What goes on in a process, from its last two reports.
 * @param {Track} track
 * @param {number} nowMs
 */
export function gaugesOf({ last, before, seenAtMs }, nowMs) {
  const ageMs = ageOf(last, seenAtMs, nowMs);
  // A loop that is held up says nothing of it until it turns again.
  const heldUpMs = isLate(ageMs) ? ageMs : 0;
  const [p50, p99, max] = last.delayMs;
  return {
    heapUsedBytes: last.heapUsedBytes,
    heapLimitBytes: last.heapLimitBytes,
    externalBytes: last.externalBytes,
    elu: last.elu,
    delayP50Ms: p50,
    delayP99Ms: Math.max(p99, heldUpMs),
    delayMaxMs: Math.max(max, heldUpMs),
    gcMsPerS: rate(last.gcMs, before?.gcMs ?? 0, last, before),
    handles: last.handles,
    connections: last.connections,
    reportAgeMs: ageMs,
  };
}

/**
 * @param {Track} track
 * @param {number} nowMs
 */
export function ratesOf({ last, before, seenAtMs }, nowMs) {
  if (isLate(ageOf(last, seenAtMs, nowMs))) return { requestsPerS: 0, errorsPerS: 0 };
  const errors = (/** @type {Report | null} */ report) => report?.http?.responses[4] ?? 0;
  return {
    requestsPerS: rate(last.http?.requests ?? 0, before?.http?.requests ?? 0, last, before),
    errorsPerS: rate(errors(last), errors(before), last, before),
  };
}

/**
 * @param {Track[]} tracks
 * @param {number} [reports]  How far back. Default: as far as is known.
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
 * What was promised for later does not count: one that has nothing to tell is silent for longer.
 * @param {Report} last
 * @param {number} seenAtMs
 * @param {number} nowMs
 */
function ageOf({ nextMs }, seenAtMs, nowMs) {
  return Math.max(0, nowMs - seenAtMs - (nextMs - REPORT_MS));
}

/** @param {number} ageMs */
function isLate(ageMs) {
  return ageMs > REPORT_MS + LATE_MS;
}

/**
 * @param {number} now
 * @param {number} then
 * @param {Report} last
 * @param {Report | null} before
 */
function rate(now, then, last, before) {
  // The first report comes a second after the beginning of the process's own clock, more or less.
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
    externalBytes: number(given?.externalBytes),
    elu: Math.min(1, number(given?.elu)),
    delayMs: [p50 ?? 0, p99 ?? 0, max ?? 0],
    gcMs: number(given?.gcMs),
    handles: number(given?.handles),
    connections: number(given?.connections),
    http: readHttp(given?.http),
  };
}
