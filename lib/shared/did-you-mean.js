/** Maximum Levenshtein distance of similar words. A word is also similar to a part of the word. */
const NEAR = 2;

const PART_MIN = 3;

/**
 * @param {string} given
 * @param {string[]} words
 * @returns {string[]}  The nearest first.
 */
export function nearWords(given, words) {
  const isPart = (/** @type {string} */ part, /** @type {string} */ word) =>
    part.length >= PART_MIN && word.includes(part);
  const far = (/** @type {string} */ word) => distance(word.toLowerCase(), given.toLowerCase());
  const isClose = (/** @type {string} */ word) => far(word) <= Math.min(NEAR, given.length - 1);
  return words
    .filter((word) => isPart(given, word) || isPart(word, given) || isClose(word))
    .sort((a, b) => far(a) - far(b));
}

/**
 * @param {string} a
 * @param {string} b
 */
function distance(a, b) {
  let row = Array.from({ length: b.length + 1 }, (_, at) => at);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++)
      next[j] = Math.min(row[j] + 1, next[j - 1] + 1, row[j - 1] + (a[i - 1] === b[j - 1] ? 0 : 1));
    row = next;
  }
  return row[b.length];
}
