// Knows: which sources are in the middle of a line, and what a new follower gets of that line.
// Must not: read a file (history/ has read it), or send finished lines (followers.js does). It
// changes a source in continueLine() alone.
// Start at: begin(), then claim().
//
// History meets live lines in one turn of the event loop: nothing is left to read, and the follower
// is added. If the file ends in the middle of a line then, no byte of that line may be lost or come
// twice:
//
//                        the follower is added
//                                  |
//   time ------------------------- | ---------------------------->
//   file     one\n  two\n   thr    | ee\n  four\n
//            '-----------'  '-'    | '-----------'
//            history sends   |     | a source pushes: live lines
//                            |
//                    the unfinished line
//
//   Holder of "thr"                             How it comes to the follower
//
//   1. no source: an earlier control read it,   The line waits here. A source that writes where it
//      or its instance has exited               ends claims it and continues it.
//   2. a source, and this is the first          The source continues the line as the file has it,
//      follower                                 which may have more of its beginning.
//   3. a source, and others follow, or another  The source keeps what it holds. The follower gets
//      source has written behind it             the bytes before that at once: two entries.
import { createLineSplitter, endOfCharacters } from './lines.js';

/** @import { Part } from '../../../lib/shared/logs/filter.js' */
/** @import { LogEntry } from '../../../lib/shared/wire/protocol.js' */
/** @import { Follower, Place, Source } from './followers.js' */
/** @import { Mark } from './history/contents.js' */
/** @import { Position } from './write/open-file.js' */

/**
 * The unfinished line at the end of a file. The follower has all lines before it.
 * @typedef {object} UnfinishedLine
 * @property {string} path
 * @property {Position} from
 * @property {Position} end
 * @property {Position} continuesAt  Its next byte; after a rotation in the next file.
 * @property {Buffer} bytes
 * @property {Part | null} part  Which part of the line the bytes are. Null: all of it so far.
 * @property {Omit<LogEntry, 'line'>} entry
 */

/** @typedef {Source & { lineFrom: Mark }} SourceMidLine */

/** Passes unfinished lines from history to sources. One for all followers. */
export function createHandOver() {
  /** Sources in the middle of a line of a file. @type {Set<Source>} */
  const midLine = new Set();
  /** Lines that wait for their source, by path. @type {Map<string, UnfinishedLine>} */
  const unclaimed = new Map();

  return {
    /**
     * Adds a follower in the middle of a line.
     * @param {Follower} follower
     * @param {UnfinishedLine} line
     * @param {boolean} isOnlyFollower  If so, the source may begin the line as the file has it.
     */
    begin(follower, line, isOnlyFollower) {
      const source = firstMidLine(midLine, line.path);
      if (!source) return void unclaimed.set(line.path, line);
      if (isOnlyFollower && isSamePosition(source.writtenTo, line.end)) return continueLine(source, line);
      const bytes = missingBytes(line, source.lineFrom);
      const end = bytes > 0 ? endOfCharacters(line.bytes.subarray(0, bytes)) : 0;
      if (end > 0)
        follower.take([{ ...line.entry, line: line.bytes.toString('utf8', 0, end) }], source.lineFrom, [line.part]);
    },

    /**
     * Called before each chunk of a source. Continues the line that waits for this source.
     * @param {Source} source
     * @param {Place | null} at
     */
    claim(source, at) {
      const line = at && unclaimed.get(at.path);
      if (!line) return;
      unclaimed.delete(at.path);
      if (!source.splitter?.heldBytes() && isSamePosition(at, line.continuesAt)) continueLine(source, line);
    },

    /** @param {Source} source  To be called after each of its chunks. */
    noteMidLine(source) {
      if (source.lineFrom) midLine.add(source);
      else midLine.delete(source);
    },

    /** Called when the last follower has left. */
    clear: () => unclaimed.clear(),
  };
}

/**
 * @param {Position | null | undefined} a
 * @param {Position} b
 */
export function isSamePosition(a, b) {
  return a?.startedAtMs === b.startedAtMs && a.offset === b.offset;
}

/**
 * @param {Source} source
 * @param {UnfinishedLine} line
 */
function continueLine(source, line) {
  source.splitter = createLineSplitter();
  source.splitter.precede(line.bytes, line.part);
  source.lineFrom = { path: line.path, ...line.from };
}

/**
 * @param {Set<Source>} sources
 * @param {string} path
 * @returns {SourceMidLine | null}
 */
function firstMidLine(sources, path) {
  const there = /** @type {SourceMidLine[]} */ ([...sources].filter(({ lineFrom }) => lineFrom?.path === path));
  const [first] = there.sort(
    ({ lineFrom: a }, { lineFrom: b }) => a.startedAtMs - b.startedAtMs || a.offset - b.offset,
  );
  return first ?? null;
}

/**
 * @param {UnfinishedLine} line
 * @param {Mark} heldFrom  Where the bytes begin that a source holds.
 * @returns {number}  The number of bytes of the line before them.
 */
function missingBytes({ from, end, bytes }, heldFrom) {
  if (heldFrom.startedAtMs === end.startedAtMs) return bytes.length - (end.offset - heldFrom.offset);
  return heldFrom.startedAtMs === from.startedAtMs ? heldFrom.offset - from.offset : 0;
}
