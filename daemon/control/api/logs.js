import { join } from 'node:path';
import { createLogFilter, LEVELS } from '../../../lib/shared/logs/filter.js';
import { sendHistory } from '../logs/history/history.js';
import { hasOnlyCombined } from '../logs/stream.js';
import { matcher, select } from '../state/selectors.js';
import { followerFor } from './live-search.js';
import { listLogPlaces } from './log-files.js';
import {
  anyText,
  optional,
  reader,
  readParams,
  readSome,
  record,
  recordOf,
  subscriptionName,
  text,
  texts,
  toggle,
  wholeUpTo,
  withDefault,
} from './params.js';

/** @import { LogStream } from '../../../lib/shared/wire/protocol.js' */
/** @import { ApiContext } from '../context.js' */
/** @import { Cursor } from '../logs/history/contents.js' */
/** @import { HistoryParts, Query } from '../logs/history/history.js' */
/** @import { KeptFile } from '../logs/history/path-reader.js' */
/** @import { MethodBody } from './methods.js' */
/** @import { Reader } from './params.js' */

/** @typedef {{ id: number, name: string }} Slot */

const STREAMS_ALL = 2;

let lastSubscription = 0;

/** @satisfies {Record<string, MethodBody>} */
export const followLogs = {
  /** @type {MethodBody} */
  async logs(context, params, client) {
    const { targets, streams, isFollowing, query, ...given } = readLogQuery(params);
    const subscription = given.subscription ?? String(++lastSubscription);
    // select() throws if a target does not exist now. If apps come or go later, this is not an
    // error.
    if (targets) select(context.control.registry.desired, targets);
    const isMeant = matcher(targets ?? []);
    /** @type {Map<string, KeptFile['user']>} */
    const users = new Map();
    const files = () => {
      const all = writtenFiles(context, isMeant, streams);
      for (const { path, user } of all) users.set(path, user);
      return all;
    };
    const unkept = query.cursor === null ? [] : files().filter(({ path }) => path === '');
    const lostOf = [...new Set(unkept.map(({ name }) => name))];
    const stop = new AbortController();
    let stopFollowing = () => stop.abort();
    const end = () => stopFollowing();
    client.subscriptions.get(subscription)?.();
    client.subscriptions.set(subscription, end);
    /** @type {HistoryParts['attach']} */
    const attach = () => {
      const wants = (/** @type {Slot} */ slot, /** @type {LogStream} */ stream) =>
        streams.includes(stream) && isMeant(context.control.registry.desired, slot);
      stopFollowing = context.parts.logs.follow(followerFor(client, subscription, { query, wants }));
      isAttached = true;
    };
    let isAttached = false;
    const sent = await sendHistory({
      query,
      files: () => uniqueFiles(files()),
      source: {
        timesFolder: join(context.paths.logs, '.times'),
        positionOf: context.parts.logs.positionOf,
        userOf: (path) => users.get(path) ?? null,
      },
      heldFrom: context.parts.logs.heldFrom,
      nowMs: context.parts.clock.nowMs(),
      send: (page) => client.sendLogPaced(subscription, page),
      sendNow: (page) => client.sendLogNow(subscription, page),
      signal: stop.signal,
      attach: isFollowing ? attach : null,
    }).finally(() => {
      if (!isAttached && client.subscriptions.get(subscription) === end) client.subscriptions.delete(subscription);
    });
    return {
      subscription,
      cursor: sent.cursor,
      ...(sent.isGap || lostOf.length > 0 ? { gap: true, gapOf: lostOf } : {}),
    };
  },

  /** @type {MethodBody} */
  unsubscribe(_context, params, client) {
    const { subscription } = readParams({ subscription: subscriptionName }, params);
    client.subscriptions.get(subscription)?.();
    client.subscriptions.delete(subscription);
    return {};
  },
};

/**
 * @param {ApiContext} context
 * @param {ReturnType<typeof matcher>} isMeant
 * @param {LogStream[]} streams
 * @returns {KeptFile[]}  `path` is empty if no file has the lines of this stream: see pathOf().
 */
function writtenFiles(context, isMeant, streams) {
  const { ofSlots, ofProcesses } = listLogPlaces(context);
  return [...ofSlots, ...ofProcesses]
    .filter((place) => isMeant(context.control.registry.desired, place))
    .flatMap(({ id, name, user, ...place }) =>
      streams.map((stream) => ({ id, name, user, stream, path: getPath(place, stream, streams) })),
    );
}

/**
 * @param {{ outFile: string, errorFile: string, logFile: string }} place
 * @param {LogStream} stream
 * @param {LogStream[]} streams
 * @returns {string}  Empty if the app keeps no file for the stream. Also empty if the client wants
 *   one stream of a combined file, because its lines do not name their stream.
 */
function getPath(place, stream, streams) {
  if (hasOnlyCombined(place)) return streams.length === STREAMS_ALL ? place.logFile : '';
  return stream === 'out' ? place.outFile : place.errorFile;
}

/** @param {KeptFile[]} files */
function uniqueFiles(files) {
  /** @type {Map<string, KeptFile>} */
  const byPath = new Map();
  for (const file of files) if (file.path !== '' && !byPath.has(file.path)) byPath.set(file.path, file);
  return [...byPath.values()];
}

const STREAMS = /** @type {const} */ (['out', 'err']);
const LINES_MAX = 100_000;
const LINES = 15;

const anyNumber = wholeUpTo(Number.MAX_SAFE_INTEGER);

/** @type {Reader<{ source: string, flags: string }>} */
const grep = (value, path) =>
  readParams({ source: text, flags: withDefault(anyText, '') }, record(value, path), `${path}.`);

/** @type {Reader<typeof LEVELS[number]>} */
const level = reader((value) => LEVELS.includes(value), `one of ${LEVELS.join(', ')}`);

// `startedAtMs` is negative for a segment without times.
const POSITION = { startedAtMs: reader(Number.isSafeInteger, 'a whole number'), offset: anyNumber };

/** @type {Reader<Cursor>} */
const cursor = recordOf((value, path) => readParams(POSITION, record(value, path), `${path}.`));

/**
 * @typedef {object} LogQuery
 * @property {string[] | null} targets
 * @property {('out' | 'err')[]} streams
 * @property {boolean} isFollowing
 * @property {string | null} subscription
 * @property {Query} query
 */

/**
 * @param {Record<string, unknown>} params
 * @returns {LogQuery}  Throws BadParams, and ERR_NCLUST_USAGE for an unsuitable pattern.
 */
function readLogQuery(params) {
  const given = readParams(
    {
      targets: optional(texts),
      lines: optional(wholeUpTo(LINES_MAX)),
      streams: withDefault(readSome(STREAMS), [...STREAMS]),
      follow: toggle,
      since: optional(anyNumber),
      until: optional(anyNumber),
      grep: optional(grep),
      level: optional(level),
      cursor: optional(cursor),
      subscription: optional(subscriptionName),
    },
    params,
  );
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
      isWanted: isFiltered ? createLogFilter({ ...given, isResumed: given.cursor !== undefined }) : null,
      cursor: given.cursor ?? null,
    },
  };
}
