import { MINUTE_MS } from './incidents.js';

/** @import { Points } from '../../../lib/shared/metrics.js' */
/** @import { Metrics } from '../metrics/metrics.js' */
/** @import { DesiredApp } from '../state/desired.js' */
/** @import { HttpFacts } from './facts.js' */

const NAMES = /** @type {const} */ (['requestsPerS', 'errorsPerS', 'latencyP99Ms']);

const HOUR_POINTS = 360;
/** Ten minutes with requests. A shorter time has no usual value. */
const USUAL_MIN_POINTS = 60;
/** The medians of an hour change slowly. */
const RENEW_MS = MINUTE_MS;

/** The rates are the means of this time. */
const MEAN_MS = 30_000;

/** Reading an hour takes long, so only a few apps are read in one tick. */
const RENEWED_AT_ONCE = 10;

/** @type {HttpFacts} */
export const NO_HTTP = { requestsPerS: 0, errorsPerS: 0, hasAnswered: false, usualP99Ms: null, usualShare: null };

/** @typedef {Pick<HttpFacts, 'usualP99Ms' | 'usualShare'> & { atMs: number }} Usual */

/** @typedef {{ requests: number, errors: number }} Answered  Since the app exists. */

/** @type {Usual} */
const UNKNOWN = { usualP99Ms: null, usualShare: null, atMs: -Infinity };

/**
 * @param {Pick<Metrics, 'history'>} metrics
 * @param {() => number} nowMs
 * @returns {(apps: DesiredApp[], answeredOf: (app: DesiredApp) => Answered) => Map<string, HttpFacts>}
 *   Takes all apps that have answered a request.
 */
export function createHttpReader(metrics, nowMs) {
  /** By app. @type {Map<string, Usual>} */
  let usual = new Map();
  /** By app: the counts of the looks in MEAN_MS. @type {Map<string, (Answered & { atMs: number })[]>} */
  let counts = new Map();

  /** @param {DesiredApp[]} apps */
  function readHour(apps) {
    const ids = apps.flatMap(({ slots }) => slots.map(({ id }) => id));
    return metrics.history({ ids, series: [...NAMES], stepMs: 10_000, points: HOUR_POINTS, of: 'apps' }).apps;
  }

  /** @param {DesiredApp[]} apps */
  function renew(apps) {
    const atMs = nowMs();
    usual = new Map(apps.map(({ spec: { name } }) => [name, usual.get(name) ?? UNKNOWN]));
    const due = apps.filter(({ spec }) => Math.abs(atMs - (usual.get(spec.name) ?? UNKNOWN).atMs) >= RENEW_MS);
    if (due.length === 0) return;
    for (const { name, series } of readHour(due.slice(0, RENEWED_AT_ONCE))) {
      const { requestsPerS = [], errorsPerS = [], latencyP99Ms = [] } = series;
      const shares = requestsPerS.map((rate, at) => (rate ? (errorsPerS[at] ?? 0) / rate : null));
      usual.set(name, { atMs, usualP99Ms: computeMedian(latencyP99Ms), usualShare: computeMedian(shares) });
    }
  }

  return (apps, answeredOf) => {
    renew(apps);
    const atMs = nowMs();
    /** @type {typeof counts} */
    const counted = new Map();
    const found = apps.map((app) => {
      const { name } = app.spec;
      const now = { ...answeredOf(app), atMs };
      const kept = (counts.get(name) ?? []).filter((one) => one.atMs <= atMs && atMs - one.atMs <= MEAN_MS);
      counted.set(name, [...kept, now]);
      // Not the mean of the rates, because a worker with little to do reports less often.
      const mean = (/** @type {keyof Answered} */ key) =>
        (1000 * Math.max(0, now[key] - (kept[0] ?? now)[key])) / MEAN_MS;
      const { usualP99Ms, usualShare } = usual.get(name) ?? UNKNOWN;
      const rates = { requestsPerS: mean('requests'), errorsPerS: mean('errors') };
      return /** @type {const} */ ([name, { ...rates, hasAnswered: true, usualP99Ms, usualShare }]);
    });
    counts = counted;
    return new Map(found);
  };
}

/**
 * @param {Points} points
 * @returns {number | null}  Null: there are too few points.
 */
function computeMedian(points) {
  const known = points.filter((point) => point !== null).sort((a, b) => a - b);
  return known.length < USUAL_MIN_POINTS ? null : known[known.length >> 1];
}
