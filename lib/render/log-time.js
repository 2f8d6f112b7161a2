import { createRequire } from 'node:module';

/** The default of PM2. */
export const TIMESTAMP_FORMAT = 'YYYY-MM-DD-HH:mm:ss';

/** @type {typeof import('dayjs') | null} */
let dayjs = null;

/**
 * @param {number | null} atMs
 * @param {string} format  In the syntax of dayjs.
 * @returns {string}  Local time. "-" if the time is not known.
 */
export function formatTime(atMs, format) {
  if (atMs === null) return '-';
  // Loads dayjs at the first use, because most commands print no time.
  dayjs ??= /** @type {typeof import('dayjs')} */ (createRequire(import.meta.url)('dayjs'));
  return dayjs(atMs).format(format);
}
