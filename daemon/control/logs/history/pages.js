/** @import { LogEntry } from '../../../../lib/shared/wire/protocol.js' */
/** @import { Query } from './history.js' */
/** @import { Cursor } from './mark.js' */
/** @import { PathReader, ReadLine } from './path-reader.js' */

/** What is sent in one notification, about. */
const PAGE_BYTES = 256 * 1024;

/** The fields around a line. */
const ENTRY_BYTES = 120;

/** What a notification says, beside whose it is. `missed`: lines that were left out before these; `missedOf` and `gapOf`: by app. @typedef {{entries: LogEntry[], cursor?: Cursor, gap?: true, gapOf?: string[], missed?: number, missedOf?: Record<string, number>}} Page */

/**
 * Gathers lines that have been read into pages.
 * @param {object} o
 * @param {Pick<Query, 'sinceMs'|'untilMs'|'isWanted'>} o.query
 * @param {() => PathReader[]} o.readers
 * @param {Cursor} o.cursor  Where reading begins: the first page tells it, so that a client knows of every path.
 */
export function createPages({ query, readers, cursor }) {
  /** @type {LogEntry[]} */
  let entries = [];
  let bytes = 0;
  /** @type {Cursor} */
  let news = cursor;
  /** @type {Set<PathReader>} */
  const touched = new Set();
  let hasGap = false;
  /** @type {Map<string, number>} */
  const missedOf = new Map();

  /** @param {PathReader} reader @param {ReadLine} read */
  function isWanted(reader, { line, part, sortMs }) {
    if (sortMs > query.untilMs) reader.stop();
    return sortMs >= query.sinceMs && sortMs <= query.untilMs && (query.isWanted === null || query.isWanted(line, part));
  }

  return {
    /**
     * @param {PathReader} reader
     * @param {ReadLine} read
     * @param {boolean} [isMissed]  It is only counted.
     * @returns {boolean}  Whether the page is full.
     */
    add(reader, read, isMissed = false) {
      touched.add(reader);
      if (!isWanted(reader, read)) return false;
      if (isMissed) {
        missedOf.set(reader.file.name, (missedOf.get(reader.file.name) ?? 0) + 1);
        return false;
      }
      const { id, name, stream } = reader.file;
      entries.push({ id, name, stream, line: read.line, atMs: read.atMs });
      bytes += read.line.length + ENTRY_BYTES;
      return bytes >= PAGE_BYTES;
    },
    isEmpty: () => entries.length === 0 && missedOf.size === 0 && !readers().some((reader) => reader.isGap),
    /** Whether a page had one. */
    hasGap: () => hasGap,
    /** @returns {Page} */
    turn() {
      const gapOf = [...new Set(readers().filter((reader) => reader.isGap).map(({ file }) => file.name))];
      hasGap ||= gapOf.length > 0;
      for (const reader of readers()) reader.isGap = false;
      const page = { entries, cursor: { ...news, ...cursorOf(touched) }, ...(gapOf.length > 0 ? { gap: /** @type {const} */ (true), gapOf } : {}), ...missedIn(missedOf) };
      entries = [];
      bytes = 0;
      news = {};
      touched.clear();
      missedOf.clear();
      return page;
    },
  };
}

/** @param {Map<string, number>} missedOf */
function missedIn(missedOf) {
  if (missedOf.size === 0) return {};
  return { missed: [...missedOf.values()].reduce((sum, count) => sum + count, 0), missedOf: Object.fromEntries(missedOf) };
}

/**
 * @param {Iterable<PathReader>} readers
 * @returns {Cursor}
 */
export function cursorOf(readers) {
  return Object.fromEntries([...readers].map(({ file, done }) => [file.path, done]));
}
