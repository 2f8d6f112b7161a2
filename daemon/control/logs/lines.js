/** @import { Part } from '../../../lib/shared/logs/filter.js' */

const NEWLINE = 0x0a;
const CARRIAGE_RETURN = 0x0d;

/** A longer line is shown in parts. */
export const LINE_MAX_BYTES = 64 * 1024;

/**
 * Cuts chunks into lines, across chunks and without breaking characters. Where a line that is too long is cut depends on the line alone, not on the chunks it came in.
 * @typedef {object} LineSplitter
 * @property {(chunk: Buffer) => string[]} push  Copies what it keeps.
 * @property {(chunk: Buffer, take: TakeLine) => void} cut  The same, line by line.
 * @property {(chunk: Buffer) => void} skip  The same for lines that nobody wants; cheap.
 * @property {() => string[]} end  The line that has no end.
 * @property {() => number} heldBytes  Of that line.
 * @property {() => Buffer} held
 * @property {() => object|null} inside  Of that line: what its parts have in common. Null: none has been handed over yet.
 * @property {(bytes: Buffer, inside?: object|null) => void} precede  That line has begun with these bytes, behind parts that were handed over already.
 */

/** `bytes` are valid until it returns. `to` is where the next line begins, from the beginning of the chunk. `part`: of a line that is too long; null for a whole one. @typedef {(bytes: Buffer, to: number, part: Part|null) => void} TakeLine */

/**
 * @param {object|null} [inside]  It begins in the middle of a line, after such a part.
 * @returns {LineSplitter}
 */
export function createLineSplitter(inside = null) {
  /** @type {Buffer[]} */
  let parts = [];
  let heldBytes = 0;

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

  /** @param {Buffer} chunk @param {TakeLine} take */
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
        const isFirst = inside === null;
        inside ??= {};
        take(bytes.subarray(0, end), until - heldBytes, { line: inside, isFirst });
        from = until;
      }
      if (at === -1) return hold(chunk.subarray(from));
      const bytes = finish(chunk.subarray(from, at));
      /** @type {Part|null} */
      const part = inside && { line: inside, isFirst: false };
      inside = null;
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
        inside = null;
      }
      const rest = chunk.subarray(newline + 1);
      if (rest.length > 0) cut(rest, () => {});
    },
    end() {
      inside = null;
      if (heldBytes === 0) return [];
      const bytes = finish(Buffer.alloc(0));
      return [bytes.toString('utf8', 0, bytes.at(-1) === CARRIAGE_RETURN ? bytes.length - 1 : bytes.length)];
    },
    heldBytes: () => heldBytes,
    held: () => Buffer.concat(parts),
    inside: () => inside,
    precede(bytes, before = null) {
      inside = before;
      parts.unshift(Buffer.from(bytes));
      heldBytes += bytes.length;
    },
  };
}

/**
 * @param {Buffer} bytes
 * @returns {number}  Where the last whole character of UTF-8 ends; the length when it is no UTF-8.
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
