import { NclustError } from './errors.js';

/**
 * Reads a target that is a pattern for names.
 * @param {string} target  "/^web-/i"
 * @returns {RegExp | null}  Null if it does not have that form. Throws ERR_NCLUST_BAD_SELECTOR.
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
