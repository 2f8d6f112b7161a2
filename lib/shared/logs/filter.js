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
 * @property {boolean} [isResumed]  The first line may be a rest: its level does not count.
 */

/** @typedef {{ id: number, stream: string }} Sender */

/**
 * If a level is wanted, the filter leaves out lines without a level. The first part of a line
 * decides for the next parts from this sender. If the first part ends before the level, the filter
 * ignores the level.
 * @param {FilterOptions} wanted
 * @returns {(line: string, part?: Part | null, from?: Sender) => boolean}
 */
export function createLogFilter({ grep = null, level = null, isResumed = false }) {
  const isFound = grep ? createMatcher(grep) : always;
  const least = level === null ? -1 : LEVELS.indexOf(level);
  /** By sender. @type {Map<string, boolean>} */
  const verdicts = new Map();

  /** @param {Level | null | undefined} found */
  const isImportant = (found) => found === undefined || (found !== null && LEVELS.indexOf(found) >= least);

  return (line, part = null, from) => {
    if (part === null) return (least === -1 || isImportant(detectLevel(line))) && isFound(line);
    const sender = `${from?.id} ${from?.stream}`;
    if (part.isFirst) verdicts.set(sender, (least === -1 || isImportant(detectLevelEarly(line))) && isFound(line));
    const verdict = verdicts.get(sender) ?? ((least === -1 || isResumed) && isFound(line));
    if (part.isLast) verdicts.delete(sender);
    return verdict;
  };
}

function always() {
  return true;
}
