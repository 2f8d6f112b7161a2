import { MINUTE_MS } from './incidents.js';

/** @import { Points } from '../../../lib/shared/metrics.js' */
/** @import { Metrics } from '../metrics/metrics.js' */
/** @import { HttpFacts } from './facts.js' */

const NAMES = /** @type {const} */ (['requestsPerS', 'errorsPerS', 'latencyP99Ms']);

const HOUR_POINTS = 360;
/** Ten minutes with requests. A shorter time has no usual value. */
const USUAL_MIN_POINTS = 60;
/** The medians of an hour change slowly. */
const RENEW_MS = MINUTE_MS;

const NOW_POINTS = 30;

/** @type {HttpFacts} */
const NO_HTTP = { requestsPerS: 0, errorsPerS: 0, hasAnswered: false, usualP99Ms: null, usualShare: null };

/** @typedef {Pick<HttpFacts, 'usualP99Ms' | 'usualShare'> & { atMs: number }} Usual */

/**
 * @param {Pick<Metrics, 'history'>} metrics
 * @param {() => number} nowMs
 */
export function createHttpFacts(metrics, nowMs) {
  /** By app. @type {Map<string, Usual>} */
  const usual = new Map();

  /**
   * @param {number[]} ids
   * @param {1000 | 10000} stepMs
   * @param {number} points
   */
  function read(ids, stepMs, points) {
    return metrics.history({ ids, series: [...NAMES], stepMs, points, of: 'apps' }).apps[0]?.series ?? {};
  }

  /**
   * @param {string} name
   * @param {number[]} ids
   */
  function findUsual(name, ids) {
    const known = usual.get(name);
    if (known && nowMs() - known.atMs < RENEW_MS) return known;
    const { requestsPerS = [], errorsPerS = [], latencyP99Ms = [] } = read(ids, 10_000, HOUR_POINTS);
    const shares = requestsPerS.map((rate, at) => (rate ? (errorsPerS[at] ?? 0) / rate : null));
    const found = { atMs: nowMs(), usualP99Ms: computeMedian(latencyP99Ms), usualShare: computeMedian(shares) };
    usual.set(name, found);
    return found;
  }

  return {
    /**
     * @param {string} name
     * @param {number[]} ids  Of its slots.
     * @param {boolean} hasAnswered  Whether it has ever answered a request.
     * @returns {HttpFacts}
     */
    of(name, ids, hasAnswered) {
      if (!hasAnswered) return NO_HTTP;
      const { requestsPerS = [], errorsPerS = [] } = read(ids, 1000, NOW_POINTS);
      const { usualP99Ms, usualShare } = findUsual(name, ids);
      return {
        requestsPerS: computeMean(requestsPerS),
        errorsPerS: computeMean(errorsPerS),
        hasAnswered,
        usualP99Ms,
        usualShare,
      };
    },
    /** @param {(name: string) => boolean} isListed */
    forget(isListed) {
      for (const name of usual.keys()) if (!isListed(name)) usual.delete(name);
    },
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
