import { SPARK_POINTS } from '../../../../lib/figures/trends.js';
import { svg } from './dom.js';

/** @import { Points } from '../../../../lib/shared/metrics.js' */

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
