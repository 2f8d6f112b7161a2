// Knows: the contents of a path (its segments and the active file), and the content of a position.
// Must not: open or read a log file; content-reader.js does.
// Start at: findContent(), then findContentAfter(); start-positions.js uses
// listNewestFirst().
import { readSegments, listSegmentsByPath, statFile } from '../archive/segments.js';
import { readStartedAt, timesFilePath } from '../times/format.js';

/** @import { User } from '../../../../lib/shared/host/user-path.js' */
/** @import { Compression, Segment } from '../archive/segments.js' */
/** @import { Position } from '../write/open-file.js' */

/**
 * The bytes of one file: the active file, or a segment. A path has a sequence of contents.
 * @typedef {object} Content
 * @property {string} file
 * @property {User | null} user
 * @property {string} plainPath  The name under which its times are stored.
 * @property {Compression | null} compression
 * @property {number} startedAtMs  Identifies the content within its path.
 * @property {number | null} endedAtMs  Null: the active file.
 */

/**
 * @typedef {object} HistorySource
 * @property {string} timesFolder
 * @property {(path: string) => Position | null} positionOf  Null: control does not write this file.
 * @property {(path: string) => User | null} userOf
 */

/** @typedef {{ path: string } & Position} Mark  Where a line of a log file begins or ends. */

/** @typedef {Record<string, Position>} Cursor  How far a client has read, by path. */

/** Key of the time at which a cursor was made. Needed for files that did not exist at that time. */
export const MADE_AT = '';

/** Identity of an active file without times. A path has only one active file, so 0 is unique. */
export const UNKNOWN = 0;

/**
 * @param {string} path
 * @param {Position} position
 * @param {HistorySource} source
 * @returns {{ content: Content | null, isGap: boolean }}
 *   `isGap`: the content of the position is gone, and `content` is the next content, if any.
 */
export function findContent(path, { startedAtMs, offset }, source) {
  const active = activeContent(path, source);
  if (active?.startedAtMs === startedAtMs) return { content: active, isGap: false };
  const older = segmentContents(path, source);
  const found = older.find((one) => one.startedAtMs === startedAtMs);
  if (found) return { content: found, isGap: false };
  // UNKNOWN: when the position was made, the path was empty, or its content had no times yet. So
  // this is not a gap.
  if (startedAtMs === UNKNOWN) return { content: (offset === 0 ? older[0] : null) ?? active, isGap: false };
  return { content: findFirst(older, startedAtMs) ?? active, isGap: true };
}

/**
 * @param {string} path
 * @param {number} startedAtMs
 * @param {HistorySource} source
 * @returns {{ content: Content | null, isGap: boolean }}  `content`: null after the last
 *   content. `isGap`: bytes before `content` are missing.
 */
export function findContentAfter(path, startedAtMs, source) {
  const active = activeContent(path, source);
  if (active?.startedAtMs === startedAtMs) return { content: null, isGap: false };
  const older = segmentContents(path, source);
  const at = older.findIndex((one) => one.startedAtMs === startedAtMs);
  if (at !== -1) return { content: older[at + 1] ?? active, isGap: false };
  const content = findFirst(older, startedAtMs) ?? active;
  return { content, isGap: content !== null };
}

/**
 * @param {string} path
 * @param {HistorySource} source
 * @param {(path: string) => Segment[]} segmentsOf
 *   Called only if the active file is not enough. It is usually enough, because most clients want
 *   only the last lines.
 * @returns {Generator<Content, void, void>}
 */
export function* listNewestFirst(path, source, segmentsOf) {
  const active = activeContent(path, source);
  if (active) yield active;
  yield* segmentContents(path, source, segmentsOf(path)).reverse();
}

/**
 * Returns the current end of the log at `path`.
 * @param {string} path
 * @param {HistorySource} source
 * @returns {Position}
 */
export function fileSize(path, source) {
  const position = source.positionOf(path);
  if (position) return { ...position };
  const active = activeContent(path, source);
  const sizeBytes = active ? (statFile(path, active.user)?.size ?? 0) : 0;
  if (active && (sizeBytes > 0 || active.startedAtMs !== UNKNOWN))
    return { startedAtMs: active.startedAtMs, offset: sizeBytes };
  const last = segmentContents(path, source).at(-1);
  return last
    ? { startedAtMs: last.startedAtMs, offset: Number.MAX_SAFE_INTEGER }
    : { startedAtMs: UNKNOWN, offset: 0 };
}

/**
 * The first call lists the segments of all paths together, because a large folder is slow to read.
 * @param {string[]} paths
 * @param {HistorySource} source
 * @returns {(path: string) => Segment[]}
 */
export function createSegmentList(paths, { userOf }) {
  /** @type {Map<string, Segment[]> | null} */
  let list = null;
  return (path) => {
    list ??= listSegmentsByPath(paths.map((one) => ({ path: one, user: userOf(one) })));
    return list.get(path) ?? [];
  };
}

/**
 * @param {string} path
 * @param {HistorySource} source
 * @returns {Content | null}  Null: there is no regular file, or control may not enter the folder.
 */
function activeContent(path, { timesFolder, positionOf, userOf }) {
  const user = userOf(path);
  if (!statFile(path, user)?.isFile()) return null;
  const startedAtMs = positionOf(path)?.startedAtMs ?? readStartedAt(timesFilePath(timesFolder, path)) ?? UNKNOWN;
  return { file: path, user, plainPath: path, compression: null, startedAtMs, endedAtMs: null };
}

/**
 * If a segment has no times, its identity is the time of its end, as a negative number.
 * @param {string} path
 * @param {HistorySource} source
 * @param {Segment[]} [segments]  Given if the caller has already listed the segments.
 * @returns {Content[]}  Oldest first.
 */
function segmentContents(path, { timesFolder, userOf }, segments = readSegments(path, userOf(path))) {
  const user = userOf(path);
  // Control never rotates an empty file, but a user can plant any number of them.
  const filled = segments.filter(({ sizeBytes }) => sizeBytes > 0);
  return filled.map(({ path: file, plainPath, compression, endedAtMs }) => {
    const startedAtMs = readStartedAt(timesFilePath(timesFolder, plainPath)) ?? -endedAtMs;
    return { file, user, plainPath, compression, startedAtMs, endedAtMs };
  });
}

/**
 * @param {Content[]} older
 * @param {number} startedAtMs
 */
function findFirst(older, startedAtMs) {
  const afterMs = Math.abs(startedAtMs);
  return older.find((one) =>
    one.startedAtMs > 0 ? one.startedAtMs > afterMs : /** @type {number} */ (one.endedAtMs) > afterMs,
  );
}
