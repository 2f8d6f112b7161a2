import { describe, expect, test } from 'vitest';
import { countWords, listPages, measurePage, readPage } from './pages.js';

/** A page about one operation, and a page that is looked up rather than read. */
const WORDS_MAX = 1_650;
const REFERENCE_WORDS_MAX = 2_600;
const MEAN_WORDS_MAX = 17;
/** Two screens. */
const README_LINES_MAX = 100;

/** Pages about the inside of nclust. Only they use its words, and they explain them. */
const INSIDE = ['architecture', 'contributing', 'glossary', 'lifecycle', 'protocol'].map((name) => `docs/${name}.md`);
const REFERENCE = [...INSIDE, 'docs/config.md', 'docs/errors.md', 'docs/from-pm2.md'];
const INSIDE_WORDS = /\b(?:keepers?|seats?|admitted|parked|soak(?:s|ed|ing)?)\b/i;

const pages = ['README.md', 'CHANGELOG.md', ...listPages()].map((page) => ({ page, ...measurePage(readPage(page)) }));

describe.each(pages)('$page', ({ meanWords, tooWide, tooLong, twice }) => {
  test('the lines of the page fit a terminal', () => expect(tooWide).toEqual([]));

  test('the sentences of the page are short', () => {
    expect(tooLong).toEqual([]);
    expect(meanWords).toBeLessThanOrEqual(MEAN_WORDS_MAX);
  });

  test('the page is understood after one reading', () => expect(twice).toEqual([]));
});

describe.each(pages.filter(({ page }) => !INSIDE.includes(page)))('$page', ({ sentences, cells }) => {
  test('the page has no word of the inside of nclust', () => {
    const unquoted = [...sentences, ...cells].map((text) => text.replace(/"[^"]*"/g, 'X'));
    expect(unquoted.filter((text) => INSIDE_WORDS.test(text))).toEqual([]);
  });
});

test.each(listPages())('%s is short', (page) => {
  expect(countWords(readPage(page))).toBeLessThanOrEqual(REFERENCE.includes(page) ? REFERENCE_WORDS_MAX : WORDS_MAX);
});

test('the README is two screens long, and hides no row behind a verdict', () => {
  const text = readPage('README.md');
  expect(text.split('\n').length).toBeLessThanOrEqual(README_LINES_MAX);
  expect(text).not.toMatch(/MISSED/);
});

test('docs/README.md lists every page', () => {
  const index = readPage('docs/README.md');
  const missing = listPages().filter((page) => page !== 'docs/README.md' && !index.includes(`(${page.slice(5)})`));
  expect(missing).toEqual([]);
});
