import uPlot from '/uplot.js';
import { clockTime } from '../../../../lib/figures/format.js';
import { formatFigure } from '../../../../lib/figures/rows.js';
import { timesOf } from '../../../../lib/figures/trends.js';
import { STEPS } from '../../../../lib/shared/metrics.js';
import { attribute, el, setText } from './dom.js';

/** @import { SeriesName } from '../../../../lib/shared/metrics.js' */
/** @import { Trend } from '../../../../lib/figures/trends.js' */

/**
 * @typedef {object} Chart
 * @property {SeriesName} name
 * @property {string} title
 * @property {number} least
 */

/** `least`: the top of the scale when all values are below it. @type {Chart[]} */
const CHARTS = [
  { name: 'cpu', title: 'CPU', least: 10 },
  { name: 'memoryBytes', title: 'Memory', least: 16 * 1024 ** 2 },
  { name: 'requestsPerS', title: 'Requests/s', least: 10 },
  { name: 'latencyP99Ms', title: 'Latency, p99', least: 10 },
  { name: 'delayP99Ms', title: 'Loop delay, p99', least: 20 },
  { name: 'errorsPerS', title: 'Errors/s', least: 1 },
];

const HEIGHT = 132;

const BINARY = Array.from({ length: 40 }, (_, power) => 2 ** power);

/** The pointer marks the same moment in all charts. */
export function createCharts() {
  const node = el('div', { className: 'charts' });
  const all = CHARTS.map((about) => createChart(about));
  node.append(...all.map((one) => one.node));
  const sizes = new ResizeObserver(() => {
    for (const one of all) one.fit();
  });
  const schemes = matchMedia('(prefers-color-scheme: dark)');
  const repaint = () => {
    for (const one of all) one.repaint();
  };
  sizes.observe(node);
  schemes.addEventListener('change', repaint);
  return {
    node,
    /** @param {Trend} trend */
    show(trend) {
      for (const one of all) one.show(trend);
    },
    repaint,
    close() {
      sizes.disconnect();
      schemes.removeEventListener('change', repaint);
      for (const one of all) one.close();
    },
  };
}

/** @param {typeof CHARTS[number]} about */
function createChart({ name, title, least }) {
  const text = (/** @type {number | null | undefined} */ point) => formatFigure(name, point) || '–';
  const value = el('span', { className: 'value' });
  const when = el('span', { className: 'when' });
  const place = el('div', { role: 'img' });
  const node = el(
    'figure',
    { className: `chart chart-${name}` },
    el('figcaption', {}, el('span', {}, title), when, value),
    place,
  );
  /** @type {uPlot | null} */
  let plot = null;
  /** @type {Trend | null} */
  let trend = null;
  let spanS = 600;
  const paint = (/** @type {string} */ variable) => getComputedStyle(node).getPropertyValue(variable);
  const axis = {
    stroke: () => paint('--muted-ink'),
    font: '11px system-ui, sans-serif',
    ticks: { show: false },
    grid: { stroke: () => paint('--grid'), width: 1 },
  };

  /** @returns {uPlot.Options} */
  const options = () => ({
    width: Math.max(120, place.clientWidth),
    height: HEIGHT,
    legend: { show: false },
    cursor: { sync: { key: 'charts' }, drag: { x: false, y: false }, y: false, points: { size: 7 } },
    scales: {
      x: { time: true, range: (_plot, _min, max) => [max - spanS, max] },
      y: { range: (_plot, _min, max) => [0, Math.max(least, (max ?? 0) * 1.1)] },
    },
    series: [
      {},
      {
        stroke: () => paint('--line'),
        fill: () => paint('--area'),
        width: 1.5,
        points: { show: false },
        spanGaps: false,
      },
    ],
    axes: [
      {
        ...axis,
        size: 24,
        space: 56,
        values: (_plot, splits) => splits.map((at) => clockTime(at * 1_000, at * 1_000).slice(0, 5)),
      },
      {
        ...axis,
        size: 58,
        space: 34,
        values: (_plot, splits) => splits.map((one) => text(one).replace(/\.0(?=\D|$)/, '')),
        ...(name === 'memoryBytes' ? { incrs: BINARY } : {}),
      },
    ],
    hooks: { setCursor: [showValue] },
  });

  /** @param {Trend} now */
  function show(now) {
    trend = now;
    spanS = (now.stepMs * STEPS[now.stepMs]) / 1_000;
    /** @type {uPlot.AlignedData} */
    const data = [timesOf(now).map((time) => time / 1_000), now.series[name]];
    if (plot) plot.setData(data);
    else if (place.clientWidth > 0) plot = new uPlot(options(), data, place);
    showValue();
    const known = now.series[name].filter((one) => one !== null);
    const newest = text(now.series[name].at(-1));
    const words = known.length > 0 ? `now ${newest}, at most ${text(Math.max(...known))} in this range` : 'no data';
    attribute(place, 'aria-label', `${title}: ${words}`);
    node.classList.toggle('is-empty', known.length === 0);
  }

  /** Shows the value under the pointer, or the newest value. */
  function showValue() {
    if (!trend) return;
    const at = plot?.cursor.idx ?? null;
    setText(value, text(trend.series[name].at(at ?? -1)));
    setText(when, at === null ? '' : clockTime(timesOf(trend)[at], Date.now()));
  }

  return {
    node,
    show,
    fit() {
      if (!plot && trend) show(trend);
      else if (plot && place.clientWidth > 0 && place.clientWidth !== plot.width)
        plot.setSize({ width: place.clientWidth, height: HEIGHT });
    },
    repaint: () => plot?.redraw(false, true),
    close: () => plot?.destroy(),
  };
}
