// Parses durations and sizes that people type. A bare number is milliseconds or bytes, as in PM2.

export const DURATION_FORMS = 'milliseconds as a whole number (1500), or a number with ms, s, m, h or d ("1.5s")';

export const BYTES_FORMS = 'bytes as a whole number (1048576), or a number with K, M or G ("256M", "256mb")';

/** @type {Record<string, number>} */
const MS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** @type {Record<string, number>} */
const BYTES = { b: 1, k: 1024, m: 1024 ** 2, g: 1024 ** 3 };

/** If a timer is longer than this, Node.js fires the timer after 1 ms. */
export const TIMER_MAX_MS = 2_147_483_647;

/** The value of `max_restarts: Infinity`, because JSON has no Infinity. */
export const UNLIMITED = TIMER_MAX_MS;

/**
 * @param {string | number} value
 * @returns {number | null}
 */
export function parseDuration(value) {
  const match = /^(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)?$/i.exec(String(value).trim());
  if (!match) return null;
  return scaled(match[1], MS[(match[2] ?? 'ms').toLowerCase()]);
}

/**
 * @param {string | number} value
 * @returns {number | null}
 */
export function parseBytes(value) {
  const match = /^(\d+(?:\.\d+)?)\s*([kmg])?i?(b)?$/i.exec(String(value).trim());
  if (!match) return null;
  return scaled(match[1], BYTES[(match[2] ?? 'b').toLowerCase()]);
}

/**
 * "350ms", "1.5s", "10s", "2m", "1h 5m".
 * @param {number} ms
 */
export function formatDuration(ms) {
  if (ms < 999.5) return `${Math.round(ms)}ms`;
  if (ms < MS.m) return `${Math.floor((ms + 0.5) / 100) / 10}s`;
  if (ms < MS.h) return twoUnits(ms, MS.m, 'm', MS.s, 's');
  if (ms < MS.d) return twoUnits(ms, MS.h, 'h', MS.m, 'm');
  return twoUnits(ms, MS.d, 'd', MS.h, 'h');
}

/**
 * @param {string} number
 * @param {number} unit
 */
function scaled(number, unit) {
  const value = Math.round(Number(number) * unit);
  return Number.isSafeInteger(value) ? value : null;
}

/**
 * @param {number} ms
 * @param {number} big
 * @param {string} bigName
 * @param {number} small
 * @param {string} smallName
 */
function twoUnits(ms, big, bigName, small, smallName) {
  const rest = Math.floor((ms % big) / small);
  const head = `${Math.floor(ms / big)}${bigName}`;
  return rest === 0 ? head : `${head} ${rest}${smallName}`;
}
