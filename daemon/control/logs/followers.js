import { createLineSplitter, endOfCharacters } from './lines.js';

/** @import { Part } from '../../../lib/shared/logs/filter.js' */
/** @import { LogEntry, LogStream } from '../../../lib/shared/wire/protocol.js' */
/** @import { Mark } from './history/contents.js' */
/** @import { LineSplitter } from './lines.js' */
/** @import { Position } from './write/open-file.js' */

const NEWLINE = 0x0a;

/**
 * @typedef {object} Follower
 * @property {(slot: { id: number, name: string }, stream: LogStream) => boolean} wants
 * @property {(entries: LogEntry[], mark: Mark | null, parts: (Part | null)[]) => void} take
 *   `mark`: where the first line stands that is not told yet. Null: in no file. `parts`: of each
 *   entry, when it is a part of a line.
 */

/**
 * Where a chunk lies; all of it in one file. `atMs`: when it was read; without it: now.
 * @typedef {{ path: string, atMs?: number } & Position} Place
 */

/**
 * The end of a file that is no whole line, as a new follower has found it: it has been told
 * everything before.
 * @typedef {object} Tail
 * @property {string} path
 * @property {Position} from
 * @property {Position} end
 * @property {Position} to  Where the next byte will be: in the next file, when this one has been
 *   rotated.
 * @property {Buffer} bytes
 * @property {Part | null} part  Which part of the line the bytes are. Null: all of it so far.
 * @property {Omit<LogEntry, 'line'>} entry  Without the line: whose it is.
 */

/**
 * Hands lines to those who follow. While nobody does, a chunk costs next to nothing here.
 * @typedef {object} Followers
 * @property {(follower: Follower, tails?: Tail[]) => () => void} add  Returns what removes it. The
 *   rest of a line that has begun comes when it does, with its beginning.
 * @property {(source: Source, chunk: Buffer, at?: Place | null) => void} push  `at`: null when it
 *   is in no file.
 * @property {(source: Source) => void} end  The source will not write any more: its unfinished line
 *   is told.
 */

/**
 * One stream of one instance.
 * @typedef {object} Source
 * @property {{ id: number, name: string }} slot
 * @property {LogStream} stream
 * @property {LineSplitter | null} splitter  Null: it is at the beginning of a line.
 * @property {Mark | null} [from]  Where the line that it holds begins.
 * @property {Mark | null} [to]  Where its last chunk ended.
 */

/**
 * @param {() => number} nowMs
 * @returns {Followers}
 */
export function createFollowers(nowMs) {
  /** @type {Set<Follower>} */
  const followers = new Set();
  /** Sources that are in the middle of a line, in a file. @type {Set<Source>} */
  const holding = new Set();
  /**
   * Beginnings of lines that were written before this control was there.
   * @type {Map<string, Tail>}
   */
  const seeds = new Map();

  /**
   * @param {Source} source
   * @param {string[]} lines
   * @param {(Part | null)[]} parts
   * @param {number} atMs
   */
  function tell({ slot, stream, from, to }, lines, parts, atMs) {
    if (lines.length === 0) return;
    const entries = lines.map((line) => ({ id: slot.id, name: slot.name, stream, line, atMs }));
    for (const follower of followers)
      if (follower.wants(slot, stream)) follower.take(entries, from ?? to ?? null, parts);
  }

  /**
   * @param {Follower} follower
   * @param {Tail} tail
   */
  function join(follower, tail) {
    const source = firstHolding(holding, tail.path);
    if (!source) return void seeds.set(tail.path, tail);
    if (followers.size === 0 && isAt(source.to, tail.end)) return begin(source, tail);
    // For others who follow, the line began elsewhere; or another source has written in between.
    const bytes = missingBytes(tail, source.from);
    const end = bytes > 0 ? endOfCharacters(tail.bytes.subarray(0, bytes)) : 0;
    if (end > 0)
      follower.take([{ ...tail.entry, line: tail.bytes.toString('utf8', 0, end) }], source.from, [tail.part]);
  }

  /**
   * The file knows better how the line began.
   * @param {Source} source
   * @param {Tail} tail
   */
  function begin(source, tail) {
    source.splitter = createLineSplitter();
    source.splitter.precede(tail.bytes, tail.part);
    source.from = { path: tail.path, ...tail.from };
  }

  /**
   * @param {Source} source
   * @param {Place | null} at
   */
  function sow(source, at) {
    const seed = at && seeds.get(at.path);
    if (!seed) return;
    seeds.delete(at.path);
    if (!source.splitter?.heldBytes() && isAt(at, seed.to)) begin(source, seed);
  }

  return {
    add(follower, tails = []) {
      for (const tail of tails) join(follower, tail);
      followers.add(follower);
      return () => {
        followers.delete(follower);
        if (followers.size === 0) seeds.clear();
      };
    },
    push(source, chunk, at = null) {
      if (followers.size === 0 && chunk[chunk.length - 1] === NEWLINE) {
        if (source.splitter) forget(source, holding);
        return;
      }
      sow(source, at);
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
      mark(source, chunk.length, at);
      if (source.from) holding.add(source);
      else holding.delete(source);
      tell(source, lines, parts, at?.atMs ?? nowMs());
    },
    end(source) {
      const part = source.splitter?.heldPart() ?? null;
      const lines = source.splitter?.end() ?? [];
      source.from = null;
      tell(source, lines, [part], nowMs());
      forget(source, holding);
    },
  };
}

/**
 * @param {Source} source
 * @param {Set<Source>} holding
 */
function forget(source, holding) {
  source.splitter = null;
  source.from = null;
  source.to = null;
  holding.delete(source);
}

/**
 * Notes where a source is, after a chunk.
 * @param {Source} source
 * @param {number} chunkBytes
 * @param {Place | null} at
 */
function mark(source, chunkBytes, at) {
  const { splitter, from, to } = source;
  const heldBytes = splitter?.heldBytes() ?? 0;
  if (!at) {
    source.to = null;
    source.from = null;
    return;
  }
  const { path, startedAtMs } = at;
  const end = at.offset + chunkBytes;
  // Another source may have written in between, or the file was rotated in the middle of the line.
  const isOnePiece = heldBytes <= chunkBytes || (to?.startedAtMs === startedAtMs && to.offset === at.offset);
  source.to = { path, startedAtMs, offset: end };
  if (heldBytes === 0) source.from = null;
  else if (isOnePiece) source.from = { path, startedAtMs, offset: end - heldBytes };
  else source.from = from ?? source.to;
}

/**
 * @param {Position | null | undefined} a
 * @param {Position} b
 */
function isAt(a, b) {
  return a?.startedAtMs === b.startedAtMs && a.offset === b.offset;
}

/** @typedef {Source & { from: Mark }} HoldingSource */

/**
 * @param {Set<Source>} holding
 * @param {string} path
 * @returns {HoldingSource | null}  The one whose line began first.
 */
function firstHolding(holding, path) {
  const there = /** @type {HoldingSource[]} */ ([...holding].filter(({ from }) => from?.path === path));
  const [first] = there.sort(({ from: a }, { from: b }) => a.startedAtMs - b.startedAtMs || a.offset - b.offset);
  return first ?? null;
}

/**
 * How much of a tail a source does not hold that came in the middle of the line.
 * @param {Tail} tail
 * @param {Mark} held
 */
function missingBytes({ from, end, bytes }, held) {
  if (held.startedAtMs === end.startedAtMs) return bytes.length - (end.offset - held.offset);
  return held.startedAtMs === from.startedAtMs ? held.offset - from.offset : 0;
}
