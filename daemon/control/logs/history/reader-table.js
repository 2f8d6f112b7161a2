import { endOf } from './contents.js';
import { MADE_AT } from './mark.js';
import { PathReader } from './path-reader.js';
import { startsOfLast, startsSince } from './start-positions.js';

/** @import { Tail } from '../followers.js' */
/** @import { Cursor } from './mark.js' */
/** @import { HistoryParts } from './history.js' */
/** @import { KeptFile } from './path-reader.js' */

/** What all paths together hold in memory; each at least, and at most. */
const CHUNKS_BYTES = 4 * 1024 * 1024;
const CHUNK_MIN_BYTES = 4 * 1024;
const CHUNK_MAX_BYTES = 64 * 1024;

/**
 * The readers of one history, one for each path.
 * @param {Pick<HistoryParts, 'query'|'shelf'|'heldPaths'|'attach'|'nowMs'|'signal'>} o
 */
export function createReaderTable({ query, shelf, heldPaths, attach, nowMs, signal }) {
  /** @type {Map<string, PathReader>} */
  const readers = new Map();
  /** Where each ended when somebody asked for what is kept, and no more. @type {Map<string, import('../write/open-file.js').Position>} */
  const ends = new Map();

  /** @param {KeptFile[]} files @param {(path: string) => import('../write/open-file.js').Position} startOf */
  function add(files, startOf) {
    const chunkBytes = Math.min(CHUNK_MAX_BYTES, Math.max(CHUNK_MIN_BYTES, Math.floor(CHUNKS_BYTES / files.length)));
    for (const file of files) readers.set(file.path, new PathReader(file, startOf(file.path), shelf, chunkBytes));
  }

  /** @param {KeptFile[]} files */
  async function startsOf(files) {
    const paths = files.map(({ path }) => path);
    if (query.cursor) return startsAfter(paths, query.cursor);
    if (query.lines === null) return startsSince(paths, query.sinceMs, shelf);
    return startsOfLast(paths, { count: query.lines, sinceMs: query.sinceMs, untilMs: query.untilMs, isWanted: query.isWanted }, shelf, signal, ends);
  }

  /** @param {string[]} paths @param {Cursor} cursor */
  async function startsAfter(paths, cursor) {
    // What is not in it was not there when it was made.
    const starts = await startsSince(paths.filter((path) => !Object.hasOwn(cursor, path)), cursor[MADE_AT]?.startedAtMs ?? 0, shelf);
    for (const path of paths) if (Object.hasOwn(cursor, path)) starts.set(path, cursor[path]);
    return starts;
  }

  return {
    all: () => [...readers.values()],
    /** @param {KeptFile[]} files */
    async begin(files) {
      if (attach === null) for (const { path } of files) ends.set(path, endOf(path, shelf));
      const starts = await startsOf(files);
      add(files, (path) => /** @type {import('../write/open-file.js').Position} */ (starts.get(path)));
    },
    /** Files of apps that have come since. @param {KeptFile[]} files */
    async addNew(files) {
      const fresh = files.filter(({ path }) => !readers.has(path));
      if (fresh.length === 0) return;
      const starts = await startsSince(fresh.map(({ path }) => path), nowMs, shelf);
      add(fresh, (path) => /** @type {import('../write/open-file.js').Position} */ (starts.get(path)));
    },
    /** Reads on to where each path ends now. @returns {number}  How many bytes that is. Infinity: nobody knows. */
    setLimits() {
      const held = heldPaths();
      let bytes = 0;
      for (const [path, reader] of readers) {
        reader.readUntil(ends.get(path) ?? endOf(path, shelf), attach === null || !held.has(path));
        bytes += reader.leftBytes;
      }
      return bytes;
    },
    /** @returns {Tail[]} */
    tails() {
      return [...readers.values()].flatMap((reader) => {
        const tail = reader.tail();
        if (!tail) return [];
        const { path, id, name, stream } = reader.file;
        const { atMs, ...place } = tail;
        return [{ path, ...place, entry: { id, name, stream, atMs } }];
      });
    },
  };
}
