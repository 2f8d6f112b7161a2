// Knows: how `nclust logs` gets existing lines: where to begin, and how to merge lines by time.
// Must not: change a file, or hold up the event loop for long. Start at: sendHistory(), then
// start-positions.js and path-reader.js.
import { yieldToEventLoop } from '../../../../lib/shared/yield.js';
import { goesOn } from '../followers.js';
import { MADE_AT } from './contents.js';
import { mergeLines, mergeLinesNow } from './merge.js';
import { createReaderTable } from './start-positions.js';

/** @import { LogEntry } from '../../../../lib/shared/wire/protocol.js' */
/** @import { Position } from '../write/open-file.js' */
/** @import { Cursor, HistorySource } from './contents.js' */
/** @import { LineQuery } from './last-lines.js' */
/** @import { ReadLine } from './line-queue.js' */
/** @import { KeptFile, PathReader } from './path-reader.js' */

/**
 * If at most this many bytes are left, control reads them at once, so that it can switch to live
 * lines in the same turn of the event loop.
 */
const LAST_BYTES = 256 * 1024;

/** After this many new bytes, later lines are only counted, so that a slow client catches up. */
const NEW_MAX_BYTES = 16 * 1024 * 1024;

/**
 * @typedef {object} Query
 * @property {number | null} lines  Limit for each file, or with `isWanted` for all files
 *   together. Null: all lines.
 * @property {number} sinceMs
 * @property {number} untilMs
 * @property {LineQuery['isWanted']} isWanted  Null: every line.
 * @property {Cursor | null} cursor  Where to continue. If set, `lines` is ignored.
 */

/**
 * @typedef {object} HistoryParts
 * @property {() => KeptFile[]} files  The current files. Apps may change during the read.
 * @property {Query} query
 * @property {HistorySource} source
 * @property {() => Map<string, Position>} heldFrom  By path: live lines have the bytes from here on.
 * @property {number} nowMs
 * @property {(page: Page) => Promise<void>} send
 *   Resolves when the page is sent, or the client has disconnected. Pages are never dropped.
 * @property {(page: Page) => void} sendNow  Like send(), but does not wait.
 * @property {(() => void) | null} attach
 *   Called in the turn that finds nothing left to read. Null: the client does not follow.
 * @property {AbortSignal} signal
 */

/**
 * Sends existing lines in the order of time, including lines that are written during the read. Live
 * lines take over in the turn that finds nothing left to read (followers.js), so that no line is
 * missing or sent twice.
 * @param {HistoryParts} parts
 * @returns {Promise<{ cursor: Cursor, isGap: boolean }>}
 *   `cursor`: where the client can continue. `isGap`: whether a page had a gap.
 */
export async function sendHistory(parts) {
  const { files, query, signal, send, sendNow, attach } = parts;
  const table = createReaderTable(parts);
  try {
    await table.begin(files());
    const begin = { [MADE_AT]: { startedAtMs: parts.nowMs, offset: 0 } };
    const pages = createPages({ query, readers: table.all, cursor: { ...begin, ...getCursor(table.all()) } });
    const sendPage = async () => (pages.isEmpty() ? undefined : send(pages.finish()));
    let newBytes = 0;
    for (let round = 0; !signal.aborted; round++) {
      await table.addNew(files());
      if (signal.aborted) break;
      const leftBytes = table.setLimits();
      if (attach && round > 0 && leftBytes <= LAST_BYTES) {
        const isDone = mergeLinesNow(table.all(), (reader, line) => void pages.add(reader, line));
        if (!pages.isEmpty()) sendNow(pages.finish());
        if (isDone && table.all().every((reader) => reader.isExhausted)) {
          attach();
          break;
        }
      }
      const isLate = newBytes > NEW_MAX_BYTES;
      await mergeLines(
        table.all(),
        (reader, read) => {
          if (round > 0) newBytes += read.line.length;
          return pages.add(reader, read, isLate) ? sendPage() : null;
        },
        signal,
      );
      if (!isLate) await sendPage();
      if (!attach) break;
      await yieldToEventLoop();
    }
    return { cursor: { ...begin, ...getCursor(table.all()) }, isGap: pages.hasGap() };
  } finally {
    for (const reader of table.all()) reader.closeFile();
  }
}

/** Approximate size of a notification. */
const PAGE_BYTES = 256 * 1024;

/** Estimated size of the fields around a line. */
const ENTRY_BYTES = 120;

/**
 * @typedef {object} Page  The contents of a notification. `missed`: number of dropped lines before
 *   `entries`. `missedOf`: this number for each app. `gapOf`: names of the apps with a gap.
 * @property {LogEntry[]} entries
 * @property {Cursor} [cursor]
 * @property {true} [gap]
 * @property {string[]} [gapOf]
 * @property {number} [missed]
 * @property {Record<string, number>} [missedOf]
 */

/**
 * @param {object} o
 * @param {Pick<Query, 'sinceMs' | 'untilMs' | 'isWanted'>} o.query
 * @param {() => PathReader[]} o.readers
 * @param {Cursor} o.cursor  The first page contains the cursor, so that a client knows every path.
 */
function createPages({ query, readers, cursor }) {
  /** @type {LogEntry[]} */
  let entries = [];
  let bytes = 0;
  let unsentCursor = cursor;
  /** @type {Set<PathReader>} */
  const touched = new Set();
  let hasGap = false;
  /** @type {Map<string, number>} */
  const missedOf = new Map();

  /**
   * @param {PathReader} reader
   * @param {ReadLine} read
   */
  function isWanted(reader, { line, part, sortMs }) {
    if (sortMs > query.untilMs) reader.stop();
    return (
      sortMs >= query.sinceMs &&
      sortMs <= query.untilMs &&
      (query.isWanted === null || query.isWanted(line, part, reader.file))
    );
  }

  return {
    /**
     * @param {PathReader} reader
     * @param {ReadLine} read
     * @param {boolean} [isMissed]  The line is only counted.
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
      entries.push({ id, name, stream, line: read.line, atMs: read.atMs, ...goesOn(read.part) });
      bytes += read.line.length + ENTRY_BYTES;
      return bytes >= PAGE_BYTES;
    },
    isEmpty: () => entries.length === 0 && missedOf.size === 0 && !readers().some((reader) => reader.isGap),
    hasGap: () => hasGap,
    /**
     * Returns the page and begins the next one.
     * @returns {Page}
     */
    finish() {
      const gapOf = [...new Set(readers().flatMap(({ isGap, file }) => (isGap ? file.name : [])))];
      hasGap ||= gapOf.length > 0;
      for (const reader of readers()) reader.isGap = false;
      const page = {
        entries,
        cursor: { ...unsentCursor, ...getCursor(touched) },
        ...(gapOf.length > 0 ? { gap: /** @type {const} */ (true), gapOf } : {}),
        ...countMissed(missedOf),
      };
      entries = [];
      bytes = 0;
      unsentCursor = {};
      touched.clear();
      missedOf.clear();
      return page;
    },
  };
}

/** @param {Map<string, number>} missedOf */
function countMissed(missedOf) {
  if (missedOf.size === 0) return {};
  return {
    missed: [...missedOf.values()].reduce((sum, count) => sum + count, 0),
    missedOf: Object.fromEntries(missedOf),
  };
}

/**
 * @param {Iterable<PathReader>} readers
 * @returns {Cursor}
 */
function getCursor(readers) {
  return Object.fromEntries([...readers].map(({ file, lines }) => [file.path, lines.readTo]));
}
