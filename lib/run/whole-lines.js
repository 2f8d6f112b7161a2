const NEWLINE = 0x0a;
const LINE_END = Buffer.from('\n');
const NOTHING = Buffer.alloc(0);

/** A longer line is passed on in parts. */
const LINE_MAX_BYTES = 64 * 1024;

/**
 * Holds back what is not a whole line yet, so that lines of several processes do not mix.
 * @typedef {object} WholeLines
 * @property {(bytes: Buffer) => Buffer} push  Whole lines; or a part of one that is too long, which does not end with a line end. Copies what it keeps.
 * @property {() => Buffer} end  The line that has no end, with one.
 */

/** @returns {WholeLines} */
export function createWholeLines() {
  let held = NOTHING;
  return {
    push(bytes) {
      const all = held.length === 0 ? bytes : Buffer.concat([held, bytes]);
      const whole = all.lastIndexOf(NEWLINE) + 1;
      const end = all.length - whole > LINE_MAX_BYTES ? endOfCharacters(all, whole) : whole;
      held = end === all.length ? NOTHING : Buffer.from(all.subarray(end));
      return all.subarray(0, end);
    },
    end() {
      const last = held.length === 0 ? NOTHING : Buffer.concat([held, LINE_END]);
      held = NOTHING;
      return last;
    },
  };
}

/**
 * @param {Buffer} bytes
 * @param {number} from
 * @returns {number}  Where the last whole character of UTF-8 ends; the length when it is no UTF-8.
 */
function endOfCharacters(bytes, from) {
  for (let at = bytes.length - 1; at >= Math.max(from, bytes.length - 4); at--) {
    if ((bytes[at] & 0xc0) === 0x80) continue;
    const size = bytes[at] >= 0xf0 ? 4 : bytes[at] >= 0xe0 ? 3 : bytes[at] >= 0xc0 ? 2 : 1;
    return at + size > bytes.length ? at : bytes.length;
  }
  return bytes.length;
}
