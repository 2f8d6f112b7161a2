import { statSync } from 'node:fs';
import { readSegments, readSegmentsOf } from '../archive/segments.js';
import { readStartedAt, timesFileOf } from '../times/format.js';

/** @import { Compression, Segment } from '../archive/segments.js' */
/** @import { Position } from '../write/open-file.js' */

/**
 * What one file holds or held: the active one or a segment. A path has a row of them.
 * @typedef {object} Content
 * @property {string} file  Where it is now.
 * @property {string} plainPath  What its times are kept under.
 * @property {Compression|null} compression
 * @property {number} startedAtMs  Its identity.
 * @property {number|null} endedAtMs  Null: it is the active one.
 */

/**
 * What history needs to know of the machine.
 * @typedef {object} Shelf
 * @property {string} timesFolder
 * @property {(path: string) => Position|null} positionOf  Where the next byte will be, of a file that is being written to now.
 */

/** The identity of an active file that has no times: there is only one. */
export const UNKNOWN = 0;

/**
 * @param {string} path
 * @param {Shelf} shelf
 * @returns {Content|null}  Null when there is no such file, or no regular one.
 */
export function activeContent(path, { timesFolder, positionOf }) {
  if (!isFile(path)) return null;
  const startedAtMs = positionOf(path)?.startedAtMs ?? readStartedAt(timesFileOf(timesFolder, path)) ?? UNKNOWN;
  return { file: path, plainPath: path, compression: null, startedAtMs, endedAtMs: null };
}

/**
 * The segments of a path. One without times is known by when it ended: then its identity is that number, negative.
 * @param {string} path
 * @param {Shelf} shelf
 * @param {Segment[]} [segments]  Where they have been looked for.
 * @returns {Content[]}  Oldest first.
 */
export function olderContents(path, { timesFolder }, segments = readSegments(path)) {
  return segments.map(({ path: file, plainPath, compression, endedAtMs }) => {
    const startedAtMs = readStartedAt(timesFileOf(timesFolder, plainPath)) ?? -endedAtMs;
    return { file, plainPath, compression, startedAtMs, endedAtMs };
  });
}

/**
 * Looks for segments when the first of them is asked for, then for those of all paths at once: a folder with a thousand files is slow to read.
 * @param {string[]} paths
 * @returns {(path: string) => Segment[]}
 */
export function createSegmentList(paths) {
  /** @type {Map<string, Segment[]>|null} */
  let list = null;
  return (path) => {
    list ??= readSegmentsOf(paths);
    return list.get(path) ?? [];
  };
}

/**
 * Everything of a path, newest first.
 * @param {string} path
 * @param {Shelf} shelf
 * @param {(path: string) => Segment[]} segmentsOf  Asked for when the active one is not enough: most who look want the last lines.
 * @returns {Generator<Content, void, void>}
 */
export function* backwards(path, shelf, segmentsOf) {
  const active = activeContent(path, shelf);
  if (active) yield active;
  yield* olderContents(path, shelf, segmentsOf(path)).reverse();
}

/**
 * Where a path ends now.
 * @param {string} path
 * @param {Shelf} shelf
 * @returns {Position}
 */
export function endOf(path, shelf) {
  const position = shelf.positionOf(path);
  if (position) return { ...position };
  const active = activeContent(path, shelf);
  const sizeBytes = active ? sizeOf(path) : 0;
  if (active && (sizeBytes > 0 || active.startedAtMs !== UNKNOWN)) return { startedAtMs: active.startedAtMs, offset: sizeBytes };
  const last = olderContents(path, shelf).at(-1);
  return last ? { startedAtMs: last.startedAtMs, offset: Number.MAX_SAFE_INTEGER } : { startedAtMs: UNKNOWN, offset: 0 };
}

/**
 * The content that a position is in.
 * @param {string} path
 * @param {Position} position
 * @param {Shelf} shelf
 * @returns {{content: Content|null, isGap: boolean}}  What comes after it, and a gap, when it is gone. Null: nothing does.
 */
export function findContent(path, { startedAtMs, offset }, shelf) {
  const active = activeContent(path, shelf);
  if (active?.startedAtMs === startedAtMs) return { content: active, isGap: false };
  const older = olderContents(path, shelf);
  const found = older.find((one) => one.startedAtMs === startedAtMs);
  if (found) return { content: found, isGap: false };
  // There was nothing, or its times have been begun since.
  if (startedAtMs === UNKNOWN) return { content: (offset === 0 ? older[0] : null) ?? active, isGap: false };
  return { content: firstAfter(older, startedAtMs) ?? active, isGap: true };
}

/**
 * @param {string} path
 * @param {number} startedAtMs
 * @param {Shelf} shelf
 * @returns {{content: Content|null, isGap: boolean}}  Null: this is the last one there is.
 */
export function contentAfter(path, startedAtMs, shelf) {
  const active = activeContent(path, shelf);
  if (active?.startedAtMs === startedAtMs) return { content: null, isGap: false };
  const older = olderContents(path, shelf);
  const at = older.findIndex((one) => one.startedAtMs === startedAtMs);
  if (at !== -1) return { content: older[at + 1] ?? active, isGap: false };
  const content = firstAfter(older, startedAtMs) ?? active;
  return { content, isGap: content !== null };
}

/**
 * @param {Content[]} older
 * @param {number} startedAtMs
 */
function firstAfter(older, startedAtMs) {
  const afterMs = Math.abs(startedAtMs);
  return older.find((one) => (one.startedAtMs > 0 ? one.startedAtMs > afterMs : /** @type {number} */ (one.endedAtMs) > afterMs));
}

/** @param {string} path */
function isFile(path) {
  return statOf(path)?.isFile() ?? false;
}

/** @param {string} path */
function sizeOf(path) {
  return statOf(path)?.size ?? 0;
}

/** @param {string} path */
function statOf(path) {
  try {
    return statSync(path);
  } catch {
    return null; // It is not there, or we may not look: there is nothing to show.
  }
}
