// Knows: which clients follow, and the unfinished line of each source. Must not: read files, or cut
// output into lines while no client follows. Start at: push(). hand-over.js handles a follower that
// is added in the middle of a line.
import { createHandOver, isSamePosition } from './hand-over.js';
import { createLineSplitter } from '../../../lib/shared/daemon/lines.js';

/** @import { Part } from '../../../lib/shared/daemon/lines.js' */
/** @import { LogEntry, LogStream } from '../../../lib/shared/wire/protocol.js' */
/** @import { UnfinishedLine } from './hand-over.js' */
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
 * @typedef {{ path: string, atMs?: number } & Position} Place  Where a chunk begins in a file.
 *   The whole chunk is in this file. `atMs`: when control wrote the chunk. Missing: now.
 */

/**
 * @typedef {object} Followers
 * @property {(follower: Follower, unfinished?: UnfinishedLine[]) => () => void} add
 *   Adds a follower, and returns a function that removes it.
 * @property {(source: Source, chunk: Buffer, at?: Place | null) => void} push
 *   `at`: null if the chunk is not in a file.
 * @property {(source: Source) => void} end  Called when a source has no more output. Sends the
 *   unfinished line.
 */

/**
 * @typedef {object} Source  One stream of one instance.
 * @property {{ id: number, name: string }} slot
 * @property {LogStream} stream
 * @property {LineSplitter | null} splitter  Null: the source is at the beginning of a line.
 * @property {Mark | null} [lineFrom]  Where the unfinished line begins. Null: the source is not in
 *   a line, or not in a file.
 * @property {Mark | null} [writtenTo]  Where the last chunk ended.
 */

/**
 * @param {() => number} nowMs
 * @returns {Followers}
 */
export function createFollowers(nowMs) {
  /** @type {Set<Follower>} */
  const followers = new Set();
  const handOver = createHandOver();

  /**
   * @param {Source} source
   * @param {string[]} lines
   * @param {(Part | null)[]} parts
   * @param {number} atMs
   */
  function send({ slot, stream, lineFrom, writtenTo }, lines, parts, atMs) {
    if (lines.length === 0) return;
    const entries = lines.map((line, at) => ({
      ...{ id: slot.id, name: slot.name, stream, line, atMs },
      ...goesOn(parts[at]),
    }));
    for (const follower of followers)
      if (follower.wants(slot, stream)) follower.take(entries, lineFrom ?? writtenTo ?? null, parts);
  }

  /** @param {Source} source */
  function reset(source) {
    source.splitter = null;
    source.lineFrom = null;
    source.writtenTo = null;
    handOver.noteMidLine(source);
  }

  return {
    add(follower, unfinished = []) {
      for (const line of unfinished) handOver.begin(follower, line, followers.size === 0);
      followers.add(follower);
      return () => {
        followers.delete(follower);
        if (followers.size === 0) handOver.clear();
      };
    },
    push(source, chunk, at = null) {
      if (followers.size === 0 && chunk[chunk.length - 1] === NEWLINE) {
        if (source.splitter) reset(source);
        return;
      }
      handOver.claim(source, at);
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
      handOver.noteMidLine(source);
      send(source, lines, parts, at?.atMs ?? nowMs());
    },
    end(source) {
      const part = source.splitter?.heldPart() ?? null;
      const lines = source.splitter?.end() ?? [];
      source.lineFrom = null;
      send(source, lines, [part], nowMs());
      reset(source);
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
 * @param {Source} source
 * @param {number} heldBytes
 * @param {number} chunkBytes
 * @param {Place | null} at
 */
function noteWritten(source, heldBytes, chunkBytes, at) {
  const { lineFrom, writtenTo } = source;
  if (!at) {
    source.writtenTo = null;
    source.lineFrom = null;
    return;
  }
  const { path, startedAtMs } = at;
  const end = at.offset + chunkBytes;
  // If another source has written after the last chunk of this source, or the file was rotated, the
  // line is in two pieces.
  const isOnePiece = heldBytes <= chunkBytes || isSamePosition(writtenTo, at);
  source.writtenTo = { path, startedAtMs, offset: end };
  if (heldBytes === 0) source.lineFrom = null;
  else if (isOnePiece) source.lineFrom = { path, startedAtMs, offset: end - heldBytes };
  else source.lineFrom = lineFrom ?? source.writtenTo;
}
