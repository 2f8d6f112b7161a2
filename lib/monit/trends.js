/** @import { AppSample, MetricsHistory, MetricsSample, SeriesName } from '../shared/metrics.js' */
/** @import { WorkerSample } from '../shared/metrics.js' */
/** @import { State } from './state.js' */

/** @typedef {(number | null)[]} Points  Oldest first. */

export const SHOWN = /** @type {const} */ (['cpu', 'memoryBytes', 'delayP99Ms', 'requestsPerS']);

/** @typedef {typeof SHOWN[number]} Shown */

/** @typedef {'minutes' | 'hours'} Span  Of the charts. */

/** @type {Record<Span, { stepMs: number, points: number }>} */
export const SPANS = { minutes: { stepMs: 1_000, points: 300 }, hours: { stepMs: 10_000, points: 2_160 } };

/** @typedef {{ key: string, span: Span, endMs: number, series: Record<Shown, Points> }} Trend */

export const SPARK_POINTS = 40;

const TREND_POINTS = SPANS.minutes.points;

/** @param {string} name */
export const appKey = (name) => `app ${name}`;
/** @param {number} id */
export const workerKey = (id) => `worker ${id}`;

/**
 * @param {State} state
 * @param {{ sample: MetricsSample, history?: MetricsHistory }} news
 * @returns {State}
 */
export function addSample(state, { sample, history }) {
  const known = history ? sparksOf(history) : state.sparks;
  /** @type {State['sparks']} */
  const sparks = new Map();
  for (const { key, of } of keyed(sample)) {
    const before = known.get(key) ?? state.sparks.get(key) ?? [];
    // Does not add the point of this sample if the history already contains it.
    sparks.set(key, history && known.has(key) ? before : [...before.slice(1 - SPARK_POINTS), of.cpu]);
  }
  return { ...state, sample, sparks, trend: state.trend && addPoint(state.trend, sample) };
}

/** @param {State} state */
export function beginTrend(state) {
  const { selected, span, sample } = state;
  if ((selected === (state.trend?.key ?? null) && (selected === null || span === state.trend?.span)) || !sample)
    return state;
  if (selected === null) return { ...state, trend: null };
  const empty = {
    key: selected,
    span,
    endMs: 0,
    series: { cpu: [], memoryBytes: [], delayP99Ms: [], requestsPerS: [] },
  };
  return { ...state, trend: addPoint(empty, sample) };
}

/**
 * @param {State} state
 * @param {{ key: string, history: MetricsHistory }} o
 */
export function addHistory(state, { key, history }) {
  const { trend } = state;
  if (!trend || trend.key !== key || SPANS[trend.span].stepMs !== history.stepMs) return state;
  const known =
    history.workers.find(({ id }) => workerKey(id) === key) ?? history.apps.find(({ name }) => appKey(name) === key);
  if (!known) return state;
  // The number of samples that are newer than the history. 0 for charts of hours.
  const newer = Math.max(
    0,
    Math.min(trend.series.cpu.length, Math.round((trend.endMs - history.endMs) / history.stepMs)),
  );
  const series = mapShown((name) =>
    [
      ...(known.series[name] ?? new Array(history.points).fill(null)),
      ...(newer > 0 ? trend.series[name].slice(-newer) : []),
    ].slice(-SPANS[trend.span].points),
  );
  return { ...state, trend: { ...trend, endMs: Math.max(trend.endMs, history.endMs), series } };
}

/** @param {MetricsHistory} history */
function sparksOf({ workers, apps }) {
  const all = [
    ...workers.map(({ id, series }) => ({ key: workerKey(id), series })),
    ...apps.map(({ name, series }) => ({ key: appKey(name), series })),
  ];
  return new Map(all.map(({ key, series }) => [key, (series.cpu ?? []).slice(-SPARK_POINTS)]));
}

/**
 * @param {MetricsSample} sample
 * @returns {{ key: string, of: WorkerSample | AppSample }[]}
 */
