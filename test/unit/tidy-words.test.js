import { expect, test } from 'vitest';
import { adviceFor } from '../helpers/plain-english.js';
import { commentsOf, sourceFiles, textsOf, titlesOf } from '../helpers/source-tree.js';

/** Names that stood for several things. docs/glossary.md has the word for each of them. */
const RETIRED =
  /\b\w*?(?:[dD]esk(?!top)|[wW]ish|[tT]old(?!er)|[dD]oor|[tT]rial|[wW]orld|[bB]erth|[cC]hronicle|[sS]ettler)\w*/g;

/** A title of a test inside a `describe`, which is why its line is indented. */
const NESTED = /^ +(?:(?:test|it)\b|[\])]).*?\(\s*(['"`])((?:\\.|(?!\1)[^\\\n])*)\1,\s*(?:async\b|[({])/gm;

/** First words that need the title of the `describe` as their subject. */
const LEANING = new RegExp(
  `^(?:${[
    'about|after|as|at|before|behind|below|beside|between|by|during|for|from|in|into|of|on|over|through|to|under|with',
    'without|again|also|and|because|both|but|if|neither|never|nor|not|or|so|such|that|until|when|where|which|while',
    'who|whose|is|are|was|were|be|has|have|do|does|can|cannot|may|must|will|accepts|adds|adopts|answers|applies|asks',
    'becomes|begins|belongs|cancels|changes|closes|comes|completes|connects|contains|continues?|copies|counts?|covers',
    'describes|drops|ends?|exits?|explains|fails|falls|finds?|finishes|fits|follows|forgets|gains|gets|gives|goes',
    'grows|happens|hides|ignores|includes|keeps?|kills|lacks|learns|leaves|lets?|listens|loads|loses?|makes|names',
    'needs|notices|obeys|overrides?|parks|passes|prints|reach|reads|reaps|redirects|refuses?|rejects|reloads|removes',
    'replaces|reports|resolves|restarts|restores|retires|returns|rolls|runs|says|scales|sends|serves|shows?|starts',
    'stays?|stops|succeeds|survives|switches|takes|tells|throws|treat|updates|uses?|waits|works|writes|yields',
  ].join('|')})\\b(?!\\()`,
);

const sources = sourceFiles('bin', 'lib', 'daemon');
const tests = sourceFiles('test').filter(({ path }) => !/node_modules|tidy-words|plain-english/.test(path));

test('no comment, message or title of a test needs a second reading', () => {
  const found = [
    ...[...sources, ...tests].flatMap(({ path, text }) => turnsIn(path, commentsOf(text).flatMap(proseOf))),
    ...sources.flatMap(({ path, code }) => turnsIn(path, textsOf(code))),
    ...tests.flatMap(({ path, code }) => turnsIn(path, titlesOf(code))),
  ];
  expect(found).toEqual([]);
});

test('no title of a test needs that of its describe as its subject', () => {
  const titles = tests.flatMap(({ path, code }) => [...code.matchAll(NESTED)].map(([, , title]) => ({ path, title })));
  expect(titles.length).toBeGreaterThan(1_000);
  expect(titles.filter(({ title }) => LEANING.test(title))).toEqual([]);
});

test('no name is a word that had several meanings', () => {
  const names = [...sources, ...tests].flatMap(({ path, code }) =>
    (code.replace(/(['"`])(?:\\.|(?!\1)[^\\\n])*\1/g, '').match(RETIRED) ?? []).map((name) => `${path}: ${name}`),
  );
  expect([...new Set(names)]).toEqual([]);
});

function turnsIn(path, texts) {
  return texts.flatMap((text) => adviceFor(text).map((instead) => `${path}: ${text} (${instead})`));
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
