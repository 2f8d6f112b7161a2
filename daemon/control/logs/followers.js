// Knows: which clients follow, and the unfinished line of each source.
// Must not: read files, or cut output into lines while no client follows.
// Start at: push().
//
// A follower switches from history to live lines in one turn of the event loop. It gets each byte
// exactly once, even if the file then ends in the middle of a line:
//
//                        the follower is added
//                                  |
//   time ------------------------- | ---------------------------->
//   file     one\n  two\n   thr    | ee\n  four\n
//            '-----------'  '--------------------'
//            history sends  a source holds "thr", and pushes: live lines
//                           |
//                        heldFrom()
//
// An earlier control may have read "thr". begin() keeps it until a source writes where it ends.
import { createLineSplitter } from '../../../lib/shared/daemon/lines.js';
import { isSamePosition } from './write/open-file.js';

/** @import { Part } from '../../../lib/shared/daemon/lines.js' */
/** @import { LogEntry, LogStream } from '../../../lib/shared/wire/protocol.js' */
/** @import { Mark } from './history/contents.js' */
/** @import { LineSplitter } from '../../../lib/shared/daemon/lines.js' */
/** @import { Position } from './write/open-file.js' */

const NEWLINE = 0x0a;

/**
 * @typedef {object} Follower
 * @property {(slot: { id: number, name: string }, stream: LogStream) => boolean} wants
 * @property {(entries: LogEntry[], mark: Mark | null, parts: (Part | null)[]) => void} take
 *   `mark`: where the first line after `entries` begins. Null: the lines are not in a file.
 *   `parts`: for each entry, which part of a long line it is.
 */

/**
 * @typedef {{ atMs?: number } & Position} ChunkStart  Where a chunk begins in the file of its source. The
 *   whole chunk is in this file. `atMs`: when control wrote the chunk. Missing: now.
 */

/**
 * @typedef {object} Followers
 * @property {(follower: Follower) => () => void} add
 *   Adds a follower, and returns a function that removes it.
 * @property {(path: string, end: Position, line: Buffer) => void} begin
 *   An earlier control has written an unfinished line, which ends here.
 * @property {() => Map<string, Position>} heldFrom  Where the oldest unfinished line begins, by path.
 * @property {(source: Source, chunk: Buffer, at?: ChunkStart | null) => void} push
 *   `at`: null if the chunk is not in a file.
 * @property {(source: Source) => void} end  Called when a source has no more output. Sends the
 *   unfinished line. Chunks that a slow disk writes later are pushed after that.
 */

/**
 * @typedef {object} Source  One stream of one instance.
 * @property {{ id: number, name: string }} slot
 * @property {LogStream} stream
 * @property {string} path  Its file. Empty: none.
 * @property {LineSplitter | null} splitter  Null: the source is at the beginning of a line.
 * @property {Position | null} [lineFrom]  Where the unfinished line begins. Null: the source is not in
 *   a line, or not in a file.
 * @property {Position | null} [writtenTo]  Where the last chunk ended.
 * @property {boolean} [isOver]
 */

/**
 * @param {() => number} nowMs
 * @returns {Followers}
 */
