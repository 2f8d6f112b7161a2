// Prints the measures of the pages that prose.test.js has limits for: `node test/docs/measure.js
// [page...]`. With pages, it also prints the lines and sentences to change.
import { listPages, measurePage, readPage } from './pages.js';

const given = process.argv.slice(2);
const pages = (given.length > 0 ? given : ['README.md', ...listPages()]).map((page) => ({
  page,
  ...measurePage(readPage(page)),
}));

console.table(
  pages.map(({ page, words, meanWords, sentences, cells, tooLong, tooWide, twice }) => ({
    page,
    words,
    sentences: sentences.length,
    'words/sentence': Math.round(meanWords * 10) / 10,
    'over 25': tooLong.length,
    wide: tooWide.length,
    'read twice %': Math.round((1_000 * twice.length) / (sentences.length + cells.length)) / 10,
  })),
);
console.log(
  `words of docs/: ${pages.reduce((sum, { page, words }) => sum + (page.startsWith('docs/') ? words : 0), 0)}`,
);
if (given.length > 0)
  for (const { page, tooWide, tooLong, twice } of pages)
    for (const [what, texts] of Object.entries({
      'over 100 columns': tooWide,
      'over 25 words': tooLong,
      'read twice': twice,
    }))
      for (const text of texts) console.log(`${page}: ${what}: ${text}`);
