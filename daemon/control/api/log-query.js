import { createPartFilter, LEVELS } from '../../../lib/shared/logs/filter.js';
import { BadParams, flag, optional, readParams, record, someOf, text, texts, wholeUpTo, withDefault } from './params.js';

/** @import { Cursor } from '../logs/history/mark.js' */
/** @import { Query } from '../logs/history/history.js' */
/** @import { Reader } from './params.js' */

const STREAMS = /** @type {const} */ (['out', 'err']);
const LINES_MAX = 100_000;
const LINES = 15;

/** It comes back with every notification. */
const SUBSCRIPTION_MAX_CHARS = 200;

const anyNumber = wholeUpTo(Number.MAX_SAFE_INTEGER);

/** A text of the client's choice; a number is one too. @type {Reader<string>} */
export const subscriptionName = (value, path) => {
  const name = typeof value === 'number' ? String(value) : text(value, path);
  if (name.length <= SUBSCRIPTION_MAX_CHARS) return name;
  throw new BadParams(path, `a text of at most ${SUBSCRIPTION_MAX_CHARS} characters`);
};

/** @type {Reader<{source: string, flags: string}>} */
const grep = (value, path) => {
  const { source, flags = '' } = record(value, path);
  if (typeof flags !== 'string') throw new BadParams(`${path}.flags`, 'a text');
  return { source: text(source, `${path}.source`), flags };
};

/** @type {Reader<typeof LEVELS[number]>} */
const level = (value, path) => {
  const known = LEVELS.find((one) => one === value);
  if (known) return known;
  throw new BadParams(path, `one of ${LEVELS.join(', ')}`);
};

/** @type {Reader<Cursor>} */
const cursor = (value, path) => {
  const given = Object.entries(record(value, path));
  return Object.fromEntries(given.map(([key, item]) => {
    const { startedAtMs, offset } = record(item, `${path}.${key}`);
    // A segment without times has a negative number.
    if (!Number.isSafeInteger(startedAtMs)) throw new BadParams(`${path}.${key}.startedAtMs`, 'a whole number');
    return [key, { startedAtMs: /** @type {number} */ (startedAtMs), offset: anyNumber(offset, `${path}.${key}.offset`) }];
  }));
};

/**
 * What a client wants to see of the logs.
 * @param {Record<string, unknown>} params
 * @returns {{targets: string[]|null, streams: ('out'|'err')[], isFollowing: boolean, subscription: string|null, query: Query}}  Throws BadParams, and ERR_NCLUST_USAGE for a pattern that cannot be used.
 */
export function readLogQuery(params) {
  const given = readParams({
    targets: optional(texts),
    lines: optional(wholeUpTo(LINES_MAX)),
    streams: withDefault(someOf(STREAMS), [...STREAMS]),
    follow: withDefault(flag, false),
    since: optional(anyNumber),
    until: optional(anyNumber),
    grep: optional(grep),
    level: optional(level),
    cursor: optional(cursor),
    subscription: optional(subscriptionName),
  }, params);
  const isFiltered = given.grep !== undefined || given.level !== undefined;
  return {
    targets: given.targets ?? null,
    streams: given.streams,
    isFollowing: given.follow,
    subscription: given.subscription ?? null,
    query: {
      lines: given.lines ?? (given.since === undefined ? LINES : null),
      sinceMs: given.since ?? 0,
      untilMs: given.until ?? Infinity,
      isWanted: isFiltered ? createPartFilter({ grep: given.grep, level: given.level }) : null,
      cursor: given.cursor ?? null,
    },
  };
}
