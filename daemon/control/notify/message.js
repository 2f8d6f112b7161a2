import { formatCoarse } from '../../../lib/figures/format.js';
import { cutText, toOneLine } from '../../../lib/render/text.js';
import { describePastTrouble, describeTrouble } from '../../../lib/render/troubles.js';

/** @import { Evidence, Kind, Level } from '../../../lib/shared/troubles.js' */
/** @import { RecordedDeath } from '../state/slot-history.js' */
/** @import { News } from './reconcile.js' */

/**
 * A message as receivers of JSON get it (docs/notify.md). Times are milliseconds since 1970.
 * @typedef {object} Message
 * @property {1} v
 * @property {string} id  The same in each attempt to send it.
 * @property {number} at
 * @property {'began' | 'ended' | 'manager' | 'test'} event
 * @property {string} host
 * @property {string} home
 * @property {string | null} app
 * @property {Kind | null} kind
 * @property {Level | null} level
 * @property {number[]} slots  Empty: the app as a whole.
 * @property {number | null} since
 * @property {number | null} ended
 * @property {number} times
 * @property {number} repeated  The number of earlier messages about its beginning.
 * @property {string} text
 * @property {string | null} next
 * @property {Evidence[Kind] | null} evidence
 * @property {string[]} errorLines
 * @property {string | null} link  To the dashboard.
 * @property {number} [dropped]  Messages before this one that were given up.
 */

/** @typedef {Pick<Message, 'id' | 'at' | 'host' | 'home' | 'link'>} Envelope */

const TEXT_MAX = 2_000;
const LINES_MAX = 10;
const LINE_MAX = 500;
const EVIDENCE_MAX = 8_000;

/** A death is part of a trouble if it was at most this long before its beginning, in ms. */
const DEATH_BEFORE_MS = 60_000;

/**
 * @param {News} news
 * @param {Envelope} envelope
 * @param {{ instances: number, deaths: RecordedDeath[] }} app
 * @returns {Message}
 */
export function makeTroubleMessage({ event, trouble, repeated }, envelope, { instances, deaths }) {
  const { app, kind, level, slots, sinceMs, times, evidence } = trouble;
  const about = { app, kind, level, slots, since: sinceMs, times, repeated };
  if (event === 'ended') {
    const lasted = formatCoarse(Math.max(0, envelope.at - sinceMs));
    const text = toOneLine(`${app} ${describePastTrouble(trouble)}; it is over after ${lasted}`);
    return { ...frame('ended', envelope), ...about, ended: envelope.at, text };
  }
  const { text, next } = describeTrouble(trouble, instances);
  return {
    ...frame('began', envelope),
    ...about,
    text: cutText(toOneLine(`${app} ${text}`), TEXT_MAX),
    next: cutText(toOneLine(next), LINE_MAX),
    evidence: JSON.stringify(evidence).length > EVIDENCE_MAX ? null : evidence,
    errorLines: findErrorLines(deaths, evidence, sinceMs),
  };
}

/**
 * @param {{ atMs: number, text: string, times: number }} death
 * @param {Envelope} envelope
 * @returns {Message}
 */
export function makeManagerMessage({ atMs, text, times }, envelope) {
  const often = times > 1 ? ` (${times} times)` : '';
  return {
    ...frame('manager', envelope),
    level: 'bad',
    since: atMs,
    times,
    text: cutText(toOneLine(`${text}${often}`), TEXT_MAX),
    next: 'nclust events --type "manager:*"; nclust doctor',
  };
}

/**
 * @param {Envelope} envelope
 * @returns {Message}
 */
export function makeTestMessage(envelope) {
  return {
    ...frame('test', envelope),
    text: 'this is a test: nclust can reach this receiver',
    next: 'nclust notify list',
  };
}

/**
 * @param {Message['event']} event
 * @param {Envelope} envelope
 * @returns {Message}
 */
function frame(event, envelope) {
  return {
    ...{ v: 1, ...envelope, event, app: null, kind: null, level: null, slots: [], since: null, ended: null },
    ...{ times: 1, repeated: 0, text: '', next: null, evidence: null, errorLines: [] },
  };
}

/**
 * @param {RecordedDeath[]} deaths  Of the app.
 * @param {unknown} evidence
 * @param {number} sinceMs
 */
function findErrorLines(deaths, evidence, sinceMs) {
  const [last] = deaths
    .filter(({ atMs, lastLines }) => atMs >= sinceMs - DEATH_BEFORE_MS && lastLines.length > 0)
    .sort((a, b) => b.atMs - a.atMs);
  const { line = null } = /** @type {{ line?: string | null }} */ (evidence ?? {});
  const lines = last?.lastLines ?? (line === null ? [] : [line]);
  return lines
    .filter((one) => one.trim() !== '')
    .slice(-LINES_MAX)
    .map((one) => cutText(toOneLine(one), LINE_MAX));
}
