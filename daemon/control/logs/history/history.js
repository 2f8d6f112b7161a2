import { MADE_AT } from './mark.js';
import { breathe, mergeLines, mergeLinesNow } from './merge.js';
import { createPages, cursorOf } from './pages.js';
import { createReaderTable } from './reader-table.js';

/** @import { Shelf } from './contents.js' */
/** @import { Tail } from '../followers.js' */
/** @import { Cursor } from './mark.js' */
/** @import { Page } from './pages.js' */
/** @import { KeptFile } from './path-reader.js' */

/** What is left is read in one turn when it is no more than this: then nothing is written meanwhile. */
const LAST_BYTES = 256 * 1024;

/** Whoever reads more slowly than apps write never comes to the end: after so much of what was written meanwhile, lines are only counted. */
const MEANWHILE_MAX_BYTES = 16 * 1024 * 1024;

/**
 * What somebody wants to see.
 * @typedef {object} Query
 * @property {number|null} lines  Of each file, or with `isWanted` of all together. Null: all.
 * @property {number} sinceMs
 * @property {number} untilMs
 * @property {import('./last-lines.js').Wanted['isWanted']} isWanted  Null: every line.
 * @property {Cursor|null} cursor  Go on there; `lines` does not count then.
 */

/**
 * @typedef {object} HistoryParts
 * @property {() => KeptFile[]} files  As they are now: apps come and go.
 * @property {Query} query
 * @property {Shelf} shelf
 * @property {() => Set<string>} heldPaths  Where somebody writes now: the rest of a line may come.
 * @property {number} nowMs
 * @property {(page: Page) => Promise<void>} send  Resolves when it is on its way, or nobody there any more: what is kept is never left out.
 * @property {(page: Page) => void} sendNow  Without waiting.
 * @property {((tails: Tail[]) => void)|null} attach  Null: nobody follows. Called in the turn in which everything has been read.
 * @property {AbortSignal} signal
 */

/**
 * Tells what log files hold, in the order of time. What is written meanwhile is read as well, and when nothing is left, live lines take over in the same turn: none is told twice, and none is left out.
 * @param {HistoryParts} parts
 * @returns {Promise<{cursor: Cursor, isGap: boolean}>}  How far it has told.
 */
export async function tellHistory(parts) {
  const { files, query, signal, send, sendNow, attach } = parts;
  const table = createReaderTable(parts);
  try {
    await table.begin(files());
    const begin = { [MADE_AT]: { startedAtMs: parts.nowMs, offset: 0 } };
    const pages = createPages({ query, readers: table.all, cursor: { ...begin, ...cursorOf(table.all()) } });
    const tellPage = async () => (pages.isEmpty() ? undefined : send(pages.turn()));
    let meanwhileBytes = 0;
    for (let round = 0; !signal.aborted; round++) {
      await table.addNew(files());
      if (signal.aborted) break;
      const leftBytes = table.setLimits();
      if (attach && round > 0 && leftBytes <= LAST_BYTES) {
        mergeLinesNow(table.all(), (reader, line) => void pages.add(reader, line));
        if (!pages.isEmpty()) sendNow(pages.turn());
        if (table.all().every((reader) => reader.isExhausted)) {
          attach(table.tails());
          break;
        }
      }
      const isLate = meanwhileBytes > MEANWHILE_MAX_BYTES;
      await mergeLines(table.all(), (reader, read) => {
        if (round > 0) meanwhileBytes += read.line.length;
        return pages.add(reader, read, isLate) ? tellPage() : null;
      }, signal);
      if (!isLate) await tellPage();
      if (!attach) break;
      await breathe();
    }
    return { cursor: { ...begin, ...cursorOf(table.all()) }, isGap: pages.hasGap() };
  } finally {
    for (const reader of table.all()) reader.rest();
  }
}
