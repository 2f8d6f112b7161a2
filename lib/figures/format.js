import { formatDuration } from '../shared/units.js';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/**
 * PM2's short form: "12s", "5m", "3h", "2D".
 * @param {number} ms
 */
export function formatUptime(ms) {
  if (ms < MINUTE_MS) return `${Math.max(0, Math.floor(ms / 1_000))}s`;
  if (ms < HOUR_MS) return `${Math.floor(ms / MINUTE_MS)}m`;
  if (ms < DAY_MS) return `${Math.floor(ms / HOUR_MS)}h`;
  return `${Math.floor(ms / DAY_MS)}D`;
}

const UNITS = ['b', 'kb', 'mb', 'gb', 'tb'];

/**
 * PM2's form: "0b", "12.3kb", "45.1mb", "1.2gb".
 * @param {number} bytes
 */
export function formatBytes(bytes) {
  const power = UNITS.findIndex((_, at) => bytes < 1024 ** (at + 1) || at === UNITS.length - 1);
  return `${power === 0 ? Math.round(bytes) : (bytes / 1024 ** power).toFixed(1)}${UNITS[power]}`;
}

/** @param {number} percent */
export function formatPercent(percent) {
  return `${percent.toFixed(1)}%`;
}

/**
 * "3", "1.2", "120", "12.3k".
 * @param {number} perS
 */
export function formatRate(perS) {
  return perS >= 10_000 ? `${(perS / 1_000).toFixed(1)}k` : shorten(perS, 100);
}

/**
 * "0.4ms", "13ms", "1.2s".
 * @param {number} ms
 */
export function formatDelay(ms) {
  return ms >= 1_000 ? `${(ms / 1_000).toFixed(1)}s` : `${shorten(ms, 10)}ms`;
}

/**
 * @param {number} value
 * @param {number} whole  From this value on, the text has no decimals.
 */
function shorten(value, whole) {
  return value.toFixed(value >= whole || Number.isInteger(value) ? 0 : 1);
}

/**
 * "1 instance", "1,200 lines".
 * @param {number} number
 * @param {string} one
 * @param {string} [many]
 */
export function formatCount(number, one, many = `${one}s`) {
  return `${String(number).replace(/\B(?=(\d{3})+$)/g, ',')} ${number === 1 ? one : many}`;
}

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

/** @param {number} number */
function two(number) {
  return String(number).padStart(2, '0');
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

/**
 * @param {number} fromMs
 * @param {number} toMs
 */
export function formatSpan(fromMs, toMs) {
  return formatDuration(Math.max(1_000, Math.round((toMs - fromMs) / 1_000) * 1_000));
}
