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
      if (heldBytes > LINE_MAX_BYTES) lines.push(finish(Buffer.alloc(0)));
      return lines;
    },
    end: () => (heldBytes > 0 ? [finish(Buffer.alloc(0))] : []),
  };
}
