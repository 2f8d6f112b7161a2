import { createContext, Script } from 'node:vm';
import { NclustError } from '../errors.js';

/** @typedef {{ source: string, flags: string }} Grep */
/** @typedef {(text: string) => boolean} Matcher */

const PATTERN_MAX_CHARS = 500;

const LINE_MAX_CHARS = 8 * 1024;

/**
 * A match that needs at most this many steps runs without a time limit, because it takes about
 * 2.5 ms in the worst case (Node.js 20). A time limit for every line would cost more.
 */
const STEPS_MAX = 1_000_000;

const MATCH_TIMEOUT_MS = 50;

/** Does not accept "g" and "y", because such patterns continue at the end of their last match. */
const FLAGS = /^[imsu]*$/;

/**
 * Forbidding nested quantifiers is not enough: /a.*b.*c/ takes 2 s on 2,048 characters "abab...".
 * A match that may need more than STEPS_MAX runs with a time limit. Each time V8 stops a match, the
 * matcher halves the number of characters that it searches in this line and in all later lines. All
 * stopped matches of a pattern together take at most half a second.
 * @param {Grep} grep
 * @returns {Matcher}
 */
export function createMatcher(grep) {
  const pattern = compile(grep);
  const straightChars = countPlainCharacters(estimateCost(grep.source).degree + 1);
  let lookAtChars = LINE_MAX_CHARS;
  /** @type {((text: string) => boolean | null) | null} */
  let limited = null;
  return (text) => {
    for (;;) {
      const looked = text.length > lookAtChars ? text.slice(0, lookAtChars) : text;
      if (looked.length <= straightChars) return pattern.test(looked);
      limited ??= withTimeLimit(pattern);
      const isMatch = limited(looked);
      if (isMatch !== null) return isMatch;
      lookAtChars = Math.floor(looked.length / 2);
    }
  };
}

/**
 * @param {Grep} grep
 * @returns {RegExp}  Throws ERR_NCLUST_USAGE if the pattern or its flags are not accepted. A
 *   pattern whose match may never end is not accepted.
 */
export function compile({ source, flags }) {
  if (source.length > PATTERN_MAX_CHARS)
    throw refused(source, `it has ${source.length} characters, and ${PATTERN_MAX_CHARS} are accepted`);
  if (!FLAGS.test(flags)) throw refused(source, `its flags are "${flags}"; accepted: i, m, s and u`);
  /** @type {RegExp} */
  let pattern;
  try {
    pattern = new RegExp(source, flags);
  } catch (error) {
    throw refused(source, `it is not a regular expression (${/** @type {Error} */ (error).message})`);
  }
  if (estimateCost(source).isNested)
    throw refused(source, 'it repeats a part that is itself repeated, as (a+)+ does, which may never end');
  return pattern;
}

/**
 * @param {string} source
 * @param {string} why
 */
function refused(source, why) {
  const shown = source.length > 60 ? `${source.slice(0, 60)}...` : source;
  return new NclustError('ERR_NCLUST_USAGE', `The pattern "${shown}" cannot be used: ${why}.`, {
    hint: 'Put a backslash before a character with a meaning, such as ( or [.',
  });
}

/**
 * The length of the longest text that a match can search in STEPS_MAX. The ends of n quantifiers
 * are in order, so they have length^n / n! possible positions.
 * @param {number} degree
 */
function countPlainCharacters(degree) {
  if (degree === Infinity) return 0;
  let orders = 1;
  for (let n = 2; n <= degree; n++) orders *= n;
  return Math.floor((STEPS_MAX * orders) ** (1 / degree));
}

/**
 * @param {RegExp} pattern
 * @returns {(text: string) => boolean | null}  Null: the match took too long.
 */
