import { createYield, yieldToEventLoop } from '../../../../lib/shared/yield.js';
import { readTimes } from '../times/times.js';
import { createSegmentList, fileSize, findContent, MADE_AT, listNewestFirst, UNKNOWN } from './contents.js';
import { lastStarts, findLineFrom } from './last-lines.js';
import { PathReader } from './path-reader.js';

/** @import { Segment } from '../archive/segments.js' */
/** @import { Position } from '../write/open-file.js' */
/** @import { Content, Cursor, HistorySource } from './contents.js' */
/** @import { HistoryParts } from './history.js' */
/** @import { Start, LineQuery } from './last-lines.js' */
/** @import { KeptFile } from './path-reader.js' */

/** @typedef {(path: string) => Segment[]} SegmentsOf */

/**
 * Finds where the last `count` lines of each path begin. With `isWanted`, `count` is for all paths
 * together.
 * @param {string[]} paths
 * @param {LineQuery} wanted
 * @param {HistorySource} source
 * @param {AbortSignal} signal
 * @param {Map<string, Position>} ends  The end of each path at the time of the request. Later lines
 *   do not count. Empty: all lines count.
 */
async function startsOfLast(paths, wanted, source, signal, ends) {
  /** @type {Map<string, Position>} */
  const starts = new Map();
  /**
   * Starts of the newest lines of all paths that were searched, newest first.
   * @type {{ path: string, start: Start }[]}
   */
  let newest = [];
  const segmentsOf = createSegmentList(paths, source);
  for (const path of paths) {
    const end = ends.get(path) ?? fileSize(path, source);
    starts.set(path, end);
    if (wanted.count === 0) continue;
    const isFull = wanted.isWanted !== null && newest.length >= wanted.count;
    // If `count` lines are found, lines that are older than all of them are not needed.
    const sinceMs = isFull ? Math.max(wanted.sinceMs, newest[wanted.count - 1].start.sortMs) : wanted.sinceMs;
    const found = await lastOfPath(path, { ...wanted, sinceMs }, { source, signal, segmentsOf, end });
    if (wanted.isWanted === null && found.length > 0) starts.set(path, found[found.length - 1].at);
    if (wanted.isWanted !== null)
      newest = [...newest, ...found.map((start) => ({ path, start }))]
        .sort((a, b) => b.start.sortMs - a.start.sortMs)
        .slice(0, wanted.count);
    await yieldToEventLoop();
  }
  for (const { path, start } of newest) starts.set(path, start.at);
  return starts;
}

/**
 * @param {string[]} paths
 * @param {number} sinceMs
 * @param {HistorySource} source
 * @param {AbortSignal} signal
 */
async function findStartsSince(paths, sinceMs, source, signal) {
  /** @type {Map<string, Position>} */
  const starts = new Map();
  const segmentsOf = createSegmentList(paths, source);
  for (const path of paths) {
    starts.set(path, await findStart(path, sinceMs, { source, segmentsOf, signal }));
    await yieldToEventLoop();
  }
  return starts;
}

/**
 * @param {string} path
 * @param {number} sinceMs
 * @param {{ source: HistorySource, segmentsOf: SegmentsOf, signal: AbortSignal }} o
 * @returns {Promise<Position>}
 */
async function findStart(path, sinceMs, { source, segmentsOf, signal }) {
  /** @type {Content | null} */
  let first = null;
  for (const content of listNewestFirst(path, source, segmentsOf)) {
    if (content.endedAtMs !== null && content.endedAtMs < sinceMs) break;
    first = content;
  }
  if (!first) return fileSize(path, source);
  const { startedAtMs, plainPath } = first;
  const times = readTimes(source.timesFolder, plainPath);
  // Without times, reading starts at the beginning of the content. history.js then drops old lines
  // by the time at which the file was rotated or last changed.
  if (times?.startedAtMs !== startedAtMs) return { startedAtMs, offset: 0 };
  const offset = times.offsetOf(sinceMs);
  if (offset === null) return { startedAtMs, offset: afterLastMoment(first, path, source) };
  return { startedAtMs, offset: await findLineFrom(first, offset, signal) };
}

/**
 * @param {Content} content
 * @param {string} path
 * @param {HistorySource} source
 */
function afterLastMoment({ startedAtMs, endedAtMs }, path, source) {
  const end = fileSize(path, source);
  return endedAtMs === null && end.startedAtMs === startedAtMs ? end.offset : Number.MAX_SAFE_INTEGER;
}

/**
 * @param {string} path
 * @param {LineQuery} wanted
 * @param {{ source: HistorySource, signal: AbortSignal, segmentsOf: SegmentsOf, end: Position }} o
 * @returns {Promise<Start[]>}  Newest first.
 */
