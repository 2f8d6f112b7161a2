import { LINE_MAX_BYTES, createLineSplitter, endOfCharacters } from '../../../../lib/shared/daemon/lines.js';
import { createYield, yieldToEventLoop } from '../../../../lib/shared/yield.js';
import { openContent, readLineTimes } from './content-reader.js';

/** @import { Part } from '../../../../lib/shared/daemon/lines.js' */
/** @import { Sender } from '../../../../lib/shared/logs/filter.js' */
/** @import { Position } from '../write/open-file.js' */
/** @import { ContentReader, WrittenAt } from './content-reader.js' */
/** @import { Content } from './contents.js' */

/** Size of the blocks in which a file is read from its end. A line of LINE_MAX_BYTES fits. */
const WINDOW_BYTES = 2 * LINE_MAX_BYTES;

/** Only the end of a longer line may be shown. */
const WHOLE_MAX_BYTES = 16 * 1024 * 1024;

const NEWLINE = 0x0a;

/**
 * @typedef {{ at: Position, sortMs: number }} Start  Where a line begins, and when it was written.
 */

/**
 * @typedef {object} LineQuery
 * @property {number} count
 * @property {number} sinceMs
 * @property {number} untilMs
 * @property {((line: string, part: Part | null, from?: Sender) => boolean) | null} isWanted
 *   Null: every line is wanted.
 */

/**
 * @typedef {(bytes: Buffer, sortMs: number, isFirstPart?: boolean) => boolean | null} Judge
 *   Whether a line is wanted. Null: this line and all earlier lines are too old.
 */

/**
 * Finds the last wanted lines. Reads a plain file from its end, and only as far as needed.
 * @param {Content} content
 * @param {LineQuery} wanted
 * @param {object} o
 * @param {string} o.timesFolder
 * @param {AbortSignal} o.signal
 * @param {number} o.endBytes  Lines after this offset do not count. Infinity: all lines.
 * @returns {Promise<Start[] | null>}  Newest first. Null if the content cannot be opened.
 */
export async function lastStarts(content, wanted, { timesFolder, signal, endBytes }) {
  const reader = openContent(content, 0);
  if (!reader) return null;
  try {
    const writtenAt = readLineTimes(content, reader, timesFolder);
    const find = content.compression ? fromStream : fromEnd;
    return await find(reader, content, { wanted, writtenAt, judge: createJudge(wanted), signal, endBytes });
  } finally {
    reader.close();
  }
}

/**
 * @typedef {object} Search
 * @property {LineQuery} wanted
 * @property {(offset: number) => WrittenAt} writtenAt
 * @property {Judge} judge
 * @property {AbortSignal} signal
 * @property {number} endBytes
 */

/**
 * @param {ContentReader} reader
 * @param {Content} content
 * @param {Search} search
 */
async function fromEnd(reader, content, { wanted, writtenAt, judge, signal, endBytes }) {
  /** @type {Start[]} */
  const found = [];
  const buffer = Buffer.allocUnsafe(WINDOW_BYTES);
  // Whether the line at the end of the window continues after the window.
  let goesOn = false;
  let longEnd = 0;
  const turn = createYield();
  for (let end = Math.min(reader.stat().size, endBytes); end > 0 && !signal.aborted;) {
    const begin = Math.max(0, end - WINDOW_BYTES);
    const bytes = reader.readAt(buffer.subarray(0, end - begin), begin);
    const { from, isInside } = begin === 0 ? { from: 0, isInside: false } : startOfLine(bytes);
    const lines = readLines(bytes, from, begin, writtenAt);
    if (!goesOn) longEnd = end;
    for (let at = lines.length - 1; at >= 0 && !signal.aborted; at--) {
      const pause = turn();
      if (pause) await pause;
      const { start, end: lineEnd, sortMs } = lines[at];
      const isLong = lineEnd - start > LINE_MAX_BYTES || (goesOn && at === lines.length - 1);
      const line = isLong && wanted.isWanted ? firstPart(reader, begin + start) : bytes.subarray(start, lineEnd);
      const verdict = judge(line, sortMs, isLong);
      if (verdict === null) return found;
      // Skips this part of a long line. Its beginning is in the window that is read next.
      if (isInside && at === 0) {
        if (wanted.isWanted || longEnd - begin < WHOLE_MAX_BYTES) continue;
        longEnd = begin + from;
      }
      if (verdict) found.push({ at: { startedAtMs: content.startedAtMs, offset: begin + start }, sortMs });
      if (found.length >= wanted.count) return found;
    }
    end = begin + from;
    goesOn = isInside;
    await yieldToEventLoop();
  }
  return found;
}