function withTimeLimit(pattern) {
  const context = createContext({ pattern, text: '' });
  const script = new Script('pattern.test(text)');
  return (text) => {
    context.text = text;
    const before = process.cpuUsage();
    for (;;) {
      try {
        return script.runInContext(context, { timeout: MATCH_TIMEOUT_MS });
      } catch (error) {
        if (/** @type {NodeJS.ErrnoException} */ (error).code !== 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw error;
        // Tries again, because V8 also counts time in which the machine ran other programs.
        if (process.cpuUsage(before).user >= (MATCH_TIMEOUT_MS * 1_000) / 2) return null;
      }
    }
  };
}

/** A group with at most this many repetitions counts as that many copies of the group. */
const COPIES_MAX = 20;

/**
 * Alternatives ("|") and optional parts are choices. If a pattern has at most this number of
 * choices, they multiply its cost only by a constant, which estimateCost() ignores. If the pattern
 * has more choices, its cost counts as unknown.
 */
const CHOICES_MAX = 6;

/**
 * @typedef {object} Cost
 * @property {number} degree  Number of quantifiers with a variable length. To match n characters
 *   takes at most n^(degree + 1) steps. Infinity: unknown.
 * @property {boolean} isNested  A part with a variable length is itself repeated more than
 *   COPIES_MAX times.
 */

/** @typedef {{ degree: number, choices: number }} Part */

const NOTHING = /** @type {Part} */ ({ degree: 0, choices: 0 });

/**
 * @param {string} source
 * @returns {Cost}
 */
export function estimateCost(source) {
  let isNested = false;
  /** Outermost first. @type {Part[]} */
  const open = [{ ...NOTHING }];
  /** @type {Part} */
  let last = NOTHING;

  for (const [token] of source.matchAll(TOKENS)) {
    const group = /** @type {Part} */ (open.at(-1));
    if (token.startsWith('(')) {
      open.push({ ...NOTHING });
    } else if (token === ')') {
      last = /** @type {Part} */ (open.pop());
      add(/** @type {Part} */ (open.at(-1)), last);
    } else if (token === '|') {
      group.choices += 1;
    } else if (QUANTIFIER.test(token)) {
      const { least, most } = parseRepeat(token);
      if (last.degree > 0 && most > COPIES_MAX) isNested = true;
      add(group, repeated(last, least, most));
    } else {
      last = /^\\(?:[1-9]|k<)/.test(token) ? { degree: Infinity, choices: 0 } : NOTHING;
      add(group, last);
    }
  }
  const { degree, choices } = open[0];
  return { degree: choices > CHOICES_MAX ? Infinity : degree, isNested };
}

const TOKENS = new RegExp(
  [
    /\\k<[^>]*>|\\[^]/,
    /\[(?:\\[^]|[^\]\\])*\]/,
    /\((?:\?(?:[:=!]|<[=!]|<[^>]*>|[a-z-]*:))?/,
    /(?:[*+?]|\{\d+(?:,\d*)?\})\??/,
    /[^]/,
  ]
    .map(({ source }) => source)
    .join('|'),
  'g',
);
const QUANTIFIER = /^(?:[*+?]|\{\d+(?:,\d*)?\})\??$/;

/**
 * @param {Part} part
 * @param {number} least
 * @param {number} most
 * @returns {Part}
 */
function repeated(part, least, most) {
  if (most > COPIES_MAX) return { degree: part.choices > 0 ? Infinity : most === least ? 0 : 1, choices: 0 };
  const more = Math.max(0, most - 1);
  const own = most === least ? 0 : most === 1 ? 0 : 1;
  return {
    degree: part.degree === 0 ? own : part.degree * more + own,
    choices: part.choices * more + (least === 0 ? 1 : 0),
  };
}

/**
 * @param {Part} sum
 * @param {Part} part
 */
function add(sum, { degree, choices }) {
  sum.degree += degree;
  sum.choices += choices;
}

/** @param {string} quantifier */
function parseRepeat(quantifier) {
  if (quantifier[0] === '*') return { least: 0, most: Infinity };
  if (quantifier[0] === '+') return { least: 1, most: Infinity };
  if (quantifier[0] === '?') return { least: 0, most: 1 };
  const [, least, comma, most] = /** @type {RegExpExecArray} */ (/^\{(\d+)(,?)(\d*)\}/.exec(quantifier));
  return { least: Number(least), most: comma === '' ? Number(least) : most === '' ? Infinity : Number(most) };
}
