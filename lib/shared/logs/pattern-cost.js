// How much a regular expression may backtrack, from its text alone.

/** A group that is repeated at most so often is counted as so many copies of it. */
const COPIES_MAX = 20;

/** So many yes-or-no choices cost a constant factor; more of them are as bad as anything. */
const CHOICES_MAX = 6;

/**
 * @typedef {object} Cost
 * @property {number} degree  Quantifiers that may take this many or that many characters: matching n characters takes at most n^(degree + 1) steps. Infinity: nobody knows.
 * @property {boolean} isNested  Something that may take this many or that many is itself repeated without end.
 */

/** @typedef {{degree: number, choices: number}} Part */

const NOTHING = /** @type {Part} */ ({ degree: 0, choices: 0 });

/**
 * @param {string} source  Of a regular expression that is valid.
 * @returns {Cost}
 */
export function costOf(source) {
  let isNested = false;
  /** The groups that are open, outermost first. @type {Part[]} */
  const open = [{ ...NOTHING }];
  /** What a quantifier would apply to. @type {Part} */
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
      const { least, most } = timesOf(token);
      if (last.degree > 0 && most > COPIES_MAX) isNested = true;
      // What it applies to has been added once already.
      add(group, repeated(last, least, most));
    } else {
      last = /^\\(?:[1-9]|k<)/.test(token) ? { degree: Infinity, choices: 0 } : NOTHING;
      add(group, last);
    }
  }
  const { degree, choices } = open[0];
  return { degree: choices > CHOICES_MAX ? Infinity : degree, isNested };
}

/** Escapes, character classes, the openings of groups, quantifiers with what makes them lazy, and any other character. */
const TOKENS = /\\k<[^>]*>|\\[^]|\[(?:\\[^]|[^\]\\])*\]|\((?:\?(?:[:=!]|<[=!]|<[^>]*>|[a-z-]*:))?|(?:[*+?]|\{\d+(?:,\d*)?\})\??|[^]/g;
const QUANTIFIER = /^(?:[*+?]|\{\d+(?:,\d*)?\})\??$/;

/**
 * @param {Part} part
 * @param {number} least
 * @param {number} most
 * @returns {Part}  What repeating it adds.
 */
function repeated(part, least, most) {
  if (most > COPIES_MAX) return { degree: part.choices > 0 ? Infinity : most === least ? 0 : 1, choices: 0 };
  const more = Math.max(0, most - 1);
  const own = most === least ? 0 : most === 1 ? 0 : 1;
  return { degree: part.degree === 0 ? own : part.degree * more + own, choices: part.choices * more + (least === 0 ? 1 : 0) };
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
function timesOf(quantifier) {
  if (quantifier[0] === '*') return { least: 0, most: Infinity };
  if (quantifier[0] === '+') return { least: 1, most: Infinity };
  if (quantifier[0] === '?') return { least: 0, most: 1 };
  const [, least, comma, most] = /** @type {RegExpExecArray} */ (/^\{(\d+)(,?)(\d*)\}/.exec(quantifier));
  return { least: Number(least), most: comma === '' ? Number(least) : most === '' ? Infinity : Number(most) };
}
