import { SERIES, STEPS } from '../shared/metrics.js';
import { appKey, readFigure, workerKey } from './rows.js';

/** @import { MetricsHistory, MetricsSample, Points, SeriesName } from '../shared/metrics.js' */
/** @import { Sample } from './rows.js' */

/** Seconds of CPU beside each row. */
export const SPARK_POINTS = 60;

/**
 * @param {Map<string, Points>} sparks  CPU, by the key of a row; "host" is the machine.
 * @param {{ sample: MetricsSample, history?: MetricsHistory }} news
 * @param {number} [beforeMs]  Time of the sample before.
 */
export function addToSparks(sparks, { sample, history }, beforeMs) {
  const known = history ? buildSparks(history) : new Map();
  const gap = missing(Math.round((sample.atMs - (beforeMs ?? sample.atMs)) / 1_000), SPARK_POINTS);
  const cpus = [...keyed(sample), { key: 'host', of: sample.host }];
  // Does not add the point of this sample if the history already contains it.
  return new Map(
    cpus.map(({ key, of: { cpu } }) => [
      key,
      (known.get(key) ?? [...(sparks.get(key) ?? []), ...gap, cpu]).slice(-SPARK_POINTS),
    ]),
  );
}

/**
 * @param {MetricsHistory} history
 * @returns {Map<string, Points>}
 */
function buildSparks({ workers, apps, host }) {
  return new Map([
    ['host', host?.cpu ?? []],
    ...apps.map(({ name, series }) => /** @type {const} */ ([appKey(name), series.cpu ?? []])),
    ...workers.map(({ id, series }) => /** @type {const} */ ([workerKey(id), series.cpu ?? []])),
  ]);
}

/**
 * @param {Pick<MetricsSample, 'apps' | 'workers'>} sample
 * @returns {{ key: string, of: Sample }[]}
 */
export function keyed({ apps, workers }) {
  return [...apps.map((of) => ({ key: appKey(of.name), of })), ...workers.map((of) => ({ key: workerKey(of.id), of }))];
}

/**
 * The last point of each series is of `endMs`, and the points before it are `stepMs` apart.
 * @typedef {object} Trend
 * @property {keyof typeof STEPS} stepMs
 * @property {number} endMs
 * @property {Record<SeriesName, Points>} series
 */

/**
 * @param {keyof typeof STEPS} stepMs
 * @returns {Trend}
 */
export function emptyTrend(stepMs) {
  return { stepMs, endMs: 0, series: mapSeries(() => []) };
}

/** @param {Trend} trend */
export function timesOf({ stepMs, endMs, series: { cpu } }) {
  return cpu.map((_, at) => endMs - (cpu.length - 1 - at) * stepMs);
}

/**
 * Adds a point. Seconds without a sample are null, so that a chart draws no line across them.
 * @template {Trend} T
 * @param {T} trend
 * @param {number} atMs
 * @param {Sample} of
 * @returns {T}  Unchanged if the sample is not newer.
 */
export function extendTrend(trend, atMs, of) {
  const { stepMs, endMs } = trend;
  const steps = endMs === 0 ? 1 : Math.round((atMs - endMs) / stepMs);
  if (steps < 1) return trend;
  const gap = missing(steps, STEPS[stepMs]);
  const series = mapSeries((name) => [...trend.series[name], ...gap, readFigure(of, name)].slice(-STEPS[stepMs]));
  return { ...trend, endMs: atMs, series };
}

/**
 * @param {number} steps
 * @param {number} most
 * @returns {Points}
 */
function missing(steps, most) {
  return new Array(Math.max(0, Math.min(steps - 1, most))).fill(null);
}

/**
 * Adds the history of the manager. Keeps other points of the trend, because a new manager starts
 * without history.
 * @template {Trend} T
 * @param {T} trend
 * @param {MetricsHistory} history
 * @param {Partial<Record<SeriesName, Points>>} series
 * @returns {T}
 */
export function mergeHistory(trend, { endMs, points }, series) {
  const { stepMs } = trend;
  const newestMs = Math.max(trend.endMs, endMs);
  const own = Math.round((newestMs - trend.endMs) / stepMs);
  const theirs = Math.round((newestMs - endMs) / stepMs);
  const known = trend.series.cpu.length;
  const length = Math.min(STEPS[stepMs], Math.max(known > 0 ? own + known : 0, theirs + points));
  const merged = mapSeries((name) =>
    Array.from({ length }, (_, at) => {
      const age = length - 1 - at;
      return buildPoint(series[name], age - theirs) ?? buildPoint(trend.series[name], age - own);
    }),
  );
  return { ...trend, endMs: newestMs, series: merged };
}

/**
 * @param {Points | undefined} points
 * @param {number} age  0: the newest point.
 */
function buildPoint(points, age) {
  return (age < 0 ? null : points?.at(-1 - age)) ?? null;
}

/** @param {(name: SeriesName) => Points} make */
function mapSeries(make) {
  const names = /** @type {SeriesName[]} */ (Object.keys(SERIES));
  return /** @type {Record<SeriesName, Points>} */ (Object.fromEntries(names.map((name) => [name, make(name)])));
}
