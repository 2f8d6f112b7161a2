import { addToSparks, emptyTrend, extendTrend, keyed, mergeHistory } from '../figures/trends.js';
import { appKey, workerKey } from '../figures/rows.js';

/** @import * as figures from '../figures/trends.js' */
/** @import { MetricsHistory, MetricsSample, Points, SeriesName } from '../shared/metrics.js' */
/** @import { State } from './state.js' */

/** @type {SeriesName[]} */
export const SHOWN = ['cpu', 'memoryBytes', 'delayP99Ms', 'requestsPerS'];

/** @typedef {'minutes' | 'hours'} Span  Of the charts. */

/** @type {Record<Span, { stepMs: 1000 | 10000, points: number }>} */
export const SPANS = { minutes: { stepMs: 1000, points: 300 }, hours: { stepMs: 10000, points: 2_160 } };

/** @typedef {figures.Trend & { key: string, span: Span }} Trend */

/**
 * @param {State} state
 * @param {{ sample: MetricsSample, history?: MetricsHistory }} news
 * @returns {State}
 */
export function addSample(state, news) {
  const sparks = addToSparks(state.sparks, news, state.sample?.atMs);
  return { ...state, sample: news.sample, sparks, trend: state.trend && addPoint(state.trend, news.sample) };
}

/** @param {State} state */
export function beginTrend(state) {
  const { selected, span, sample } = state;
  if ((selected === (state.trend?.key ?? null) && (selected === null || span === state.trend?.span)) || !sample)
    return state;
  if (selected === null) return { ...state, trend: null };
  return { ...state, trend: addPoint({ key: selected, span, ...emptyTrend(SPANS[span].stepMs) }, sample) };
}

/**
 * @param {State} state
 * @param {{ key: string, history: MetricsHistory }} o
 */
export function addHistory(state, { key, history }) {
  const { trend } = state;
  if (!trend || trend.key !== key || trend.stepMs !== history.stepMs) return state;
  const known =
    history.workers.find(({ id }) => workerKey(id) === key) ?? history.apps.find(({ name }) => appKey(name) === key);
  return known ? { ...state, trend: mergeHistory(trend, history, known.series) } : state;
}

/**
 * @param {Trend} trend
 * @param {MetricsSample} sample
 * @returns {Trend}  Unchanged if the sample does not contain the row. Also unchanged for "hours",
 *   because the source requests the charts of hours again.
 */
function addPoint(trend, sample) {
  const of = keyed(sample).find(({ key }) => key === trend.key)?.of;
  return of && trend.span !== 'hours' ? extendTrend(trend, sample.atMs, of) : trend;
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
  const shown = getLast(points, width);
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
 * @param {number} least  In units.
 * @param {number} unit
 */
export function chooseScale(points, least, unit) {
  const highest = points.reduce((/** @type {number} */ most, value) => Math.max(most, (value ?? 0) / unit), least);
  const power = 10 ** Math.floor(Math.log10(highest));
  return unit * ([1, 2, 5, 10].map((step) => step * power).find((top) => top >= highest) ?? 10 * power);
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
function getLast(points, width) {
  const last = width > 0 ? points.slice(-width) : [];
  return [...new Array(width - last.length).fill(null), ...last];
}
