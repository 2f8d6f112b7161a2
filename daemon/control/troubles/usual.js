import { MINUTE_MS } from './incidents.js';

/** @import { Points, SeriesName } from '../../../lib/shared/metrics.js' */
/** @import { Metrics } from '../metrics/metrics.js' */
/** @import { DesiredApp } from '../state/desired.js' */
/** @import { HttpFacts } from './facts.js' */

const RATES = /** @type {const} */ (['requestsPerS', 'errorsPerS']);

const HOUR_POINTS = 360;
/** Ten minutes with requests. A shorter time has no usual value. */
const USUAL_MIN_POINTS = 60;
/** The medians of an hour change slowly. */
const RENEW_MS = MINUTE_MS;

const NOW_POINTS = 30;

/** Reading an hour takes long, so only a few apps are read in one tick. */
const RENEWED_AT_ONCE = 10;

/** @type {HttpFacts} */
export const NO_HTTP = { requestsPerS: 0, errorsPerS: 0, hasAnswered: false, usualP99Ms: null, usualShare: null };

/** @typedef {Pick<HttpFacts, 'usualP99Ms' | 'usualShare'> & { atMs: number }} Usual */

/** @type {Usual} */
const UNKNOWN = { usualP99Ms: null, usualShare: null, atMs: -Infinity };

/**
 * @param {Pick<Metrics, 'history'>} metrics
 * @param {() => number} nowMs
 * @returns {(apps: DesiredApp[]) => Map<string, HttpFacts>}  Takes all apps that have answered a
 *   request.
 */
export function createHttpReader(metrics, nowMs) {
  /** By app. @type {Map<string, Usual>} */
  let usual = new Map();

  /**
   * @param {DesiredApp[]} apps
   * @param {1000 | 10000} stepMs
   * @param {number} points
   * @param {SeriesName[]} series
   */
  function read(apps, stepMs, points, series) {
    const ids = apps.flatMap(({ slots }) => slots.map(({ id }) => id));
    return metrics.history({ ids, series, stepMs, points, of: 'apps' }).apps;
  }

  /** @param {DesiredApp[]} apps */
  function renew(apps) {
    const atMs = nowMs();
    usual = new Map(apps.map(({ spec: { name } }) => [name, usual.get(name) ?? UNKNOWN]));
    const due = apps.filter(({ spec }) => Math.abs(atMs - (usual.get(spec.name) ?? UNKNOWN).atMs) >= RENEW_MS);
    if (due.length === 0) return;
    for (const { name, series } of read(due.slice(0, RENEWED_AT_ONCE), 10_000, HOUR_POINTS, [
      ...RATES,
      'latencyP99Ms',
    ])) {
      const { requestsPerS = [], errorsPerS = [], latencyP99Ms = [] } = series;
      const shares = requestsPerS.map((rate, at) => (rate ? (errorsPerS[at] ?? 0) / rate : null));
      usual.set(name, { atMs, usualP99Ms: computeMedian(latencyP99Ms), usualShare: computeMedian(shares) });
    }
  }

  return (apps) => {
    renew(apps);
    if (apps.length === 0) return new Map();
    return new Map(
      read(apps, 1000, NOW_POINTS, [...RATES]).map(({ name, series: { requestsPerS = [], errorsPerS = [] } }) => {
        const { usualP99Ms, usualShare } = usual.get(name) ?? UNKNOWN;
        const rates = { requestsPerS: computeMean(requestsPerS), errorsPerS: computeMean(errorsPerS) };
        return [name, { ...rates, hasAnswered: true, usualP99Ms, usualShare }];
      }),
    );
  };
}

/** @param {Points} points  A missing point counts as 0. */
function computeMean(points) {
  return points.reduce((/** @type {number} */ sum, point) => sum + (point ?? 0), 0) / Math.max(1, points.length);
}

/**
 * @param {Points} points
 * @returns {number | null}  Null: there are too few points.
 */
function computeMedian(points) {
  const known = points.filter((point) => point !== null).sort((a, b) => a - b);
  return known.length < USUAL_MIN_POINTS ? null : known[known.length >> 1];
}
