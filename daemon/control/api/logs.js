import { join } from 'node:path';
import { tellHistory } from '../logs/history/history.js';
import { hasOnlyCombined } from '../logs/stream.js';
import { logFiles } from '../spawn/params.js';
import { matcher, select } from '../state/selectors.js';
import { readLogQuery, subscriptionName } from './log-query.js';
import { readParams } from './params.js';

/** @import { Part } from '../../../lib/shared/logs/filter.js' */
/** @import { LogEntry, LogStream } from '../../../lib/shared/wire/protocol.js' */
/** @import { Follower } from '../logs/followers.js' */
/** @import { HistoryParts, Query } from '../logs/history/history.js' */
/** @import { KeptFile } from '../logs/history/path-reader.js' */
/** @import { Client } from './connection.js' */
/** @import { Desk, MethodBody } from './methods.js' */

/** @typedef {{id: number, name: string}} Slot */

const STREAMS_ALL = 2;

let lastSubscription = 0;

/** What apps have written and write. @satisfies {Record<string, MethodBody>} */
export const followLogs = {
  /** @type {MethodBody} */
  async logs(desk, params, client) {
    const { targets, streams, isFollowing, query, ...given } = readLogQuery(params);
    const subscription = given.subscription ?? String(++lastSubscription);
    // Says it when there is no such app; later ones may come and go.
    if (targets) select(desk.control.world.desired, targets);
    const isMeant = matcher(targets ?? []);
    const files = () => writtenFiles(desk, isMeant, streams);
    const lostOf = query.cursor === null ? [] : [...new Set(files().filter(({ path }) => path === '').map(({ name }) => name))];
    const stop = new AbortController();
    let stopFollowing = () => stop.abort();
    const end = () => stopFollowing();
    client.subscriptions.get(subscription)?.();
    client.subscriptions.set(subscription, end);
    /** @type {HistoryParts['attach']} */
    const attach = (tails) => {
      const wants = (/** @type {Slot} */ slot, /** @type {LogStream} */ stream) => streams.includes(stream) && isMeant(desk.control.world.desired, slot);
      stopFollowing = desk.parts.logs.follow(followerFor(client, subscription, { query, wants }), tails);
      isAttached = true;
    };
    let isAttached = false;
    const told = await tellHistory({
      query,
      files: () => uniqueFiles(files()),
      shelf: { timesFolder: join(desk.paths.logs, '.times'), positionOf: desk.parts.logs.positionOf },
      heldPaths: () => heldPaths(desk),
      nowMs: desk.parts.clock.nowMs(),
      send: (page) => client.tellLog(subscription, page),
      sendNow: (page) => client.sendLog(subscription, page),
      signal: stop.signal,
      attach: isFollowing ? attach : null,
    }).finally(() => {
      if (!isAttached && client.subscriptions.get(subscription) === end) client.subscriptions.delete(subscription);
    });
    return { subscription, cursor: told.cursor, ...(told.isGap || lostOf.length > 0 ? { gap: true, gapOf: lostOf } : {}) };
  },

  /** @type {MethodBody} */
  unsubscribe(_desk, params, client) {
    const { subscription } = readParams({ subscription: subscriptionName }, params);
    client.subscriptions.get(subscription)?.();
    client.subscriptions.delete(subscription);
    return {};
  },
};

/**
 * @param {Client} client
 * @param {string} subscription
 * @param {object} o
 * @param {Query} o.query
 * @param {Follower['wants']} o.wants
 * @returns {Follower}
 */
function followerFor(client, subscription, { query: { isWanted, untilMs }, wants }) {
  const passes = (/** @type {LogEntry} */ { line, atMs }, /** @type {Part|null} */ part) => (atMs ?? 0) <= untilMs && (isWanted === null || isWanted(line, part));
  return {
    wants,
    take(entries, mark, parts) {
      const passed = isWanted === null && untilMs === Infinity ? entries : entries.filter((entry, at) => passes(entry, parts[at]));
      if (passed.length === 0) return;
      client.notifyLog(subscription, passed, mark ? { [mark.path]: { startedAtMs: mark.startedAtMs, offset: mark.offset } } : undefined);
    },
  };
}

/**
 * The files of slots as they are wanted now, and those that processes of an earlier spec still write to.
 * @param {Desk} desk
 * @param {ReturnType<typeof matcher>} isMeant
 * @param {LogStream[]} streams
 * @returns {KeptFile[]}  With an empty path where nothing is kept.
 */
function writtenFiles({ control, paths }, isMeant, streams) {
  const { desired, instances } = control.world;
  const slots = desired.apps.flatMap(({ spec, slots: wishes }) => wishes.map(({ id }) => ({ id, name: spec.name, ...logFiles(spec, id, paths.logs) })));
  const labels = [...instances.values()].map(({ label: { id, name, outFile, errorFile, logFile = '' } }) => ({ id, name, outFile, errorFile, logFile }));
  return [...slots, ...labels]
    .filter((slot) => isMeant(desired, slot))
    .flatMap(({ id, name, ...place }) => streams.map((stream) => ({ id, name, stream, path: pathOf(place, stream, streams) })));
}

/**
 * @param {{outFile: string, errorFile: string, logFile: string}} place
 * @param {LogStream} stream
 * @param {LogStream[]} streams
 * @returns {string}  Where nothing but the file of both streams is kept, that: but not for one of them alone, because nobody knows which line is whose.
 */
function pathOf(place, stream, streams) {
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

/** @param {Desk} desk */
function heldPaths({ control }) {
  return new Set([...control.world.instances.values()].flatMap(({ label }) => [label.outFile, label.errorFile]));
}
