import { svg } from './dom.js';

/** @import { AppSample, MetricsHistory, SeriesName } from '../../../../lib/shared/metrics.js' */
/** @import { WorkerSample } from '../../../../lib/shared/metrics.js' */

/** @typedef {(number | null)[]} Points  Oldest first. */

export const SPARK_POINTS = 60;

/** The scale covers at least this much, in percent of a core. */
const LEAST = 10;

/**
 * @param {Points} points
 * @param {{ width: number, height: number }} size
 * @returns {string}
 */
export function sparkPath(points, { width, height }) {
  const max = points.reduce((/** @type {number} */ most, value) => Math.max(most, value ?? 0), LEAST);
  const step = width / (SPARK_POINTS - 1);
  const first = SPARK_POINTS - points.length;
  let isDown = false;
  return points
    .map((value, at) => {
      if (value === null) {
        isDown = false;
        return '';
      }
      const move = isDown ? 'L' : 'M';
      isDown = true;
      return `${move}${((first + at) * step).toFixed(1)} ${(height - 1 - (value / max) * (height - 2)).toFixed(1)}`;
    })
    .join('');
}

/** The chart is hidden from screen readers, because the value is next to it. */
export function createSpark() {
  const size = { width: 72, height: 18 };
  const path = svg('path', {});
  const node = svg('svg', {
    viewBox: `0 0 ${size.width} ${size.height}`,
    class: 'spark',
    'aria-hidden': 'true',
    preserveAspectRatio: 'none',
  });
  node.append(path);
  return { node, draw: (/** @type {Points} */ points) => path.setAttribute('d', sparkPath(points, size)) };
}

/**
 * @param {Map<string, Points>} sparks
 * @param {{ key: string, cpu: number }[]} news  The values of all rows.
 * @param {number} missing  Number of seconds without data before the news.
 */
export function addToSparks(sparks, news, missing) {
  const gap = new Array(Math.min(SPARK_POINTS, missing)).fill(null);
  return new Map(news.map(({ key, cpu }) => [key, [...(sparks.get(key) ?? []), ...gap, cpu].slice(-SPARK_POINTS)]));
}

/**
 * @typedef {{ stepMs: number, times: number[], series: Record<SeriesName, (number | null)[]> }} Trend
 *   Oldest first; times in ms.
 */

export const NAMES = /** @type {SeriesName[]} */ ([
  'cpu',
  'memoryBytes',
  'delayP99Ms',
  'requestsPerS',
  'errorsPerS',
  'latencyP99Ms',
]);

/** By stepMs. @type {Record<number, number>} */
export const POINTS = { 1000: 600, 10000: 2160 };

/**
 * @param {number} stepMs
 * @returns {Trend}
 */
export function emptyTrend(stepMs) {
  return { stepMs, times: [], series: mapNames(() => []) };
}

/**
 * Adds the history of the manager. Keeps older points of the page, because a new manager starts
 * without history.
 * @param {Trend} trend
 * @param {MetricsHistory} history
 * @param {Partial<Record<SeriesName, (number | null)[]>>} series
 * @returns {Trend}
 */
export function addHistory(trend, { stepMs, endMs, points }, series) {
  const values = mapNames((name) => series[name] ?? new Array(points).fill(null));
  const from = Math.max(
    0,
    Math.min(
      ...NAMES.map((name) => values[name].findIndex((value) => value !== null)).filter((at) => at !== -1),
      points,
    ),
  );
  const begin = endMs - (points - 1 - from) * stepMs;
  const before = trend.times.filter((time) => time < begin - stepMs / 2).length;
  const after = trend.times.findIndex((time) => time > endMs + stepMs / 2);
  const newer = after === -1 ? trend.times.length : after;
  const gap = gapBetween(trend.times[before - 1], begin, stepMs);
  const times = [
    ...trend.times.slice(0, before),
    ...gap,
    ...Array.from({ length: points - from }, (_, at) => begin + at * stepMs),
    ...trend.times.slice(newer),
  ];
  return limited({
    stepMs,
    times,
    series: mapNames((name) => [
      ...trend.series[name].slice(0, before),
      ...gap.map(() => null),
      ...values[name].slice(from),
      ...trend.series[name].slice(newer),
    ]),
  });
}

/**
 * @param {Trend} trend  A trend with steps of one second.
 * @param {number} atMs
 * @param {AppSample | WorkerSample} of
 */
export function addSample(trend, atMs, of) {
  const last = trend.times.at(-1) ?? -Infinity;
  if (atMs <= last) return trend;
  const gap = gapBetween(trend.times.at(-1), atMs, trend.stepMs);
  /** @type {Record<SeriesName, number | null>} */
  const value = {
    cpu: of.cpu,
    memoryBytes: of.memoryBytes,
    delayP99Ms: of.delayP99Ms,
    requestsPerS: of.http?.requestsPerS ?? null,
    errorsPerS: of.http?.errorsPerS ?? null,
    latencyP99Ms: of.http?.latencyP99Ms ?? null,
  };
  return limited({
    ...trend,
    times: [...trend.times, ...gap, atMs],
    series: mapNames((name) => [...trend.series[name], ...gap.map(() => null), value[name]]),
  });
}

/**
 * Returns a time for a point without a value if samples are missing. Otherwise the chart would draw
 * a line across the gap.
 * @param {number | undefined} before
 * @param {number} after
 * @param {number} stepMs
 */
function gapBetween(before, after, stepMs) {
  return before !== undefined && after - before > 2.5 * stepMs ? [before + stepMs] : [];
}

/**
 * @param {Trend} trend
 * @returns {Trend}
 */
function limited({ stepMs, times, series }) {
  const oldest = (times.at(-1) ?? 0) - POINTS[stepMs] * stepMs;
  const from = times.findIndex((time) => time > oldest);
  return from <= 0
    ? { stepMs, times, series }
    : { stepMs, times: times.slice(from), series: mapNames((name) => series[name].slice(from)) };
}

/**
 * @template T
 * @param {(name: SeriesName) => T} make
 */
function mapNames(make) {
  return /** @type {Record<SeriesName, T>} */ (Object.fromEntries(NAMES.map((name) => [name, make(name)])));
}
