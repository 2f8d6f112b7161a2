// Whole numbers in as few bytes as they need: seven bits in each, the last one without the eighth.

const SEVEN_BITS = 0x80;

/** 2^56 is more than any file has bytes, and more than any clock says. */
export const VARINT_MAX_BYTES = 8;

/**
 * @param {Buffer} into
 * @param {number} at
 * @param {number} value  From 0.
 * @returns {number}  Where the next one begins.
 */
export function writeVarint(into, at, value) {
  let rest = value;
  let to = at;
  while (rest >= SEVEN_BITS) {
    into[to++] = (rest % SEVEN_BITS) | SEVEN_BITS;
    rest = Math.floor(rest / SEVEN_BITS);
  }
  into[to++] = rest;
  return to;
}

/**
 * Reads numbers one after the other.
 * @param {Buffer} bytes
 * @param {number} [from]
 */
export function createVarintReader(bytes, from = 0) {
  let at = from;
  return {
    /** Where the next one begins. */
    at: () => at,
    /** @returns {number|null}  Null: there is no whole number any more. */
    next() {
      let value = 0;
      let factor = 1;
      for (let to = at; to < bytes.length && to - at < VARINT_MAX_BYTES; to++) {
        value += (bytes[to] % SEVEN_BITS) * factor;
        factor *= SEVEN_BITS;
        if (bytes[to] >= SEVEN_BITS) continue;
        if (!Number.isSafeInteger(value)) return null;
        at = to + 1;
        return value;
      }
      return null;
    },
  };
}
