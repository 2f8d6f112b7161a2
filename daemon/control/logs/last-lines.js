const MAX_BYTES = 4096;
const MAX_LINES = 20;
const NEWLINE = 0x0a;

/**
 * Remembers the end of a stream, for the record of a death.
 * @typedef {object} LastLines
 * @property {(chunk: Buffer) => void} push  Copies what it keeps.
 * @property {() => string[]} lines  At most 20, of at most 4 KiB together.
 */

/** @returns {LastLines} */
export function createLastLines() {
  let kept = Buffer.alloc(0);
  let isCut = false;
  return {
    push(chunk) {
      isCut ||= kept.length + chunk.length > MAX_BYTES;
      kept = chunk.length >= MAX_BYTES ? Buffer.from(chunk.subarray(-MAX_BYTES)) : Buffer.concat([kept.subarray(-(MAX_BYTES - chunk.length)), chunk]);
    },
    lines() {
      const newline = kept.indexOf(NEWLINE);
      // The first line has lost its beginning, unless it is all there is.
      const whole = isCut && newline !== -1 && newline < kept.length - 1 ? kept.subarray(newline + 1) : kept;
      const lines = whole.toString('utf8').split(/\r?\n/);
      if (lines.at(-1) === '') lines.pop();
      return lines.slice(-MAX_LINES);
    },
  };
}