async function lastOfPath(path, wanted, { source, signal, segmentsOf, end }) {
  /** @type {Start[]} */
  let found = [];
  const turn = createYield();
  for (const content of listNewestFirst(path, source, segmentsOf)) {
    await turn();
    if (signal.aborted || found.length >= wanted.count) break;
    if (content.endedAtMs !== null && content.endedAtMs < wanted.sinceMs) break;
    const isLast = content.startedAtMs === end.startedAtMs;
    // Skips a file that was started after the request.
    if (content.endedAtMs === null && end.startedAtMs !== UNKNOWN && !isLast) continue;
    const search = { ...wanted, count: wanted.count - found.length };
    const o = { timesFolder: source.timesFolder, signal, endBytes: isLast ? end.offset : Infinity };
    found = found.concat(
      (await lastStarts(content, search, o)) ?? (await lastStarts(findAgain(path, content, source), search, o)) ?? [],
    );
  }
  return found;
}

/**
 * Finds a listed content again, because it may have been compressed in the meantime.
 * @param {string} path
 * @param {Content} content
 * @param {HistorySource} source
 */
function findAgain(path, content, source) {
  const now = findContent(path, { startedAtMs: content.startedAtMs, offset: 0 }, source);
  return now.isGap || !now.content ? content : now.content;
}

/** Memory limit for all paths together, in bytes. */
const BLOCKS_BYTES = 4 * 1024 * 1024;
/** Smallest share of a path, in bytes. */
const BLOCK_MIN_BYTES = 4 * 1024;
/** Largest share of a path, in bytes. */
const BLOCK_MAX_BYTES = 64 * 1024;

/**
 * @param {Pick<HistoryParts, 'query' | 'source' | 'heldFrom' | 'attach' | 'nowMs' | 'signal'>} o
 */
export function createReaderTable({ query, source, heldFrom, attach, nowMs, signal }) {
  /** @type {Map<string, PathReader>} */
  const readers = new Map();
  /**
   * Where each path ended when the read began. Empty if the client follows, because then the read
   * includes later lines.
   * @type {Map<string, Position>}
   */
  const ends = new Map();

  /**
   * @param {KeptFile[]} files
   * @param {Map<string, Position>} starts
   */
  function add(files, starts) {
    const blockBytes = Math.min(BLOCK_MAX_BYTES, Math.max(BLOCK_MIN_BYTES, Math.floor(BLOCKS_BYTES / files.length)));
    for (const file of files) {
      const start = /** @type {Position} */ (starts.get(file.path));
      readers.set(file.path, new PathReader(file, start, source, blockBytes));
    }
  }

  /** @param {KeptFile[]} files */
  async function findStarts(files) {
    const paths = files.map(({ path }) => path);
    if (query.cursor) return findStartsByCursor(paths, query.cursor);
    if (query.lines === null) return findStartsSince(paths, query.sinceMs, source, signal);
    return startsOfLast(paths, { ...query, count: query.lines }, source, signal, ends);
  }

  /**
   * @param {string[]} paths
   * @param {Cursor} cursor
   */
  async function findStartsByCursor(paths, cursor) {
    // Reads a path that is not in the cursor from the time at which the cursor was made, because
    // the path did not exist at that time.
    const others = paths.filter((path) => !Object.hasOwn(cursor, path));
    const starts = await findStartsSince(others, cursor[MADE_AT]?.startedAtMs ?? 0, source, signal);
    for (const path of paths) if (Object.hasOwn(cursor, path)) starts.set(path, cursor[path]);
    return starts;
  }

  return {
    all: () => [...readers.values()],
    /** @param {KeptFile[]} files */
    async begin(files) {
      if (attach === null) for (const { path } of files) ends.set(path, fileSize(path, source));
      add(files, await findStarts(files));
    },
    /**
     * Adds files of apps that were started after the request.
     * @param {KeptFile[]} files
     */
    async addNew(files) {
      const fresh = files.filter(({ path }) => !readers.has(path));
      if (fresh.length === 0) return;
      const paths = fresh.map(({ path }) => path);
      add(fresh, await findStartsSince(paths, nowMs, source, signal));
    },
    /**
     * Sets the limit of each reader. If the client follows, it is the current end of the path.
     * Otherwise it is the end at the time of the request.
     * @returns {number}  Bytes left to read. Infinity: not known.
     */
    setLimits() {
      const held = attach === null ? null : heldFrom();
      let bytes = 0;
      for (const [path, reader] of readers) {
        reader.readUntil(ends.get(path) ?? fileSize(path, source), held?.get(path) ?? null);
        bytes += reader.leftBytes;
      }
      return bytes;
    },
  };
}
