import { svg } from './dom.js';

/** @typedef {(number|null)[]} Points  Oldest first. */

export const SPARK_POINTS = 60;

/** What is less than that, in percent of a core, is drawn as less. */
const LEAST = 10;

/**
 * @param {Points} points
 * @param {{width: number, height: number}} size
 * @returns {string}  The path: a gap where nothing is known.
 */
export function sparkPath(points, { width, height }) {
  const max = points.reduce((/** @type {number} */ most, value) => Math.max(most, value ?? 0), LEAST);
  const step = width / (SPARK_POINTS - 1);
  const first = SPARK_POINTS - points.length;
  let isDown = false;
  return points.map((value, at) => {
    if (value === null) {
      isDown = false;
      return '';
    }
    const move = isDown ? 'L' : 'M';
    isDown = true;
    return `${move}${((first + at) * step).toFixed(1)} ${(height - 1 - (value / max) * (height - 2)).toFixed(1)}`;
  }).join('');
}

/** A small picture for the eye only: the figure stands beside it. */
export function createSpark() {
  const size = { width: 72, height: 18 };
  const path = svg('path', {});
  const node = svg('svg', { viewBox: `0 0 ${size.width} ${size.height}`, class: 'spark', 'aria-hidden': 'true', preserveAspectRatio: 'none' });
  node.append(path);
  return { node, draw: (/** @type {Points} */ points) => path.setAttribute('d', sparkPath(points, size)) };
}

/**
 * What was known, and one more second of it.
 * @param {Map<string, Points>} sparks
 * @param {{key: string, cpu: number}[]} news  All there are.
 * @param {number} missing  Seconds of which nothing is known.
 */
export function addToSparks(sparks, news, missing) {
  const gap = new Array(Math.min(SPARK_POINTS, missing)).fill(null);
  return new Map(news.map(({ key, cpu }) => [key, [...(sparks.get(key) ?? []), ...gap, cpu].slice(-SPARK_POINTS)]));
}
