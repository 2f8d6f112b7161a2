import { createMatcher } from './grep-pattern.js';
import { LEVELS, levelOf } from './log-level.js';

export { LEVELS, levelOf };

/** @typedef {import('./log-level.js').Level} Level */

/**
 * Which lines somebody wants to see. Lines without a level are left out where one is asked for.
 * @param {object} wanted
 * @param {import('./grep-pattern.js').Grep|null} [wanted.grep]
 * @param {Level|null} [wanted.level]  This one and those that are more important.
 * @returns {(line: string) => boolean}  Throws ERR_NCLUST_USAGE for a pattern that cannot be used.
 */
export function createLogFilter({ grep = null, level = null }) {
  const isFound = grep ? createMatcher(grep) : always;
  if (level === null) return isFound;
  const least = LEVELS.indexOf(level);
  return (line) => {
    const found = levelOf(line);
    return found !== null && LEVELS.indexOf(found) >= least && isFound(line);
  };
}

function always() {
  return true;
}
