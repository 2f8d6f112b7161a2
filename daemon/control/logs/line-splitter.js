const NEWLINE = 0x0a;
const CARRIAGE_RETURN = 0x0d;

/** A longer line is shown in parts. */
const LINE_MAX_BYTES = 64 * 1024;

/**
 * Cuts chunks into lines, across chunks and without breaking characters.
 * @typedef {object} LineSplitter
 * @property {(chunk: Buffer) => string[]} push  Copies what it keeps.
 * @property {() => string[]} end  The line that has no end.
 */

/** @returns {LineSplitter} */
export function createLineSplitter() {
  /** @type {Buffer[]} */
  let parts = [];
  let heldBytes = 0;

  /** @param {Buffer} end */
  function finish(end) {
    const bytes = parts.length === 0 ? end : Buffer.concat([...parts, end]);
    parts = [];
    heldBytes = 0;
    return bytes.toString('utf8', 0, bytes.at(-1) === CARRIAGE_RETURN ? bytes.length - 1 : bytes.length);
  }

  return {
    push(chunk) {
      const lines = [];
      let from = 0;
      for (let at = chunk.indexOf(NEWLINE); at !== -1; at = chunk.indexOf(NEWLINE, from)) {
        lines.push(finish(chunk.subarray(from, at)));
        from = at + 1;
      }
      if (from < chunk.length) parts.push(Buffer.from(chunk.subarray(from)));
      heldBytes += chunk.length - from;
      if (heldBytes > LINE_MAX_BYTES) {
        const held = Buffer.concat(parts);
        const end = endOfCharacters(held);
        parts = [];
        lines.push(finish(held.subarray(0, end)));
        if (end < held.length) parts.push(held.subarray(end));
        heldBytes = held.length - end;
      }
      return lines;
    },
    end: () => (heldBytes > 0 ? [finish(Buffer.alloc(0))] : []),
  };
}

/**
 * @param {Buffer} bytes
 * @returns {number}  Where the last whole character of UTF-8 ends; the length when it is no UTF-8.
 */
function endOfCharacters(bytes) {
  const { length } = bytes;
  for (let back = 1; back <= Math.min(3, length); back++) {
    const byte = bytes[length - back];
    if ((byte & 0xc0) === 0x80) continue;
    const size = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    return size > back ? length - back : length;
  }
  return length;
}
