import { LINE_MAX_BYTES, createLineSplitter, endOfCharacters } from '../lines.js';
import { readTimes } from '../times/times.js';
import { tryOpenContent } from './contents.js';
import { breathe } from './merge.js';

/** @import { Part } from '../../../../lib/shared/logs/filter.js' */
/** @import { Position } from '../write/open-file.js' */
/** @import { Content, ContentReader } from './contents.js' */

/** What is read in one piece, from the end: the longest line has room in it, wherever it lies. */
const WINDOW_BYTES = 2 * LINE_MAX_BYTES;

const NEWLINE = 0x0a;

/**
 * Where a line begins, and when it was written.
 * @typedef {{ at: Position, sortMs: number }} Start
 */

/**
 * Which lines are looked for.
 * @typedef {object} Wanted
 * @property {number} count
 * @property {number} sinceMs
 * @property {number} untilMs
 * @property {((line: string, part: Part | null) => boolean) | null} isWanted  Null: every line, and
 *   every part of a long one.
 */

/**
 * Says whether a line is looked for. Null: it is, and what is before it is not.
 * @typedef {(bytes: Buffer, sortMs: number, isFirstPart?: boolean) => boolean | null} Judge
 */

/**
 * The last lines of one content that are looked for. A plain file is read from its end, and no more
 * of it than it takes.
 * @param {Content} content
 * @param {Wanted} wanted
 * @param {object} o
 * @param {string} o.timesFolder
 * @param {AbortSignal} o.signal
 * @param {number} o.endBytes  What lies behind is not looked at. Infinity: all there is.
 * @returns {Promise<Start[] | null>}  Newest first. Null when it is not there.
 */
export async function lastStarts(content, wanted, { timesFolder, signal, endBytes }) {
  const reader = tryOpenContent(content, 0);
  if (!reader) return null;
  try {
    const timeOf = timesOf(content, timesFolder, reader.stat().mtimeMs);
    const judge = judgeOf(wanted);
    return content.compression
      ? await fromStream(reader, content, { wanted, timeOf, judge, signal, endBytes })
      : await fromEnd(reader, content, { wanted, timeOf, judge, signal, endBytes });
  } finally {
    reader.close();
  }
}

/**
 * @typedef
 *   {{ wanted: Wanted, timeOf: (offset: number) => number, judge: Judge, signal: AbortSignal, endBytes: number }}
 *   Search
 */

/**
 * @param {ContentReader} reader
 * @param {Content} content
 * @param {Search} search
 */
async function fromEnd(reader, content, { wanted, timeOf, judge, signal, endBytes }) {
  /** @type {Start[]} */
  const found = [];
  const buffer = Buffer.allocUnsafe(WINDOW_BYTES);
  // Whether the line at the end of the window goes on behind it.
  let goesOn = false;
  for (let end = Math.min(reader.stat().size, endBytes); end > 0 && !signal.aborted;) {
    const begin = Math.max(0, end - WINDOW_BYTES);
    const bytes = reader.readAt(buffer.subarray(0, end - begin), begin);
    const { from, isInside } = begin === 0 ? { from: 0, isInside: false } : startOfLine(bytes);
    const lines = linesOf(bytes, from, begin, timeOf);
    for (let at = lines.length - 1; at >= 0; at--) {
      const { start, end: lineEnd, sortMs } = lines[at];
      const isLong = lineEnd - start > LINE_MAX_BYTES || (goesOn && at === lines.length - 1);
      const line = isLong && wanted.isWanted ? firstPart(reader, begin + start) : bytes.subarray(start, lineEnd);
      const verdict = judge(line, sortMs, isLong);
      if (verdict === null) return found;
      // The beginning of a long line decides: it is further on.
      if (isInside && at === 0 && wanted.isWanted) continue;
      if (verdict) found.push({ at: { startedAtMs: content.startedAtMs, offset: begin + start }, sortMs });
      if (found.length >= wanted.count) return found;
    }
    end = begin + from;
    goesOn = isInside;
    await breathe();
  }
  return found;
}

/**
 * @param {ContentReader} reader  Of a plain file.
 * @param {number} offset
 */
function firstPart(reader, offset) {
  const bytes = reader.readAt(Buffer.allocUnsafe(LINE_MAX_BYTES), offset);
  return bytes.subarray(0, endOfCharacters(bytes));
}

