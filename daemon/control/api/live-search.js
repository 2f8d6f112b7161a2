/** @import { Part } from '../../../lib/shared/daemon/lines.js' */
/** @import { LogEntry } from '../../../lib/shared/wire/protocol.js' */
/** @import { Client } from '../context.js' */
/** @import { Follower } from '../logs/followers.js' */
/** @import { Query } from '../logs/history/history.js' */

const SPAN_MS = 1_000;

/** How long the searches of all followers together may take in SPAN_MS. */
const ALL_MS = 200;

/** A follower may always search for this long, because another follower may use up ALL_MS. */
const OWN_MS = 5;

/**
 * Search time of all followers in the present span.
 * @typedef {{ fromMono: number, ms: number }} SearchTime
 */

/** @type {SearchTime} */
const all = { fromMono: 0, ms: 0 };

/**
 * Apps write lines at any rate, and a pattern may need 3 ms for each line. So if the searches take
 * too long, this counts the other lines of the second as missed.
 * @param {Client} client
 * @param {string} subscription
 * @param {{ query: Pick<Query, 'isWanted' | 'untilMs'>, wants: Follower['wants'] }} o
 * @param {() => number} [readMono]
 * @returns {Follower}
 */
export function followerFor(
  client,
  subscription,
  { query: { isWanted, untilMs }, wants },
  readMono = () => performance.now(),
) {
  /** @type {SearchTime} */
  const own = { fromMono: 0, ms: 0 };

  /**
   * @param {LogEntry[]} entries
   * @param {(Part | null)[]} parts
   */
  function search(entries, parts) {
    const passed = [];
    const missed = [];
    let nowMono = readMono();
    for (const span of [all, own])
      if (nowMono - span.fromMono > SPAN_MS) Object.assign(span, { fromMono: nowMono, ms: 0 });
    for (const [at, entry] of entries.entries()) {
      if ((entry.atMs ?? 0) > untilMs) continue;
      if (all.ms > ALL_MS && own.ms > OWN_MS) {
        missed.push(entry);
        continue;
      }
      if (isWanted === null || isWanted(entry.line, parts[at], entry)) passed.push(entry);
      const endMono = readMono();
      for (const span of [all, own]) span.ms += endMono - nowMono;
      nowMono = endMono;
    }
    return { passed, missed };
  }

  return {
    wants,
    take(entries, mark, parts) {
      const isAll = isWanted === null && untilMs === Infinity;
      const { passed, missed } = isAll ? { passed: entries, missed: [] } : search(entries, parts);
      if (passed.length + missed.length === 0) return;
      const cursor = mark ? { [mark.path]: { startedAtMs: mark.startedAtMs, offset: mark.offset } } : undefined;
      client.notifyLog(subscription, passed, cursor, missed);
    },
  };
}
