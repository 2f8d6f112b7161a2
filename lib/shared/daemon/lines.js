// The line cutters of keeper, control and command. Each one is a layer over createWholeLines().

const NEWLINE = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const LINE_END = Buffer.from('\n');
const NOTHING = Buffer.alloc(0);

/** A longer line of a log is cut into parts. */
export const LINE_MAX_BYTES = 64 * 1024;

/** @typedef {{ isFirst: boolean, isLast: boolean }} Part  A part of a long line. */

/**
 * @typedef {object} LineSplitter
 * @property {(chunk: Buffer) => string[]} push
 * @property {(chunk: Buffer, take: TakeLine) => void} cut  Like push(), but one line at a time.
 * @property {(chunk: Buffer) => void} skip  Like push(), but drops the lines. Cheap.
 * @property {() => string[]} end  Ends the unfinished line and returns it.
 * @property {() => number} heldBytes  Size of the held part of the unfinished line.
 * @property {() => Buffer} held
 * @property {() => Part | null} heldPart
 *   Which part of their line the held bytes are. Null: no part of the line was passed on yet.
 * @property {(bytes: Buffer, isRest: boolean) => void} precede
 *   Starts with the given bytes of an unfinished line. `isRest`: they are not its first part.
 */

/**
 * @typedef {(bytes: Buffer, to: number, part: Part | null) => void} TakeLine  `bytes` are valid
 *   until the function returns. `to`: where the next line or part begins in the chunk. `part`:
 *   null for a whole line.
 */

/**
 * Cuts chunks into lines without their line ends.
 * @param {number} [maxBytes]
 * @returns {LineSplitter}
 */
export function createLineSplitter(maxBytes = LINE_MAX_BYTES) {
  const whole = createWholeLines(maxBytes);
  /** Whether a part of the unfinished line was passed on. */
  let isInside = false;

  /** @returns {Part | null} */
  const heldPart = () => (isInside ? { isFirst: false, isLast: true } : null);

  /**
   * @param {Buffer} chunk
   * @param {TakeLine} take
   */
  function cut(chunk, take) {
    let at = -whole.heldBytes();
    for (const { bytes, isPart } of whole.push(chunk)) {
      if (isPart) {
        take(bytes, at + bytes.length, { isFirst: !isInside, isLast: false });
        isInside = true;
      }
      for (let from = 0, end = 0; !isPart && from < bytes.length; from = end + 1) {
        end = bytes.indexOf(NEWLINE, from);
        const part = heldPart();
        isInside = false;
        take(
          bytes.subarray(from, bytes[end - 1] === CARRIAGE_RETURN && end > from ? end - 1 : end),
          at + end + 1,
          part,
        );
      }
      at += bytes.length;
    }
  }

  /** @param {Buffer} chunk */
  function push(chunk) {
    /** @type {string[]} */
    const lines = [];
    cut(chunk, (bytes) => void lines.push(bytes.toString('utf8')));
    return lines;
  }

  return {
    cut,
    push,
    skip(chunk) {
      const newline = chunk.lastIndexOf(NEWLINE);
      if (newline !== -1) {
        whole.hold(NOTHING);
        isInside = false;
      }
      cut(chunk.subarray(newline + 1), () => {});
    },
    end() {
      const lines = whole.heldBytes() === 0 ? [] : push(LINE_END);
      isInside = false;
      return lines;
    },
    heldBytes: whole.heldBytes,
    held: whole.held,
    heldPart,
    precede(bytes, isRest) {
      whole.hold(bytes);
      isInside = isRest;
    },
  };
}

/**
 * For messages. Skips empty lines. At a line above the limit, calls onTooLong once and ignores all
 * later data.
 * @param {object} o
 * @param {number} o.maxBytes  Without the newline.
 * @param {(line: string) => void} o.onLine
 * @param {() => void} o.onTooLong  The caller closes the connection.
 * @returns {(chunk: Buffer) => void}  Takes the received data.
 */
