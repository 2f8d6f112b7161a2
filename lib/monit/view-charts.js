import { formatBytes } from '../render/slots.js';
import { delay, rate } from './figures.js';
import { put } from './screen.js';
import { chart, peaksOf, scaleOf } from './sparkline.js';

/** @import { Screen } from './screen.js' */
/** @import { Box } from './layout.js' */
/** @import { Shown, Trend } from './trends.js' */

const MB = 1024 ** 2;

/** `least`: the top of the scale when there is less. @type {{name: Shown, title: string, style: string, least: number, unit: number, text: (value: number) => string}[]} */
const CHARTS = [
  { name: 'cpu', title: 'cpu', style: 'green', least: 100, unit: 1, text: (value) => `${value.toFixed(1)}%` },
  { name: 'memoryBytes', title: 'mem', style: 'blue', least: 10, unit: MB, text: formatBytes },
  { name: 'delayP99Ms', title: 'loop', style: 'yellow', least: 50, unit: 1, text: delay },
  { name: 'requestsPerS', title: 'req/s', style: 'magenta', least: 10, unit: 1, text: rate },
];

const LABEL_COLUMNS = 14;

/**
 * Four charts, two beside each other.
 * @param {Screen} screen
 * @param {Box} box
 * @param {{trend: Trend|null, marks: string}} o
 */
export function drawCharts(screen, box, { trend, marks }) {
  if (!trend || box.height <= 0) return;
  const width = Math.floor(box.width / 2);
  const height = Math.floor(box.height / 2);
  for (const [at, one] of CHARTS.entries()) {
    const room = Math.max(0, height === 1 ? width - LABEL_COLUMNS - 2 : width - 2);
    const points = room > 0 ? (trend.span === 'hours' ? peaksOf(trend.series[one.name], room) : trend.series[one.name].slice(-room)) : [];
    const x = box.x + (at % 2) * width;
    const y = box.y + Math.floor(at / 2) * height;
    const last = trend.series[one.name].at(-1) ?? null;
    const max = scaleOf(points.map((value) => (value === null ? null : value / one.unit)), one.least) * one.unit;
    const text = last === null ? '-' : one.text(last);
    put(screen, { x: x + 1, y, text: one.title, style: 'grey' });
    if (height === 1) {
      put(screen, { x: x + 1 + LABEL_COLUMNS - 1 - text.length, y, text });
      put(screen, { x: x + 1 + LABEL_COLUMNS, y, text: chart(points, { width: room, height: 1, max, marks })[0], style: one.style });
      continue;
    }
    put(screen, { x: x + 7, y, text });
    const scale = `of ${one.text(max).replace(/\.0(?=\D)/, '')}`;
    put(screen, { x: x + width - 1 - scale.length, y, text: scale, style: 'grey' });
    for (const [line, blocks] of chart(points, { width: room, height: height - 1, max, marks }).entries()) put(screen, { x: x + 1, y: y + 1 + line, text: blocks, style: one.style });
  }
}
