import { MOMENT_FORMS, parseMoment } from '../config/options/moment.js';
import { EVENT_TYPES } from '../render/event-text.js';
import { nearWords } from '../shared/did-you-mean.js';
import { NclustError } from '../shared/errors.js';

const LINES_MAX = 100_000;

const THEY_ARE = 'The types are in docs/events.md.';

/**
 * @param {Record<string, any>} options
 * @param {number} nowMs
 * @param {string} [command]  Whose help to read when it is wrong.
 * @returns {number}  0: since ever. Throws ERR_NCLUST_USAGE.
 */
export function readSince({ since }, nowMs, command = 'events') {
  if (since === undefined) return 0;
  const moment = parseMoment(since, nowMs);
  if (moment === null) throw usage(`--since is "${since}"; accepted: ${MOMENT_FORMS}.`, helpOf(command));
  if (moment > nowMs) throw usage(`--since is "${since}", which is in the future.`, helpOf(command));
  return moment;
}

/**
 * @param {Record<string, any>} options
 * @param {number} otherwise
 * @param {string} [command]  Whose help to read when it is wrong.
 * @returns {number}  Throws ERR_NCLUST_USAGE.
 */
export function readCount({ lines, since }, otherwise, command = 'events') {
  if (lines === undefined) return since === undefined ? otherwise : Infinity;
  if (/^\d{1,6}$/.test(lines) && Number(lines) <= LINES_MAX) return Number(lines);
  throw usage(`--lines is "${lines}"; accepted: a whole number from 0 to ${LINES_MAX}.`, helpOf(command));
}

/**
 * @param {Record<string, any>} options
 * @returns {(type: string) => boolean}  Throws ERR_NCLUST_USAGE.
 */
export function readTypes({ type }) {
  if (type === undefined) return () => true;
  const wanted = String(type).split(',').map((one) => one.trim());
  if (wanted.some((one) => !/^[a-z-]+(:[a-z*-]+)?\*?$/.test(one))) throw usage(`--type is "${type}"; accepted: types such as "died,gave-up", or "rollout:*" for all that begin so.`, THEY_ARE);
  const unknown = wanted.find((one) => !one.endsWith('*') && !EVENT_TYPES.includes(one));
  if (unknown !== undefined) throw usage(`There is no event of the type "${unknown}".`, [...meantBy(unknown), THEY_ARE].join(' '));
  return (given) => wanted.some((one) => (one.endsWith('*') ? given.startsWith(one.slice(0, -1)) : one === given));
}

/** What may have been meant. @param {string} type @returns {string[]}  A question, or nothing. */
function meantBy(type) {
  const near = EVENT_TYPES.some((one) => one.startsWith(`${type}:`)) ? [`${type}:*`] : nearWords(type, EVENT_TYPES).slice(0, 3);
  return near.length > 0 ? [`Did you mean ${near.map((one) => `"${one}"`).join(' or ')}?`] : [];
}

/** @param {string} command */
function helpOf(command) {
  return `See: nclust help ${command}`;
}

/** @param {string} message @param {string} hint */
function usage(message, hint) {
  return new NclustError('ERR_NCLUST_USAGE', message, { hint });
}
