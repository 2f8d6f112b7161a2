/**
 * The same numbers for the same seed: mulberry32.
 * @param {number} seed
 * @returns {() => number}  From 0 up to, not including, 1.
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
