import { endOfCharacters, LINE_MAX_BYTES } from './lines.js';

const NEWLINE = 0x0a;
const LINE_END = Buffer.from('\n');
const NOTHING = Buffer.alloc(0);

/** Whole lines with their ends; or a part of a line that is too long, which goes on with the next piece. @typedef {{bytes: Buffer, isPart: boolean}} Piece */

/**
 * Holds back what is not a whole line yet. Where a long line is cut depends on its bytes alone, and not on how they came.
 * @typedef {object} WholeLines
 * @property {(chunk: Buffer) => Piece[]} push  Good until the chunk is overwritten; what is held back is copied.
 * @property {() => Piece[]} end  The line that has no end, with one.
 */

/** @returns {WholeLines} */
export function createWholeLines() {
  let held = NOTHING;
  let heldBytes = 0;

  /** @param {Buffer} bytes @param {boolean} goesOn  Of a long line, for which there is room already. */
  function keep(bytes, goesOn = false) {
    heldBytes = bytes.length;
    if (goesOn && heldBytes <= held.length) bytes.copy(held);
    // Not a part of what it came in, which would be kept alive by it.
    else held = heldBytes === 0 ? NOTHING : Buffer.from(bytes);
  }

  /** Room doubles: byte by byte, a line would be copied as often as it has bytes. @param {Buffer} bytes */
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
      const pieces = heldBytes === 0 ? [] : [{ bytes: Buffer.concat([held.subarray(0, heldBytes), LINE_END]), isPart: false }];
      keep(NOTHING);
      return pieces;
    },
  };
}

/**
 * @param {Buffer} bytes
 * @returns {{pieces: Piece[], rest: Buffer}}
 */
function cut(bytes) {
  const end = bytes.lastIndexOf(NEWLINE) + 1;
  /** @type {Piece[]} */
  const pieces = [];
  let from = 0;
  for (const [start, stop] of longLines(bytes)) {
    if (from < start) pieces.push({ bytes: bytes.subarray(from, start), isPart: false });
    for (from = start; stop - from > LINE_MAX_BYTES; ) {
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
 * @returns {[number, number][]}  From where to where, without the line end. The last one may not have ended.
 */
function longLines(bytes) {
  /** @type {[number, number][]} */
  const found = [];
  for (let from = 0; bytes.length - from > LINE_MAX_BYTES; ) {
    const newline = bytes.indexOf(NEWLINE, from);
    const stop = newline === -1 ? bytes.length : newline;
    if (stop - from > LINE_MAX_BYTES) found.push([from, stop]);
    from = stop + 1;
  }
  return found;
}
