import { describe, expect, test } from 'vitest';
import { commentsOf, sourceFiles, textsOf, titlesOf } from '../helpers/source-tree.js';

/**
 * Turns of phrase that most readers have to read twice, with what to write instead. START is the
 * start of a sentence.
 */
const START = String.raw`(?:^|[.!?:]\s+)`;
const TURNS = [
  [`${START}(?:What|Who|Whoever|Whatever|Whose)\\b(?![^.]*\\?)`, 'begin with the actor'],
  [`${START}Of (?!course\\b)[^.]{30,}`, 'begin with the subject'],
  [/\b(?:nobody|somebody|meanwhile)\b/i, 'name the actor'],
  [/\b(?:told|tells?|said|says)\b(?! apart)/i, 'reports, shows, sends, prints'],
  [/\b(?:anew|begun|mend(?:s|ed)?|in vain|for want of|could not be had)\b|\bcomes? about\b/i, 'the plain word'],
  [/\bby (?:it|them)sel(?:f|ves)\b/i, 'automatically, or name what triggers it'],
  [/(?<!\bthere )\b(?:is|are|was|were) no\b(?! longer| more| less|-|:)/i, '"is not a", "has no"'],
  [/\bso (?:many|long|often|lately|much)\b(?! (?:that|as))/i, '"this many", "that long"'],
].map(([pattern, instead]) => ({ pattern: new RegExp(pattern, pattern.flags ?? ''), instead }));

/**
 * Texts that keep such a turn, and why. The list can only shrink: an entry that is not needed
 * fails.
 * @type {Record<string, string>}
 */
const KEPT = {};

/**
 * Names that stood for several things. docs/glossary.md has the word for each of them.
 */
const RETIRED =
  /\b\w*?(?:[dD]esk(?!top)|[wW]ish|[tT]old(?!er)|[dD]oor|[tT]rial|[wW]orld|[bB]erth|[cC]hronicle|[sS]ettler)\w*/g;

const sources = sourceFiles('bin', 'lib', 'daemon').filter(({ path }) => !path.startsWith('docs/'));
const tests = sourceFiles('test').filter(({ path }) => !/node_modules|^test\/unit\/tidy-words/.test(path));

describe('turns that need a second reading', () => {
  const found = [
    ...[...sources, ...tests].flatMap((file) => turnsIn(file.path, commentsOf(file.text).flatMap(proseOf))),
    ...sources.flatMap((file) => turnsIn(file.path, textsOf(file.code))),
    ...tests.flatMap((file) => turnsIn(file.path, titlesOf(file.code))),
  ];

  test('no comment, message or title of a test has one', () => {
    const bad = found.filter(({ text }) => !(text in KEPT));
    expect(bad.map(({ path, text, instead }) => `${path}: ${text} (${instead})`)).toEqual([]);
  });

  test('every exception is needed', () => {
    expect(Object.keys(KEPT).filter((text) => !found.some((one) => one.text === text))).toEqual([]);
  });
});

test('no name is a word that had several meanings', () => {
  const names = [...sources, ...tests].flatMap(({ path, code }) =>
    (code.replace(/(['"`])(?:\\.|(?!\1)[^\\])*\1/g, '').match(RETIRED) ?? []).map((name) => `${path}: ${name}`),
  );
  expect([...new Set(names)]).toEqual([]);
});

function turnsIn(path, texts) {
  return texts.flatMap((text) =>
    TURNS.filter(({ pattern }) => pattern.test(text.replace(/"[^"]*"|`[^`]*`/g, 'X'))).map(({ instead }) => ({
      path,
      text,
      instead,
    })),
  );
}

/**
 * @param {string} comment
 * @returns {string[]}  The descriptions of the comment and of its tags, without types and names.
 */
function proseOf(comment) {
  const words = comment.replace(/^\s*\/?\*+\/?|\*\/\s*$|^\s*\/\/ ?/gm, '');
  return words
    .split(/(?:^|\s)(?=@\w)/m)
    .filter((part) => !/^@(?:import|typedef|callback|satisfies|type)\b/.test(part))
    .map((part) => withoutTypes(part).replace(/^@(?:param|property|template)\s+\S+|^@\w+/, ''))
    .map((part) => part.replace(/\s+/g, ' ').trim())
    .filter(Boolean);
}

function withoutTypes(text) {
  let depth = 0;
  return [...text]
    .filter((letter) => {
      if (letter === '{') depth += 1;
      const isOutside = depth === 0;
      if (letter === '}') depth -= 1;
      return isOutside;
    })
    .join('');
}
