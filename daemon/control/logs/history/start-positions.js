import { readTimes } from '../times/times.js';
import { createSegmentList, endOf, findContent, MADE_AT, newestFirst, UNKNOWN } from './contents.js';
import { lastStarts, lineFrom } from './last-lines.js';
import { breathe } from './merge.js';
import { PathReader } from './path-reader.js';

/** @import { Segment } from '../archive/segments.js' */
/** @import { UnfinishedLine } from '../hand-over.js' */
/** @import { Position } from '../write/open-file.js' */
/** @import { Content, Cursor, Shelf } from './contents.js' */
/** @import { HistoryParts } from './history.js' */
/** @import { Start, Wanted } from './last-lines.js' */
/** @import { KeptFile } from './path-reader.js' */

/** @typedef {(path: string) => Segment[]} SegmentsOf */

/**
 * Where each path has to be read from, so that its last lines come: as many of each, or, where not
 * every line is looked for, as many of all together.
 * @param {string[]} paths
 * @param {Wanted} wanted
 * @param {Shelf} shelf
 * @param {AbortSignal} signal
 * @param {Map<string, Position>} [ends]  Where each of them ended when that was asked for: what has
 *   been written since is not counted.
 * @returns {Promise<Map<string, Position>>}
 */
async function startsOfLast(paths, wanted, shelf, signal, ends = new Map()) {
  /** @type {Map<string, Position>} */
  const starts = new Map();
  /** The newest of all paths so far, newest first. @type {{ path: string, start: Start }[]} */
  let newest = [];
  const segmentsOf = createSegmentList(paths);
  for (const path of paths) {
    const end = ends.get(path) ?? endOf(path, shelf);
    starts.set(path, end);
    if (wanted.count === 0) continue;
    const isFull = wanted.isWanted !== null && newest.length >= wanted.count;
    // What is older than the last of those is not looked for.
    const sinceMs = isFull ? Math.max(wanted.sinceMs, newest[wanted.count - 1].start.sortMs) : wanted.sinceMs;
    const found = await lastOfPath(path, { ...wanted, sinceMs }, { shelf, signal, segmentsOf, end });
    if (wanted.isWanted === null && found.length > 0) starts.set(path, found[found.length - 1].at);
    if (wanted.isWanted !== null)
      newest = [...newest, ...found.map((start) => ({ path, start }))]
        .sort((a, b) => b.start.sortMs - a.start.sortMs)
        .slice(0, wanted.count);
    await breathe();
  }
  for (const { path, start } of newest) starts.set(path, start.at);
  return starts;
}

/**
 * Where each path has to be read from, so that everything since a moment comes.
 * @param {string[]} paths
 * @param {number} sinceMs
 * @param {Shelf} shelf
 * @returns {Promise<Map<string, Position>>}
 */
async function startsSince(paths, sinceMs, shelf) {
  /** @type {Map<string, Position>} */
  const starts = new Map();
  const segmentsOf = createSegmentList(paths);
  for (const path of paths) {
    starts.set(path, await startSince(path, sinceMs, { shelf, segmentsOf }));
    await breathe();
  }
  return starts;
}

/**
 * @param {string} path
 * @param {number} sinceMs
 * @param {{ shelf: Shelf, segmentsOf: SegmentsOf }} o
 * @returns {Promise<Position>}
 */
async function startSince(path, sinceMs, { shelf, segmentsOf }) {
  /** @type {Content | null} */
  let first = null;
  for (const content of newestFirst(path, shelf, segmentsOf)) {
    if (content.endedAtMs !== null && content.endedAtMs < sinceMs) break;
    first = content;
  }
  if (!first) return endOf(path, shelf);
  const { startedAtMs, plainPath } = first;
  const times = readTimes(shelf.timesFolder, plainPath);
  // Without times it is a matter of its last change, and each line is asked when it is read.
  if (times?.startedAtMs !== startedAtMs) return { startedAtMs, offset: 0 };
  const offset = times.offsetOf(sinceMs);
  if (offset === null) return { startedAtMs, offset: afterLastMoment(first, path, shelf) };
  return { startedAtMs, offset: await lineFrom(first, offset) };
}

/**
 * Nothing was written there since, as far as is known.
 * @param {Content} content
 * @param {string} path
 * @param {Shelf} shelf
 */
function afterLastMoment({ startedAtMs, endedAtMs }, path, shelf) {
  const end = endOf(path, shelf);
  return endedAtMs === null && end.startedAtMs === startedAtMs ? end.offset : Number.MAX_SAFE_INTEGER;
}

/**
 * @param {string} path
 * @param {Wanted} wanted
 * @param {{ shelf: Shelf, signal: AbortSignal, segmentsOf: SegmentsOf, end: Position }} o
 * @returns {Promise<Start[]>}  Newest first.
 */
