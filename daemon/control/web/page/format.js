import { formatDuration } from '../../../../lib/shared/units.js';

const KB = 1024;
const UNKNOWN = '–';

/** @param {number | null | undefined} value */
export function bytes(value) {
  if (value === null || value === undefined) return UNKNOWN;
  if (value < KB) return `${Math.round(value)} B`;
  const power = Math.min(4, Math.floor(Math.log2(value) / 10));
  const scaled = value / KB ** power;
  return `${scaled >= 100 ? scaled.toFixed(0) : scaled.toFixed(1)} ${'KMGT'[power - 1]}B`;
}

/** @param {number | null | undefined} value */
export function formatPercent(value) {
  return value === null || value === undefined ? UNKNOWN : `${value >= 100 ? value.toFixed(0) : value.toFixed(1)}%`;
}

/** @param {number | null | undefined} value */
export function rate(value) {
  if (value === null || value === undefined) return UNKNOWN;
  return value >= 10_000
    ? `${(value / 1_000).toFixed(1)}k`
    : value >= 100 || Number.isInteger(value)
      ? value.toFixed(0)
      : value.toFixed(1);
}

/** @param {number | null | undefined} ms */
export function delay(ms) {
  if (ms === null || ms === undefined) return UNKNOWN;
  if (ms >= 1_000) return `${(ms / 1_000).toFixed(1)} s`;
  return `${ms >= 10 || Number.isInteger(ms) ? ms.toFixed(0) : ms.toFixed(1)} ms`;
}

/**
 * @param {number | null | undefined} startedAtMs
 * @param {number} nowMs  The current time by the clock of the manager.
 */
export function uptime(startedAtMs, nowMs) {
  if (startedAtMs === null || startedAtMs === undefined) return UNKNOWN;
  const ms = Math.max(0, nowMs - startedAtMs);
  return ms < 60_000 ? `${Math.floor(ms / 1_000)}s` : formatDuration(Math.floor(ms / 60_000) * 60_000);
}

/**
 * @param {number} number
 * @param {string} one
 * @param {string} [many]
 */
export function formatCount(number, one, many = `${one}s`) {
  return `${number.toLocaleString('en')} ${number === 1 ? one : many}`;
}
