import { lastLinesOf } from '../logs/history.js';
import { matcher, select } from '../selectors.js';
import { logFiles } from '../spawn-params.js';
import { flag, optional, readParams, someOf, texts, wholeUpTo, withDefault } from './params.js';

/** @import { LogEntry, LogStream } from '../../../lib/shared/protocol.js' */
/** @import { Desk, MethodBody } from './methods.js' */

const STREAMS = /** @type {const} */ (['out', 'err']);
const LINES_MAX = 100_000;

/** More would not fit into one line of the protocol. */
const HISTORY_MAX_BYTES = 8 * 1024 * 1024;

let lastSubscription = 0;

/** What apps have written and write. @satisfies {Record<string, MethodBody>} */
export const followLogs = {
  /** @type {MethodBody} */
  logs(desk, params, client) {
    const given = readParams({ targets: optional(texts), lines: withDefault(wholeUpTo(LINES_MAX), 15), streams: withDefault(someOf(STREAMS), [...STREAMS]), follow: withDefault(flag, false) }, params);
    const entries = history(desk, given.targets ?? null, given.streams, given.lines);
    if (!given.follow) return { entries };
    const subscription = ++lastSubscription;
    const isMeant = matcher(given.targets ?? []);
    // In the same turn of the loop as the history was read: files are written to synchronously, so no line is missed or told twice.
    const end = desk.parts.logs.follow({
      wants: (slot, stream) => given.streams.includes(stream) && isMeant(desk.control.world.desired, slot),
      take: (lines) => client.notifyLog(subscription, lines),
    });
    client.subscriptions.set(subscription, end);
    return { subscription, entries };
  },

  /** @type {MethodBody} */
  unsubscribe(_desk, params, client) {
    const { subscription } = readParams({ subscription: wholeUpTo(Number.MAX_SAFE_INTEGER) }, params);
    client.subscriptions.get(subscription)?.();
    client.subscriptions.delete(subscription);
    return {};
  },
};

/**
 * The last lines of each file, files that several slots share once.
 * @param {Desk} desk
 * @param {string[]|null} targets  Null: all, even when there is none.
 * @param {LogStream[]} streams
 * @param {number} lines
 * @returns {LogEntry[]}
 */
function history({ control, paths }, targets, streams, lines) {
  const { desired } = control.world;
  const slots = targets ? select(desired, targets) : desired.apps.flatMap((app) => app.slots.map((wish) => ({ app, wish })));
  /** @type {LogEntry[]} */
  const entries = [];
  const seen = new Set();
  let leftBytes = HISTORY_MAX_BYTES;
  for (const { app, wish } of slots) {
    const files = logFiles(app.spec, wish.id, paths.logs);
    for (const stream of streams) {
      const file = stream === 'out' ? files.outFile : files.errorFile;
      if (seen.has(file)) continue;
      seen.add(file);
      const kept = fitting(lastLinesOf(file, lines), leftBytes);
      leftBytes -= kept.bytes;
      for (const line of kept.lines) entries.push({ id: wish.id, name: app.spec.name, stream, line, atMs: null });
    }
  }
  return entries;
}

/**
 * The newest lines that have room.
 * @param {string[]} lines
 * @param {number} maxBytes
 */
function fitting(lines, maxBytes) {
  let bytes = 0;
  let from = lines.length;
  // 200 for the fields around a line; control characters grow when they are escaped, six times at most, and are rare.
  while (from > 0 && bytes + Buffer.byteLength(lines[from - 1]) + 200 <= maxBytes) bytes += Buffer.byteLength(lines[--from]) + 200;
  return { lines: lines.slice(from), bytes };
}