export function createLineReader({ maxBytes, onLine, onTooLong }) {
  const lines = createLineSplitter(maxBytes);
  let isGivenUp = false;
  return (chunk) => {
    if (isGivenUp) return;
    lines.cut(chunk, (bytes, _to, part) => {
      if (isGivenUp) return;
      if (part === null) return bytes.length > 0 ? onLine(bytes.toString('utf8')) : undefined;
      isGivenUp = true;
      onTooLong();
    });
    if (isGivenUp) lines.precede(NOTHING, false);
  };
}

/**
 * @typedef {{ bytes: Buffer, isPart: boolean }} Piece  Whole lines with line ends, or a part
 *   of a long line. In the second case, the line continues in the next piece.
 */

/**
 * @typedef {object} WholeLines
 * @property {(chunk: Buffer) => Piece[]} push  The pieces are valid until the chunk is overwritten.
 * @property {() => Piece[]} end  Returns the unfinished line with a line end.
 * @property {() => number} heldBytes  Size of the held part of the unfinished line.
 * @property {() => Buffer} held
 * @property {(bytes: Buffer) => void} hold  Replaces the held part.
 */

/**
 * Holds back incomplete lines, and copies what it holds. Never splits a character. Cuts a long line
 * always at the same places, independent of the size of the chunks.
 * @param {number} [maxBytes]  A longer line is cut into parts.
 * @returns {WholeLines}
 */
export function createWholeLines(maxBytes = LINE_MAX_BYTES) {
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

  /** @param {Buffer} chunk */
  function push(chunk) {
    if (heldBytes + chunk.length <= maxBytes && !chunk.includes(NEWLINE)) {
      add(chunk);
      return [];
    }
    const { pieces, rest } = cut(
      heldBytes === 0 ? chunk : Buffer.concat([held.subarray(0, heldBytes), chunk]),
      maxBytes,
    );
    keep(rest, pieces.at(-1)?.isPart);
    return pieces;
  }

  return {
    push,
    end: () => (heldBytes === 0 ? [] : push(LINE_END)),
    heldBytes: () => heldBytes,
    held: () => Buffer.from(held.subarray(0, heldBytes)),
    hold: (bytes) => keep(bytes),
  };
}

/**
 * @param {Buffer} bytes
 * @param {number} maxBytes
 * @returns {{ pieces: Piece[], rest: Buffer }}
 */
function cut(bytes, maxBytes) {
  const end = bytes.lastIndexOf(NEWLINE) + 1;
  // Most chunks are whole lines, which need no copy and no search for long lines.
  if (end === bytes.length && end <= maxBytes) return { pieces: [{ bytes, isPart: false }], rest: NOTHING };
  /** @type {Piece[]} */
  const pieces = [];
  let from = 0;
  for (const [start, stop] of longLines(bytes, maxBytes)) {
    if (from < start) pieces.push({ bytes: bytes.subarray(from, start), isPart: false });
    for (from = start; stop - from > maxBytes;) {
      const part = bytes.subarray(from, from + maxBytes);
      pieces.push({ bytes: part.subarray(0, endOfCharacters(part)), isPart: true });
      from += pieces[pieces.length - 1].bytes.length;
    }
  }
  if (from < end) pieces.push({ bytes: bytes.subarray(from, end), isPart: false });
  return { pieces, rest: bytes.subarray(Math.max(from, end)) };
}

/**
 * @param {Buffer} bytes
 * @param {number} maxBytes
 * @returns {[number, number][]}  Begin and end of each line that is longer than maxBytes, without
 *   the line end. The last line may be incomplete.
 */
function longLines(bytes, maxBytes) {
  /** @type {[number, number][]} */
  const found = [];
  for (let from = 0; bytes.length - from > maxBytes;) {
    const newline = bytes.indexOf(NEWLINE, from);
    const stop = newline === -1 ? bytes.length : newline;
    if (stop - from > maxBytes) found.push([from, stop]);
    from = stop + 1;
  }
  return found;
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
