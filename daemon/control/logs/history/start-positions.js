import { readTimes } from '../times/times.js';
import { backwards, createSegmentList, endOf, findContent, UNKNOWN } from './contents.js';
import { lastStarts, lineFrom } from './last-lines.js';
import { breathe } from './merge.js';

/** @import { Content, Shelf } from './contents.js' */
/** @import { Start, Wanted } from './last-lines.js' */
/** @import { Position } from '../write/open-file.js' */
/** @import { Segment } from '../archive/segments.js' */

/** @typedef {(path: string) => Segment[]} SegmentsOf */

/**
 * Where each path has to be read from, so that its last lines come: as many of each, or, where not every line is looked for, as many of all together.
 * @param {string[]} paths
 * @param {Wanted} wanted
 * @param {Shelf} shelf
 * @param {AbortSignal} signal
 * @param {Map<string, Position>} [ends]  Where each of them ended when that was asked for: what has been written since is not counted.
 * @returns {Promise<Map<string, Position>>}
 */
export async function startsOfLast(paths, wanted, shelf, signal, ends = new Map()) {
  /** @type {Map<string, Position>} */
  const starts = new Map();
  /** The newest of all paths so far, newest first. @type {{path: string, start: Start}[]} */
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
    if (wanted.isWanted !== null) newest = [...newest, ...found.map((start) => ({ path, start }))].sort((a, b) => b.start.sortMs - a.start.sortMs).slice(0, wanted.count);
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
export async function startsSince(paths, sinceMs, shelf) {
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
 * @param {{shelf: Shelf, segmentsOf: SegmentsOf}} o
 * @returns {Promise<Position>}
 */
async function startSince(path, sinceMs, { shelf, segmentsOf }) {
  /** @type {Content|null} */
  let first = null;
  for (const content of backwards(path, shelf, segmentsOf)) {
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
 * @param {{shelf: Shelf, signal: AbortSignal, segmentsOf: SegmentsOf, end: Position}} o
 * @returns {Promise<Start[]>}  Newest first.
 */
async function lastOfPath(path, wanted, { shelf, signal, segmentsOf, end }) {
  /** @type {Start[]} */
  let found = [];
  for (const content of backwards(path, shelf, segmentsOf)) {
    if (signal.aborted || found.length >= wanted.count) break;
    if (content.endedAtMs !== null && content.endedAtMs < wanted.sinceMs) break;
    const isLast = content.startedAtMs === end.startedAtMs;
    // It has been begun since.
    if (content.endedAtMs === null && end.startedAtMs !== UNKNOWN && !isLast) continue;
    const search = { ...wanted, count: wanted.count - found.length };
    const o = { timesFolder: shelf.timesFolder, signal, endBytes: isLast ? end.offset : Infinity };
    found = found.concat((await lastStarts(content, search, o)) ?? (await lastStarts(moved(path, content, shelf), search, o)) ?? []);
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
