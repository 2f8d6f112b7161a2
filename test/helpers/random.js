/**
 * The same seed gives the same numbers (algorithm: mulberry32).
 * @param {number} seed
 * @returns {() => number}  At least 0, and less than 1.
 */
export function createRandom(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

/**
 * @template T
 * @param {() => number} random
 * @param {readonly T[]} values
 */
export function pickOne(random, values) {
  return values[Math.floor(random() * values.length)];
}
