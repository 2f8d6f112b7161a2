import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { withoutComments } from '../helpers/source-tree.js';
import { listPages, readPage } from './pages.js';

const ROOT = new URL('../../', import.meta.url);
const PAGES = ['README.md', ...listPages()];

/**
 * A path of this repository. Excludes `lib/internal`, because these paths are files of Node.js.
 */
const PATH = /^(?:bin|lib|daemon|test)\/(?!internal\/)[\w./-]*\w\/?$/;
const NAME = /^\w+\(\)$/;
/**
 * Applies only to words in backticks, because other words in capitals are processes and signals.
 * Excludes environment variables, because these variables look like constants.
 */
const CONSTANT = /^(?!(?:NCLUST|NODE)_|NO_COLOR|FORCE_COLOR)[A-Z][A-Z_]{3,}$/;

/**
 * @typedef {{ where: string, paths: string[], names: string[] }} Place  A sentence, a row of a
 *   table, or a line of a picture.
 */

const PLACES = PAGES.flatMap((page) => [...placesInText(page), ...placesInPictures(page)]);

test('pages name files and functions', () => {
  expect(new Set(PLACES.flatMap(({ paths }) => paths)).size).toBeGreaterThan(50);
});

describe.each(PAGES.filter((page) => PLACES.some(({ where, paths }) => paths.length > 0 && isOn(page, where))))(
  '%s',
  (page) => {
    const places = PLACES.filter(({ where }) => isOn(page, where));

    test('each path exists', () => {
      expect(places.flatMap(({ paths }) => paths).filter((path) => !existsSync(new URL(path, ROOT)))).toEqual([]);
    });

    test('each function and table is in a file named beside it', () => {
      const strangers = places.flatMap(({ where, paths, names }) => {
        const files = paths.filter((path) => /\.\w+$/.test(path) && existsSync(new URL(path, ROOT)));
        const code = files.map((path) => withoutComments(readFileSync(new URL(path, ROOT), 'utf8'))).join('\n');
        const missing = names.filter(
          (name) => files.length > 0 && !new RegExp(`\\b${name.replace('()', '')}\\b`).test(code),
        );
        return missing.map((name) => `${where} ${name}`);
      });
      expect(strangers).toEqual([]);
    });
  },
);

function isOn(page, where) {
  return where.startsWith(`${page}: `);
}

/** @returns {Place[]} */
function placesInText(page) {
  const text = readPage(page).replace(/^```[^]*?^```$/gm, '');
  const blocks = text.split(/\n\s*\n|\n(?=\||\* |- |\d+\. )/);
  const parts = blocks.flatMap((block) => (block.startsWith('|') ? block : block.split(/(?<=[.;])\s+/)));
  return parts.map((part) => {
    const words = [...part.matchAll(/`([^`\n]+)`/g)].map(([, word]) => word);
    return placeOf(page, part, words);
  });
}

/** @returns {Place[]} */
function placesInPictures(page) {
  const fences = readPage(page).match(/^```[^]*?^```$/gm) ?? [];
  const lines = fences.flatMap((fence) =>
    fence.split('\n').filter((line) => /(^|\s)(bin|lib|daemon)\/\S+\.c?js/.test(line)),
  );
  return lines.map((line) => placeOf(page, line, line.split(/[\s,:;]+/)));
}

function placeOf(page, text, words) {
  return {
    where: `${page}: ${text.trim().slice(0, 80)}`,
    paths: words.filter((word) => PATH.test(word)),
    names: words.filter((word) => NAME.test(word) || (CONSTANT.test(word) && text.includes(`\`${word}\``))),
  };
}
