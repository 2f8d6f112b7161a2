/** @typedef {(number|null)[]} Points  Oldest first. */

/** From nothing to full; a terminal that cannot show blocks gets the second. */
export const BLOCKS = ' ▁▂▃▄▅▆▇█';
export const PLAIN = ' .:-=+*#@';

/**
 * One row: a column for each of the last points. What is not known is blank, what is known has at least the lowest mark.
 * @param {Points} points
 * @param {{width: number, max: number, marks?: string}} o
 * @returns {string}  As wide as asked for.
 */
export function sparkline(points, { width, max, marks = BLOCKS }) {
  return chart(points, { width, height: 1, max, marks })[0];
}

/**
 * @param {Points} points
 * @param {{width: number, height: number, max: number, marks?: string}} o  `max`: the value of a full column.
 * @returns {string[]}  Rows, the highest first.
 */
export function chart(points, { width, height, max, marks = BLOCKS }) {
  const steps = marks.length - 1;
  const shown = lastOf(points, width);
  const levels = shown.map((value) => (value === null ? 0 : Math.max(1, Math.min(height * steps, Math.round((value / max) * height * steps)))));
  return Array.from({ length: height }, (_, row) => {
    const below = (height - 1 - row) * steps;
    return levels.map((level) => marks[Math.max(0, Math.min(steps, level - below))]).join('');
  });
}

/**
 * The top of a scale: steps wide enough that it does not change with every point.
 * @param {Points} points
 * @param {number} least
 * @returns {number}  1, 2 or 5 with noughts.
 */
export function scaleOf(points, least) {
  let highest = least;
  for (const value of points) if (value !== null && value > highest) highest = value;
  const power = 10 ** Math.floor(Math.log10(highest));
  return [1, 2, 5, 10].map((step) => step * power).find((top) => top >= highest) ?? 10 * power;
}

/**
 * As many points as there is room for, of the whole time: a peak stays one.
 * @param {Points} points
 * @param {number} width
 * @returns {Points}  The highest of each stretch; null when nothing is known of it.
 */
export function peaksOf(points, width) {
  const stretch = Math.ceil(points.length / Math.max(1, width));
  /** @type {Points} */
  const peaks = [];
  // From the newest backwards: what is cut short is the oldest stretch.
  for (let end = points.length; end > 0; end -= stretch) {
    peaks.unshift(points.slice(Math.max(0, end - stretch), end).reduce((highest, value) => (value === null || (highest !== null && highest >= value) ? highest : value), null));
  }
  return peaks;
}

/** @param {Points} points @param {number} width */
function lastOf(points, width) {
  const last = width > 0 ? points.slice(-width) : [];
  return [...new Array(width - last.length).fill(null), ...last];
}