export function createFollowers(nowMs) {
  /** @type {Set<Follower>} */
  const followers = new Set();
  /** Sources in the middle of a line of a file. @type {Set<Source>} */
  const midLine = new Set();
  /** By path. @type {Map<string, Omit<Source, 'slot' | 'stream'> & { splitter: LineSplitter }>} */
  const begun = new Map();

  /**
   * @param {Source} source
   * @param {string[]} lines
   * @param {(Part | null)[]} parts
   * @param {number} atMs
   */
  function send({ slot, stream, path, lineFrom, writtenTo }, lines, parts, atMs) {
    if (lines.length === 0) return;
    const entries = lines.map((line, at) => ({
      ...{ id: slot.id, name: slot.name, stream, line, atMs },
      ...goesOn(parts[at]),
    }));
    const at = lineFrom ?? writtenTo;
    const mark = at ? { path, ...at } : null;
    for (const follower of followers) if (follower.wants(slot, stream)) follower.take(entries, mark, parts);
  }

  /** @param {Source} source */
  function reset(source) {
    source.splitter = null;
    source.lineFrom = null;
    source.writtenTo = null;
    midLine.delete(source);
  }

  /** @param {Source} source */
  function finishLine(source) {
    const part = source.splitter?.heldPart() ?? null;
    const lines = source.splitter?.end() ?? [];
    source.lineFrom = null;
    send(source, lines, [part], nowMs());
    reset(source);
  }

  /**
   * Gives a source the line that an earlier control began in its file. If the file was rotated, or
   * has other bytes after the line, the beginning is sent as a line.
   * @param {Source} source
   * @param {Position | null} [at]  Default: where the line ends.
   */
  function continueLine(source, at) {
    const line = begun.get(source.path);
    if (!line) return;
    begun.delete(source.path);
    if (source.splitter?.heldBytes() || (at && !isSamePosition(at, line.writtenTo))) finishLine({ ...source, ...line });
    else Object.assign(source, line);
  }

  return {
    add(follower) {
      followers.add(follower);
      return () => void followers.delete(follower);
    },
    begin(path, end, line) {
      const splitter = createLineSplitter();
      splitter.skip(line);
      const bytes = splitter.heldBytes();
      const lineFrom = { ...end, offset: end.offset - bytes };
      if (bytes > 0) begun.set(path, { path, splitter, lineFrom, writtenTo: end });
    },
    heldFrom() {
      /** @type {Map<string, Position>} */
      const found = new Map();
      for (const { path, lineFrom } of [...midLine, ...begun.values()])
        if (lineFrom && !isBefore(found.get(path), lineFrom)) found.set(path, lineFrom);
      return found;
    },
    push(source, chunk, at = null) {
      if (at) continueLine(source, at);
      if (followers.size === 0 && chunk[chunk.length - 1] === NEWLINE) {
        if (source.splitter) reset(source);
        return;
      }
      const splitter = (source.splitter ??= createLineSplitter());
      /** @type {string[]} */
      const lines = [];
      /** @type {(Part | null)[]} */
      const parts = [];
      if (followers.size === 0) splitter.skip(chunk);
      else
        splitter.cut(chunk, (bytes, _to, part) => {
          lines.push(bytes.toString('utf8'));
          parts.push(part);
        });
      noteWritten(source, splitter.heldBytes(), chunk.length, at);
      if (source.lineFrom) midLine.add(source);
      else midLine.delete(source);
      send(source, lines, parts, at?.atMs ?? nowMs());
      if (source.isOver) finishLine(source);
    },
    end(source) {
      source.isOver = true;
      continueLine(source);
      finishLine(source);
    },
  };
}

/**
 * @param {Part | null} part
 * @returns {Pick<LogEntry, 'part'>}
 */
export function goesOn(part) {
  return part && !part.isLast ? { part: true } : {};
}

/**
 * @param {Position | undefined} a
 * @param {Position} b
 */
function isBefore(a, b) {
  return a && (a.startedAtMs < b.startedAtMs || (a.startedAtMs === b.startedAtMs && a.offset < b.offset));
}

/**
 * @param {Source} source
 * @param {number} heldBytes
 * @param {number} chunkBytes
 * @param {ChunkStart | null} at
 */
function noteWritten(source, heldBytes, chunkBytes, at) {
  const { lineFrom, writtenTo } = source;
  if (!at) {
    source.writtenTo = null;
    if (heldBytes <= chunkBytes) source.lineFrom = null;
    return;
  }
  const { startedAtMs } = at;
  const end = at.offset + chunkBytes;
  // If another source has written after the last chunk of this source, or the file was rotated, the
  // line is in two pieces.
  const isOnePiece = heldBytes <= chunkBytes || isSamePosition(writtenTo, at);
  source.writtenTo = { startedAtMs, offset: end };
  if (heldBytes === 0) source.lineFrom = null;
  else if (isOnePiece) source.lineFrom = { startedAtMs, offset: end - heldBytes };
  else source.lineFrom = lineFrom ?? source.writtenTo;
}
