import { MOMENT_FORMS, parseMoment } from '../config/moment.js';
import { NclustError } from '../shared/errors.js';

const LINES_MAX = 100_000;

/**
 * @param {Record<string, any>} options
 * @param {number} nowMs
 * @returns {number}  0: since ever. Throws ERR_NCLUST_USAGE.
 */
export function readSince({ since }, nowMs) {
  if (since === undefined) return 0;
  const moment = parseMoment(since, nowMs);
  if (moment === null) throw usage(`--since is "${since}"; accepted: ${MOMENT_FORMS}.`);
  if (moment > nowMs) throw usage(`--since is "${since}", which is in the future.`);
  return moment;
}

/**
 * @param {Record<string, any>} options
 * @param {number} otherwise
 * @returns {number}  Throws ERR_NCLUST_USAGE.
 */
export function readCount({ lines, since }, otherwise) {
  if (lines === undefined) return since === undefined ? otherwise : Infinity;
  if (/^\d{1,6}$/.test(lines) && Number(lines) <= LINES_MAX) return Number(lines);
  throw usage(`--lines is "${lines}"; accepted: a whole number from 0 to ${LINES_MAX}.`);
}

/**
 * @param {Record<string, any>} options
 * @returns {(type: string) => boolean}  Throws ERR_NCLUST_USAGE.
 */
export function readTypes({ type }) {
  if (type === undefined) return () => true;
  const wanted = String(type).split(',').map((one) => one.trim());
  if (wanted.some((one) => !/^[a-z-]+(:[a-z*-]+)?\*?$/.test(one))) throw usage(`--type is "${type}"; accepted: types such as "died,gave-up", or "rollout:*" for all that begin so.`, 'The types are in docs/events.md.');
  return (given) => wanted.some((one) => (one.endsWith('*') ? given.startsWith(one.slice(0, -1)) : one === given));
}

/**
 * @param {string} message
 * @param {string} [hint]
 */
function usage(message, hint = 'See: nclust help events') {
  return new NclustError('ERR_NCLUST_USAGE', message, { hint });
}
