/** @import { Part } from '../../../lib/shared/logs/filter.js' */

const NEWLINE = 0x0a;
const CARRIAGE_RETURN = 0x0d;

/** A longer line is cut into parts. */
export const LINE_MAX_BYTES = 64 * 1024;

/**
 * Cuts chunks into lines. Never splits a character. Cuts a long line always at the same places,
 * independent of the size of the chunks.
 * @typedef {object} LineSplitter
 * @property {(chunk: Buffer) => string[]} push  Copies what it keeps.
 * @property {(chunk: Buffer, take: TakeLine) => void} cut  Like push(), but one line at a time.
 * @property {(chunk: Buffer) => void} skip  Like push(), but drops the lines. Cheap.
 * @property {() => string[]} end  Ends the unfinished line and returns it.
 * @property {() => number} heldBytes  Size of the held part of the unfinished line.
 * @property {() => Buffer} held
 * @property {() => Part | null} heldPart
 *   Which part of their line the held bytes are. Null: no part of the line was passed on yet.
 * @property {(bytes: Buffer, part?: Part | null) => void} precede
 *   Inserts bytes before the held bytes. `part`: which part of their line the new bytes are.
 */

/**
 * @typedef {(bytes: Buffer, to: number, part: Part | null) => void} TakeLine  `bytes` are valid
 *   until the function returns. `to`: where the next line or part begins in the chunk. `part`:
 *   null for a whole line.
 */

/** @returns {LineSplitter} */
export function createLineSplitter() {
  /** @type {Buffer[]} */
  let parts = [];
  let heldBytes = 0;
  /** Identifies the unfinished line, if a part of the line was passed on. @type {object | null} */
  let longLine = null;

  /** @returns {Part | null} */
  const heldPart = () => longLine && { line: longLine, isFirst: false, isLast: true };

  /** @param {Buffer} bytes */
  function hold(bytes) {
    if (bytes.length > 0) parts.push(Buffer.from(bytes));
    heldBytes += bytes.length;
  }

  /** @param {Buffer} end */
  function finish(end) {
    const bytes = parts.length === 0 ? end : Buffer.concat([...parts, end]);
    parts = [];
    heldBytes = 0;
    return bytes;
  }

  /**
   * @param {Buffer} chunk
   * @param {TakeLine} take
   */
  function cut(chunk, take) {
    let from = 0;
    for (;;) {
      const at = chunk.indexOf(NEWLINE, from);
      const to = at === -1 ? chunk.length : at;
      while (heldBytes + to - from > LINE_MAX_BYTES) {
        const until = from + LINE_MAX_BYTES - heldBytes;
        const bytes = finish(chunk.subarray(from, until));
        const end = endOfCharacters(bytes);
        hold(bytes.subarray(end));
        const isFirst = longLine === null;
        longLine ??= {};
        take(bytes.subarray(0, end), until - heldBytes, { line: longLine, isFirst, isLast: false });
        from = until;
      }
      if (at === -1) return hold(chunk.subarray(from));
      const bytes = finish(chunk.subarray(from, at));
      const part = heldPart();
      longLine = null;
      take(bytes.at(-1) === CARRIAGE_RETURN ? bytes.subarray(0, -1) : bytes, at + 1, part);
      from = at + 1;
    }
  }

  return {
    cut,
    push(chunk) {
      /** @type {string[]} */
      const lines = [];
      cut(chunk, (bytes) => void lines.push(bytes.toString('utf8')));
      return lines;
    },
    skip(chunk) {
      const newline = chunk.lastIndexOf(NEWLINE);
      if (newline !== -1) {
        finish(chunk.subarray(0, 0));
        longLine = null;
      }
      const rest = chunk.subarray(newline + 1);
      if (rest.length > 0) cut(rest, () => {});
    },
    end() {
      longLine = null;
      if (heldBytes === 0) return [];
      const bytes = finish(Buffer.alloc(0));
      return [bytes.toString('utf8', 0, bytes.at(-1) === CARRIAGE_RETURN ? bytes.length - 1 : bytes.length)];
    },
    heldBytes: () => heldBytes,
    held: () => Buffer.concat(parts),
    heldPart,
    precede(bytes, part = null) {
      longLine = part && part.line;
      parts.unshift(Buffer.from(bytes));
      heldBytes += bytes.length;
    },
  };
}

