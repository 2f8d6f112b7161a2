import { LEVELS, detectLevel, detectLevelEarly } from './level.js';
import { createMatcher } from './safe-pattern.js';

/** @import { Part } from '../daemon/lines.js' */
/** @import { Level } from './level.js' */
/** @import { Grep } from './safe-pattern.js' */

export { LEVELS, detectLevel };

/**
 * @typedef {object} FilterOptions
 * @property {Grep | null} [grep]
 * @property {Level | null} [level]  The filter keeps this level and more important levels.
 */

/**
 * If a level is wanted, the filter leaves out lines without a level.
 * The first part of a line decides for the other parts of this line. If the filter has not seen the
 * first part, or if the first part ends before the level, the filter ignores the level.
 * @param {FilterOptions} wanted
 * @returns {(line: string, part: Part | null) => boolean}
 */
export function createPartFilter({ grep = null, level = null }) {
  const isFound = grep ? createMatcher(grep) : always;
  const least = level === null ? -1 : LEVELS.indexOf(level);
  /** @type {WeakMap<object, boolean>} */
  const verdicts = new WeakMap();

  /** @param {Level | null | undefined} found */
  const isImportant = (found) => found === undefined || (found !== null && LEVELS.indexOf(found) >= least);

  return (line, part) => {
    if (part === null) return (least === -1 || isImportant(detectLevel(line))) && isFound(line);
    if (part.isFirst) verdicts.set(part.line, (least === -1 || isImportant(detectLevelEarly(line))) && isFound(line));
    return verdicts.get(part.line) ?? isFound(line);
  };
}

function always() {
  return true;
}
