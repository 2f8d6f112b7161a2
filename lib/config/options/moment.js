import { parseDuration } from '../../shared/units.js';

/** What a point in time may look like, for messages. */
export const MOMENT_FORMS = 'how long ago ("2h", "30m", 5000 for milliseconds), a time of day ("14:30"), a date ("2026-11-21", "2026-11-21T14:30:05Z") or milliseconds since 1970';

/** A bare number from here on is a point in time (1973 or later), below it a duration (of at most three years). */
const EPOCH_FROM = 1e11;

const DAY_MS = 86_400_000;

/**
 * Reads a point in time the way people write it. Without an offset it is local.
 * @param {string} text
 * @param {number} nowMs
 * @returns {number|null}  Milliseconds since 1970; null when it is none.
 */
export function parseMoment(text, nowMs) {
  const trimmed = text.trim();
  const number = /^\d+$/.test(trimmed) ? Number(trimmed) : null;
  if (number !== null && number >= EPOCH_FROM) return Number.isSafeInteger(number) ? number : null;
  const agoMs = parseDuration(trimmed);
  if (agoMs !== null) return nowMs - agoMs;
  return parseTimeOfDay(trimmed, nowMs) ?? parseDate(trimmed);
}

/**
 * The last moment at which clocks showed this: "23:50" said at ten past midnight is yesterday's.
 * @param {string} text
 * @param {number} nowMs
 */
function parseTimeOfDay(text, nowMs) {
  const match = /^([01]?\d|2[0-3]):([0-5]\d)(?::([0-5]\d))?$/.exec(text);
  if (!match) return null;
  const moment = new Date(nowMs);
  moment.setHours(Number(match[1]), Number(match[2]), Number(match[3] ?? 0), 0);
  if (moment.getTime() > nowMs) moment.setDate(moment.getDate() - 1);
  return moment.getTime();
}

/** @param {string} text */
function parseDate(text) {
  const match = /^(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?)(Z|[+-]\d\d:?\d\d)?)?$/i.exec(text);
  if (!match) return null;
  const [, year, month, day, time = '00:00', offset = ''] = match;
  // Date takes the 31st of February for the 3rd of March.
  const midnight = Date.UTC(Number(year), Number(month) - 1, Number(day));
  if (Number.isNaN(midnight) || new Date(midnight).toISOString().slice(0, 10) !== `${year}-${month}-${day}`) return null;
  const ms = Date.parse(`${year}-${month}-${day}T${time}${offset.toUpperCase().replace(/(\d\d)(\d\d)$/, '$1:$2')}`);
  return Number.isNaN(ms) || Math.abs(ms - midnight) > 2 * DAY_MS ? null : ms;
}