/**
 * @param {ContentReader} reader
 * @param {Content} content
 * @param {Search} search
 */
async function fromStream(reader, content, { wanted, timeOf, judge, signal, endBytes }) {
  /** @type {Start[]} */
  let found = [];
  const splitter = createLineSplitter();
  let chunkAt = 0;
  let offset = 0;
  /**
   * @param {Buffer} bytes
   * @param {Part | null} part
   */
  const look = (bytes, part) => {
    const sortMs = timeOf(offset);
    if (offset >= endBytes || (part?.isFirst === false && wanted.isWanted)) return;
    if (judge(bytes, sortMs, part?.isFirst)) found.push({ at: { startedAtMs: content.startedAtMs, offset }, sortMs });
  };
  for (let chunk = await reader.read(Infinity); chunk && !signal.aborted; chunk = await reader.read(Infinity)) {
    splitter.cut(chunk, (bytes, to, part) => {
      look(bytes, part);
      offset = chunkAt + to;
    });
    chunkAt += chunk.length;
    if (found.length > 2 * wanted.count) found = found.slice(-wanted.count);
    await breathe();
  }
  if (splitter.heldBytes() > 0) look(splitter.held(), splitter.heldPart());
  return found.slice(-wanted.count).reverse();
}

/**
 * @param {Buffer} bytes
 * @param {number} from
 * @param {number} begin  Of the bytes in the file.
 * @param {(offset: number) => number} timeOf
 */
function linesOf(bytes, from, begin, timeOf) {
  /** @type {{ start: number, end: number, sortMs: number }[]} */
  const lines = [];
  for (let start = from; start < bytes.length;) {
    const newline = bytes.indexOf(NEWLINE, start);
    const end = newline === -1 ? bytes.length : newline;
    lines.push({ start, end, sortMs: timeOf(begin + start) });
    start = end + 1;
  }
  return lines;
}

/**
 * @param {Buffer} bytes  They begin anywhere.
 * @returns {{ from: number, isInside: boolean }}  Where the first line begins that is whole; in an
 *   endless line, where a character does.
 */
function startOfLine(bytes) {
  // The last one ends the last line; none begins after it.
  const newline = bytes.subarray(0, -1).indexOf(NEWLINE);
  if (newline !== -1) return { from: newline + 1, isInside: false };
  let from = 0;
  while (from < 3 && (bytes[from] & 0xc0) === 0x80) from++;
  return { from, isInside: true };
}

/**
 * @param {Wanted} wanted
 * @returns {Judge}
 */
function judgeOf({ sinceMs, untilMs, isWanted }) {
  return (bytes, sortMs, isFirstPart = false) => {
    if (sortMs < sinceMs) return null;
    if (sortMs > untilMs) return false;
    if (isWanted === null) return true;
    const text = bytes.toString('utf8', 0, bytes.at(-1) === 0x0d ? bytes.length - 1 : bytes.length);
    return isWanted(text, isFirstPart ? { line: {}, isFirst: true } : null);
  };
}

/**
 * @param {Content} content
 * @param {string} timesFolder
 * @param {number} changedAtMs
 * @returns {(offset: number) => number}
 */
function timesOf({ plainPath, startedAtMs, endedAtMs }, timesFolder, changedAtMs) {
  const times = readTimes(timesFolder, plainPath);
  const fallbackMs = endedAtMs ?? Math.floor(changedAtMs);
  if (times?.startedAtMs !== startedAtMs) return () => fallbackMs;
  return (offset) => times.atOf(offset) ?? fallbackMs;
}

/**
 * The first line that begins at an offset or behind it.
 * @param {Content} content
 * @param {number} offset
 * @returns {Promise<number>}  The end, when there is none.
 */
export async function lineFrom(content, offset) {
  if (offset === 0) return 0;
  const reader = tryOpenContent(content, offset - 1);
  if (!reader) return offset; // It has been removed since, which is told when it is read.
  try {
    let at = offset - 1;
    for (let chunk = await reader.read(Infinity); chunk; chunk = await reader.read(Infinity)) {
      const newline = chunk.indexOf(NEWLINE);
      if (newline !== -1) return at + newline + 1;
      at += chunk.length;
      await breathe();
    }
    return at;
  } finally {
    reader.close();
  }
}
