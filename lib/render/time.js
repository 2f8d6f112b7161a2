import { formatDuration } from '../shared/units.js';

/**
 * @param {number} atMs
 * @param {number} nowMs
 * @returns {string}  Local time. Includes the date if the date is not today.
 */
export function clockTime(atMs, nowMs) {
  const [at, now] = [new Date(atMs), new Date(nowMs)];
  const time = `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
  return at.toDateString() === now.toDateString()
    ? time
    : `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())} ${time}`;
}

/**
 * @param {number} atMs
 * @param {number} nowMs
 * @returns {string}
 */
export function formatAgo(atMs, nowMs) {
  return `${formatCoarse(Math.max(0, nowMs - atMs))} ago`;
}

/**
 * Uses only the largest unit: "40s", "12m", "3h", "2d". Returns at least "1s".
 * @param {number} ms
 */
export function formatCoarse(ms) {
  return ms < 1_000 ? '1s' : formatDuration(ms).split(' ')[0].replace(/\.\d+/, '');
}

/** @param {number} number */
function two(number) {
  return String(number).padStart(2, '0');
}
