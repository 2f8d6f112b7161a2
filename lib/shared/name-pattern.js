import { NclustError } from './errors.js';

/**
 * Reads a pattern of names such as "/^web-/i".
 * @param {string} target
 * @returns {RegExp | null}  Null: not a pattern. Throws ERR_NCLUST_BAD_SELECTOR if the
 *   pattern is not a valid regular expression.
 */
export function namePattern(target) {
  const match = /^\/(.+)\/([imsu]*)$/.exec(target);
  if (!match) return null;
  try {
    return new RegExp(match[1], match[2]);
  } catch (error) {
    throw new NclustError(
      'ERR_NCLUST_BAD_SELECTOR',
      `"${target}" is not a regular expression: ${/** @type {Error} */ (error).message}.`,
      { data: { target } },
    );
  }
}