/**
 * @param {ContentReader} reader  Reader of a plain file.
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
async function fromStream(reader, content, { wanted, writtenAt, judge, signal, endBytes }) {
  /** @type {Start[]} */
  let found = [];
  const splitter = createLineSplitter();
  let blockAt = 0;
  let offset = 0;
  const turn = createYield();
  /**
   * @param {Buffer} bytes
   * @param {Part | null} part
   */
  const judgeLine = (bytes, part) => {
    const { sortMs } = writtenAt(offset);
    if (offset >= endBytes || part?.isFirst === false) return;
    if (judge(bytes, sortMs, part?.isFirst)) found.push({ at: { startedAtMs: content.startedAtMs, offset }, sortMs });
  };
  for (let block = await reader.read(Infinity); block && !signal.aborted; block = await reader.read(Infinity)) {
    /** @type {{ bytes: Buffer, to: number, part: Part | null }[]} */
    const lines = [];
    splitter.cut(block, (bytes, to, part) => void lines.push({ bytes, to, part }));
    for (const { bytes, to, part } of lines) {
      const pause = turn();
      if (pause) await pause;
      judgeLine(bytes, part);
      offset = blockAt + to;
    }
    blockAt += block.length;
    if (found.length > 2 * wanted.count) found = found.slice(-wanted.count);
    await yieldToEventLoop();
  }
  if (splitter.heldBytes() > 0) judgeLine(splitter.held(), splitter.heldPart());
  return found.slice(-wanted.count).reverse();
}

/**
 * @param {Buffer} bytes
 * @param {number} from
 * @param {number} begin  Position of the bytes in the file.
 * @param {(offset: number) => WrittenAt} writtenAt
 */
function readLines(bytes, from, begin, writtenAt) {
  /** @type {{ start: number, end: number, sortMs: number }[]} */
  const lines = [];
  for (let start = from; start < bytes.length;) {
    const newline = bytes.indexOf(NEWLINE, start);
    const end = newline === -1 ? bytes.length : newline;
    lines.push({ start, end, sortMs: writtenAt(begin + start).sortMs });
    start = end + 1;
  }
  return lines;
}

/**
 * @param {Buffer} bytes  The block may begin inside a line or a character.
 * @returns {{ from: number, isInside: boolean }}
 *   `from`: where the first line begins. `isInside`: no line begins in this block, and `from` is
 *   where the first whole character begins.
 */
function startOfLine(bytes) {
  // Ignores a newline at the very end, because no line of this block follows it.
  const newline = bytes.subarray(0, -1).indexOf(NEWLINE);
  if (newline !== -1) return { from: newline + 1, isInside: false };
  let from = 0;
  while (from < 3 && (bytes[from] & 0xc0) === 0x80) from++;
  return { from, isInside: true };
}

/**
 * @param {LineQuery} wanted
 * @returns {Judge}
 */
function createJudge({ sinceMs, untilMs, isWanted }) {
  return (bytes, sortMs, isFirstPart = false) => {
    if (sortMs < sinceMs) return null;
    if (sortMs > untilMs) return false;
    if (isWanted === null) return true;
    const text = bytes.toString('utf8', 0, bytes.at(-1) === 0x0d ? bytes.length - 1 : bytes.length);
    return isWanted(text, isFirstPart ? { isFirst: true, isLast: false } : null);
  };
}

/**
 * Finds the first line that begins at or after an offset.
 * @param {Content} content
 * @param {number} offset
 * @param {AbortSignal} signal
 * @returns {Promise<number>}  Offset of the line. If no line begins within LINE_MAX_BYTES: the end
 *   of these bytes. If the content cannot be opened: the given offset.
 */
export async function findLineFrom(content, offset, signal) {
  if (offset === 0) return 0;
  const reader = openContent(content, offset - 1);
  if (!reader) return offset; // Usually the file was removed. Its PathReader then reports a gap.
  try {
    let at = offset - 1;
    for (let block = await reader.read(Infinity); block; block = await reader.read(Infinity)) {
      const newline = block.indexOf(NEWLINE);
      if (newline !== -1) return at + newline + 1;
      at += block.length;
      if (signal.aborted || at - offset > LINE_MAX_BYTES) break;
      await yieldToEventLoop();
    }
    return at;
  } finally {
    reader.close();
  }
}
