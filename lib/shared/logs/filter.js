import { LEVELS, levelOf, levelOfBeginning } from './level.js';
import { createMatcher } from './safe-pattern.js';

/** @import { Level } from './level.js' */
/** @import { Grep } from './safe-pattern.js' */

export { LEVELS, levelOf };

/**
 * A piece of a line that is too long to be one. `line` is the same object in all pieces of one
 * line.
 * @typedef {{ line: object, isFirst: boolean }} Part
 */

/**
 * @typedef {object} Wishes
 * @property {Grep | null} [grep]
 * @property {Level | null} [level]  This one and those that are more important.
 */

/**
 * Which lines somebody wants to see. Lines without a level are left out where one is asked for.
 * @param {Wishes} wanted
 * @returns {(line: string) => boolean}  Throws ERR_NCLUST_USAGE for a pattern that cannot be used.
 */
export function createLogFilter(wanted) {
  const isWanted = createPartFilter(wanted);
  return (line) => isWanted(line, null);
}

/**
 * The same where lines come in parts: what its first one is like decides about a line. Where that
 * does not tell its level, or has not been seen, the level does not count.
 * @param {Wishes} wanted
 * @returns {(line: string, part: Part | null) => boolean}  Throws ERR_NCLUST_USAGE.
 */
export function createPartFilter({ grep = null, level = null }) {
  const isFound = grep ? createMatcher(grep) : always;
  const least = level === null ? -1 : LEVELS.indexOf(level);
  /** @type {WeakMap<object, boolean>} */
  const verdicts = new WeakMap();

  /** @param {Level | null | undefined} found */
  const isImportant = (found) => found === undefined || (found !== null && LEVELS.indexOf(found) >= least);

  return (line, part) => {
    if (part === null) return (least === -1 || isImportant(levelOf(line))) && isFound(line);
    if (part.isFirst) verdicts.set(part.line, (least === -1 || isImportant(levelOfBeginning(line))) && isFound(line));
    return verdicts.get(part.line) ?? isFound(line);
  };
}

function always() {
  return true;
}
