/**
 * Turns of phrase that most readers have to read twice, with the words to use instead.
 * @type {[RegExp, string][]}
 */
export const TURNS = [
  [/(?:^|[.!?:]\s+)(?:What|Who|Whoever|Whatever|Whose)\b(?![^.]*\?)/, 'begin with the actor'],
  [/(?:^|[.!?:]\s+)Of (?!course\b)[^.]{30,}/, 'begin with the subject'],
  [/\b(?:nobody|somebody|meanwhile)\b/i, 'name the actor'],
  [/\b(?:told|tells?|said|says)\b(?! apart)/i, 'reports, shows, sends, prints'],
  [/\b(?:anew|begun|mend(?:s|ed)?|in vain|for want of|could not be had)\b|\bcomes? about\b/i, 'the plain word'],
  [/\bby (?:it|them)sel(?:f|ves)\b/i, 'automatically, or name what triggers it'],
  [/(?<!\bthere )\b(?:is|are|was|were) no\b(?! longer| more| less|-|:)/i, '"is not a", "has no"'],
  [/\bso (?:many|long|often|lately|much)\b(?! (?:that|as))/i, '"this many", "that long"'],
];

/**
 * @param {string} text
 * @returns {string[]}  For each turn in the text, the words to use instead. Quotes do not count.
 */
export function adviceFor(text) {
  const unquoted = text.replace(/"[^"]*"|`[^`]*`/g, 'X');
  return TURNS.filter(([pattern]) => pattern.test(unquoted)).map(([, instead]) => instead);
}