async function lastOfPath(path, wanted, { shelf, signal, segmentsOf, end }) {
  /** @type {Start[]} */
  let found = [];
  for (const content of newestFirst(path, shelf, segmentsOf)) {
    if (signal.aborted || found.length >= wanted.count) break;
    if (content.endedAtMs !== null && content.endedAtMs < wanted.sinceMs) break;
    const isLast = content.startedAtMs === end.startedAtMs;
    // It has been begun since.
    if (content.endedAtMs === null && end.startedAtMs !== UNKNOWN && !isLast) continue;
    const search = { ...wanted, count: wanted.count - found.length };
    const o = { timesFolder: shelf.timesFolder, signal, endBytes: isLast ? end.offset : Infinity };
    found = found.concat(
      (await lastStarts(content, search, o)) ?? (await lastStarts(moved(path, content, shelf), search, o)) ?? [],
    );
  }
  return found;
}

/**
 * Where a content is now, when it has been compressed since somebody looked.
 * @param {string} path
 * @param {Content} content
 * @param {Shelf} shelf
 * @returns {Content}
 */
function moved(path, content, shelf) {
  const now = findContent(path, { startedAtMs: content.startedAtMs, offset: 0 }, shelf);
  return now.isGap || !now.content ? content : now.content;
}

/** What all paths together hold in memory; each at least, and at most. */
const CHUNKS_BYTES = 4 * 1024 * 1024;
const CHUNK_MIN_BYTES = 4 * 1024;
const CHUNK_MAX_BYTES = 64 * 1024;

/**
 * The readers of one history, one for each path.
 * @param {Pick<HistoryParts, 'query' | 'shelf' | 'heldPaths' | 'attach' | 'nowMs' | 'signal'>} o
 */
export function createReaderTable({ query, shelf, heldPaths, attach, nowMs, signal }) {
  /** @type {Map<string, PathReader>} */
  const readers = new Map();
  /**
   * Where each ended when somebody asked for what is kept, and no more.
   * @type {Map<string, Position>}
   */
  const ends = new Map();

  /**
   * @param {KeptFile[]} files
   * @param {(path: string) => Position} startOf
   */
  function add(files, startOf) {
    const chunkBytes = Math.min(CHUNK_MAX_BYTES, Math.max(CHUNK_MIN_BYTES, Math.floor(CHUNKS_BYTES / files.length)));
    for (const file of files) readers.set(file.path, new PathReader(file, startOf(file.path), shelf, chunkBytes));
  }

  /** @param {KeptFile[]} files */
  async function startsOf(files) {
    const paths = files.map(({ path }) => path);
    if (query.cursor) return startsAfter(paths, query.cursor);
    if (query.lines === null) return startsSince(paths, query.sinceMs, shelf);
    return startsOfLast(
      paths,
      { count: query.lines, sinceMs: query.sinceMs, untilMs: query.untilMs, isWanted: query.isWanted },
      shelf,
      signal,
      ends,
    );
  }

  /**
   * @param {string[]} paths
   * @param {Cursor} cursor
   */
  async function startsAfter(paths, cursor) {
    // What is not in it was not there when it was made.
    const starts = await startsSince(
      paths.filter((path) => !Object.hasOwn(cursor, path)),
      cursor[MADE_AT]?.startedAtMs ?? 0,
      shelf,
    );
    for (const path of paths) if (Object.hasOwn(cursor, path)) starts.set(path, cursor[path]);
    return starts;
  }

  return {
    all: () => [...readers.values()],
    /** @param {KeptFile[]} files */
    async begin(files) {
      if (attach === null) for (const { path } of files) ends.set(path, endOf(path, shelf));
      const starts = await startsOf(files);
      add(files, (path) => /** @type {Position} */ (starts.get(path)));
    },
    /**
     * Files of apps that have come since.
     * @param {KeptFile[]} files
     */
    async addNew(files) {
      const fresh = files.filter(({ path }) => !readers.has(path));
      if (fresh.length === 0) return;
      const starts = await startsSince(
        fresh.map(({ path }) => path),
        nowMs,
        shelf,
      );
      add(fresh, (path) => /** @type {Position} */ (starts.get(path)));
    },
    /**
     * Reads on to where each path ends now.
     * @returns {number}  How many bytes that is. Infinity: nobody knows.
     */
    setLimits() {
      const held = heldPaths();
      let bytes = 0;
      for (const [path, reader] of readers) {
        reader.readUntil(ends.get(path) ?? endOf(path, shelf), attach === null || !held.has(path));
        bytes += reader.leftBytes;
      }
      return bytes;
    },
    /** @returns {UnfinishedLine[]} */
    unfinishedLines() {
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
