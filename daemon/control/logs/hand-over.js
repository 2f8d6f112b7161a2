// Knows: which sources are in the middle of a line, and what a new follower gets of that line.
// Must not: read a file (history/ has read it), or send finished lines (followers.js does).
// Only continueLine() changes a source.
// Start at: begin(), then claim().
//
// A follower switches from history to live lines in one turn of the event loop: in this turn,
// nothing is left to read, and the follower is added. If the file then ends in the middle of a
// line, the follower must get each byte of that line exactly once:
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
//   Holder of "thr"                             How the follower gets "thr"
//
//   1. no source: an earlier control read the   The line waits here. If a source writes where the
//      bytes, or the instance has exited        line ends, it claims and continues the line.
//   2. a source, and this is the first          The source continues the line as the file has it,
//      follower                                 because the file may have more of its beginning.
//   3. a source, but there are other followers, The source keeps the bytes that it holds. The
//      or another source has written after      follower gets the earlier bytes at once, as a
//      this source                              separate entry.
import { createLineSplitter, endOfCharacters } from '../../../lib/shared/daemon/lines.js';

/** @import { Part } from '../../../lib/shared/daemon/lines.js' */
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
 * @property {Position} continuesAt  Position of the next byte. After a rotation, it is in the next
 *   file.
 * @property {Buffer} bytes
 * @property {Part | null} part  Which part of the line `bytes` is. Null: the beginning of the line.
 * @property {Omit<LogEntry, 'line'>} entry
 */

/** @typedef {Source & { lineFrom: Mark }} SourceMidLine */

/** Passes unfinished lines from history to sources. All followers share this object. */
export function createHandOver() {
  /** Sources in the middle of a line of a file. @type {Set<Source>} */
  const midLine = new Set();
  /** Lines that wait for their source, by path. @type {Map<string, UnfinishedLine>} */
  const unclaimed = new Map();

  return {
    /**
     * Called when a follower is added in the middle of `line`.
     * @param {Follower} follower
     * @param {UnfinishedLine} line
     * @param {boolean} isOnlyFollower  True: the source may take the line from the file.
     */
    begin(follower, line, isOnlyFollower) {
      const source = firstMidLine(midLine, line.path);
      if (!source) return void unclaimed.set(line.path, line);
      if (isOnlyFollower && isSamePosition(source.writtenTo, line.end)) return continueLine(source, line);
      const bytes = missingBytes(line, source.lineFrom);
      const end = bytes > 0 ? endOfCharacters(line.bytes.subarray(0, bytes)) : 0;
      if (end > 0)
        follower.take([{ ...line.entry, line: line.bytes.toString('utf8', 0, end), part: true }], source.lineFrom, [
          line.part,
        ]);
    },

    /**
     * Called before each chunk of a source. If the chunk continues the line that waits at this
     * path, the source gets the line. Otherwise, the line is dropped.
     * @param {Source} source
     * @param {Place | null} at
     */
    claim(source, at) {
      const line = at && unclaimed.get(at.path);
      if (!line) return;
      unclaimed.delete(at.path);
      if (!source.splitter?.heldBytes() && isSamePosition(at, line.continuesAt)) continueLine(source, line);
    },

    /** @param {Source} source  Call this after each chunk of the source. */
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
 * @param {Mark} heldFrom  Beginning of the bytes that the source holds.
 * @returns {number}  Number of bytes of the line before `heldFrom`.
 */
function missingBytes({ from, end, bytes }, heldFrom) {
  if (heldFrom.startedAtMs === end.startedAtMs) return bytes.length - (end.offset - heldFrom.offset);
  return heldFrom.startedAtMs === from.startedAtMs ? heldFrom.offset - from.offset : 0;
}
