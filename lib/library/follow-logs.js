import { parseMoment, MOMENT_FORMS } from '../config/options/moment.js';
import { readGrep } from '../config/options/log-query.js';
import { streamLogs } from '../client/log-stream.js';
import { NclustError } from '../shared/errors.js';
import { openForReading } from './follow.js';
import { readTargets } from './targets.js';

/** @typedef {import('../shared/wire/protocol.js').LogEntry} LogEntry */

/**
 * Which lines.
 * @typedef {object} LogWishes
 * @property {import('./targets.js').Targets} [targets]  Default: all.
 * @property {boolean} [follow]  Go on with new lines. Default: false.
 * @property {number} [lines]  How many at most of what is kept, of each file. Default: 15; with `since`: all.
 * @property {('out'|'err')[]} [streams]
 * @property {number|string|Date} [since]  Milliseconds since 1970, or how long ago: "2h".
 * @property {number|string|Date} [until]
 * @property {string|RegExp} [grep]
 * @property {import('../shared/logs/level.js').Level} [level]
 * @property {(lines: number) => void} [onMissed]  So many were left out, because this program reads too slowly.
 * @property {() => void} [onGap]  What was written meanwhile is in no file any more.
 */

/**
 * @param {string} home
 * @param {LogWishes} wishes
 * @param {import('./subscription.js').Beginning} o
 * @returns {AsyncGenerator<LogEntry, void, void>}  Ends with what is kept, or with `follow` when the manager does.
 */
export async function* followLogs(home, { targets, follow = false, since, until, grep, onMissed = () => {}, onGap = () => {}, ...same }, o) {
  const { lines, streams, level } = same;
  const wishes = { follow, lines, streams, level, since: readMoment('since', since), until: readMoment('until', until), grep: readPattern(grep) };
  const client = await openForReading(home, o);
  const named = targets === undefined ? {} : { targets: await readTargets(targets, (method, params) => client.request(method, params)) };
  const pages = streamLogs(client, { ...named, ...wishes }, { talk: () => {}, signal: o.signal, onCaughtUp: o.onReady, onMissed, onGap });
  for await (const { entries } of pages) yield* entries;
}

/** @param {string} key @param {number|string|Date|undefined} value */
function readMoment(key, value) {
  if (value === undefined) return undefined;
  const moment = typeof value === 'string' ? parseMoment(value, Date.now()) : Number(value);
  if (moment !== null && Number.isFinite(moment)) return Math.max(0, Math.round(moment));
  throw new NclustError('ERR_NCLUST_USAGE', `${key} is ${JSON.stringify(value)}; accepted: a Date, ${MOMENT_FORMS}.`);
}

/** @param {string|RegExp|undefined} grep */
function readPattern(grep) {
  if (grep instanceof RegExp) return { source: grep.source, flags: grep.flags.replace(/[^imsu]/g, '') };
  return grep === undefined ? undefined : readGrep(grep);
}