function keyed({ apps, workers }) {
  return [...apps.map((of) => ({ key: appKey(of.name), of })), ...workers.map((of) => ({ key: workerKey(of.id), of }))];
}

/**
 * @param {Trend} trend
 * @param {MetricsSample} sample
 * @returns {Trend}  Unchanged if the sample is not newer or does not contain the row. Also
 *   unchanged for "hours", because the source requests the charts of hours again.
 */
function addPoint(trend, sample) {
  if (trend.span === 'hours') return trend;
  const of = keyed(sample).find(({ key }) => key === trend.key)?.of;
  if (!of || sample.atMs <= trend.endMs) return trend;
  const missing =
    trend.endMs === 0 ? 0 : Math.max(0, Math.min(TREND_POINTS, Math.round((sample.atMs - trend.endMs) / 1_000) - 1));
  const values = {
    cpu: of.cpu,
    memoryBytes: of.memoryBytes,
    delayP99Ms: of.delayP99Ms,
    requestsPerS: of.http?.requestsPerS ?? null,
  };
  const series = mapShown((name) =>
    [...trend.series[name], ...new Array(missing).fill(null), values[name]].slice(-TREND_POINTS),
  );
  return { ...trend, endMs: sample.atMs, series };
}

/** @param {(name: Shown) => Points} make */
function mapShown(make) {
  return {
    cpu: make('cpu'),
    memoryBytes: make('memoryBytes'),
    delayP99Ms: make('delayP99Ms'),
    requestsPerS: make('requestsPerS'),
  };
}

export const BLOCKS = ' ▁▂▃▄▅▆▇█';
/** Marks for terminals that cannot show blocks. */
export const PLAIN = ' .:-=+*#@';

/**
 * Draws the last points. An unknown point is blank. A known point has at least the lowest mark.
 * @param {Points} points
 * @param {{ width: number, max: number, marks?: string }} o
 */
export function sparkline(points, { width, max, marks = BLOCKS }) {
  return chart(points, { width, height: 1, max, marks })[0];
}

/**
 * @param {Points} points
 * @param {{ width: number, height: number, max: number, marks?: string }} o  `max`: the value
 *   that fills a column.
 * @returns {string[]}  Rows, the highest first.
 */
export function chart(points, { width, height, max, marks = BLOCKS }) {
  const steps = marks.length - 1;
  const shown = lastOf(points, width);
  const levels = shown.map((value) =>
    value === null ? 0 : Math.max(1, Math.min(height * steps, Math.round((value / max) * height * steps))),
  );
  return Array.from({ length: height }, (_, row) => {
    const below = (height - 1 - row) * steps;
    return levels.map((level) => marks[Math.max(0, Math.min(steps, level - below))]).join('');
  });
}

/**
 * Returns the top of the scale: 1, 2 or 5 times a power of ten, so that the scale changes seldom.
 * @param {Points} points
 * @param {number} least
 */
export function chooseScale(points, least) {
  let highest = least;
  for (const value of points) if (value !== null && value > highest) highest = value;
  const power = 10 ** Math.floor(Math.log10(highest));
  return [1, 2, 5, 10].map((step) => step * power).find((top) => top >= highest) ?? 10 * power;
}

/**
 * @param {Points} points
 * @param {number} width
 * @returns {Points}  The highest point of each stretch. Null: no point of the stretch is known.
 */
export function keepPeaks(points, width) {
  const stretch = Math.ceil(points.length / Math.max(1, width));
  /** @type {Points} */
  const peaks = [];
  // Starts at the newest point, so that only the oldest stretch may be shorter.
  for (let end = points.length; end > 0; end -= stretch) {
    peaks.unshift(
      points
        .slice(Math.max(0, end - stretch), end)
        .reduce((highest, value) => (value === null || (highest !== null && highest >= value) ? highest : value), null),
    );
  }
  return peaks;
}

/**
 * @param {Points} points
 * @param {number} width
 */
function lastOf(points, width) {
  const last = width > 0 ? points.slice(-width) : [];
  return [...new Array(width - last.length).fill(null), ...last];
}