/**
 * @param {Buffer} bytes
 * @returns {number}  Where the last whole UTF-8 character ends; the length if the bytes are not
 *   UTF-8.
 */
export function endOfCharacters(bytes) {
  const { length } = bytes;
  for (let back = 1; back <= Math.min(3, length); back++) {
    const byte = bytes[length - back];
    if ((byte & 0xc0) === 0x80) continue;
    const size = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    return size > back ? length - back : length;
  }
  return length;
}

const LINE_END = Buffer.from('\n');
const NOTHING = Buffer.alloc(0);

/**
 * @typedef {{ bytes: Buffer, isPart: boolean }} Piece  Whole lines with line ends, or a part
 *   of a long line. In the second case, the line continues in the next piece.
 */

/**
 * Holds back incomplete lines. Cuts a long line always at the same places.
 * @typedef {object} WholeLines
 * @property {(chunk: Buffer) => Piece[]} push  The pieces are valid until the chunk is overwritten.
 * @property {() => Piece[]} end  Returns the unfinished line with a line end.
 */

/** @returns {WholeLines} */
export function createWholeLines() {
  let held = NOTHING;
  let heldBytes = 0;

  /**
   * @param {Buffer} bytes
   * @param {boolean} goesOn  True: `bytes` continue a long line. The old buffer is used again if
   *   `bytes` fit.
   */
  function keep(bytes, goesOn = false) {
    heldBytes = bytes.length;
    if (goesOn && heldBytes <= held.length) bytes.copy(held);
    // Copies the bytes, because a subarray would keep the whole chunk in memory.
    else held = heldBytes === 0 ? NOTHING : Buffer.from(bytes);
  }

  /**
   * Appends to the held bytes. Doubles a full buffer, because a buffer that grows byte by byte
   * would copy the line for each byte.
   * @param {Buffer} bytes
   */
  function add(bytes) {
    if (heldBytes + bytes.length > held.length) {
      const larger = Buffer.allocUnsafeSlow(2 * (heldBytes + bytes.length));
      held.copy(larger, 0, 0, heldBytes);
      held = larger;
    }
    heldBytes += bytes.copy(held, heldBytes);
  }

  return {
    push(chunk) {
      if (heldBytes + chunk.length <= LINE_MAX_BYTES && !chunk.includes(NEWLINE)) {
        add(chunk);
        return [];
      }
      const { pieces, rest } = cut(heldBytes === 0 ? chunk : Buffer.concat([held.subarray(0, heldBytes), chunk]));
      keep(rest, pieces.at(-1)?.isPart);
      return pieces;
    },
    end() {
      const pieces =
        heldBytes === 0 ? [] : [{ bytes: Buffer.concat([held.subarray(0, heldBytes), LINE_END]), isPart: false }];
      keep(NOTHING);
      return pieces;
    },
  };
}

/**
 * @param {Buffer} bytes
 * @returns {{ pieces: Piece[], rest: Buffer }}
 */
function cut(bytes) {
  const end = bytes.lastIndexOf(NEWLINE) + 1;
  /** @type {Piece[]} */
  const pieces = [];
  let from = 0;
  for (const [start, stop] of longLines(bytes)) {
    if (from < start) pieces.push({ bytes: bytes.subarray(from, start), isPart: false });
    for (from = start; stop - from > LINE_MAX_BYTES;) {
      const part = bytes.subarray(from, from + LINE_MAX_BYTES);
      pieces.push({ bytes: part.subarray(0, endOfCharacters(part)), isPart: true });
      from += pieces[pieces.length - 1].bytes.length;
    }
  }
  if (from < end) pieces.push({ bytes: bytes.subarray(from, end), isPart: false });
  return { pieces, rest: bytes.subarray(Math.max(from, end)) };
}

/**
 * @param {Buffer} bytes
 * @returns {[number, number][]}  Begin and end of each line that is longer than
 *   LINE_MAX_BYTES, without the line end. The last line may be incomplete.
 */
function longLines(bytes) {
  /** @type {[number, number][]} */
  const found = [];
  for (let from = 0; bytes.length - from > LINE_MAX_BYTES;) {
    const newline = bytes.indexOf(NEWLINE, from);
    const stop = newline === -1 ? bytes.length : newline;
    if (stop - from > LINE_MAX_BYTES) found.push([from, stop]);
    from = stop + 1;
  }
  return found;
}
