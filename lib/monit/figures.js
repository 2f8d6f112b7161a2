import { formatBytes } from '../render/slots.js';

// What is not known is no text.

/** @param {number|null|undefined} value */
export function rate(value) {
  if (value === null || value === undefined) return '';
  return value >= 10_000 ? `${(value / 1_000).toFixed(1)}k` : value >= 100 || Number.isInteger(value) ? value.toFixed(0) : value.toFixed(1);
}

/** @param {number|null|undefined} ms */
export function delay(ms) {
  if (ms === null || ms === undefined) return '';
  return ms >= 1_000 ? `${(ms / 1_000).toFixed(1)}s` : `${ms.toFixed(0)}ms`;
}

/** @param {number|null|undefined} value */
export function bytes(value) {
  return value === null || value === undefined ? '' : formatBytes(value);
}

/** @param {number|null|undefined} value */
export function count(value) {
  return value === null || value === undefined ? '' : String(value);
}
