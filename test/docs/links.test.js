import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { listPages, readPage } from './pages.js';

const ROOT = new URL('../../', import.meta.url);
const PAGES = ['README.md', 'CHANGELOG.md', ...listPages()];

/** Returns a page without code, because brackets have another meaning in code. */
const textOf = (page) =>
  readPage(page)
    .replace(/^```[^]*?^```$/gm, '')
    .replace(/^ {4}.*$/gm, '')
    .replace(/`[^`\n]*`/g, (code) => 'x'.repeat(code.length));

function targetsOf(page) {
  const text = textOf(page);
  const found = [
    ...text.matchAll(/\]\(([^)\s]+)[^)]*\)/g),
    ...text.matchAll(/<(?:img|a|source)\s[^>]*?(?:src|href)="([^"]+)"/g),
    ...text.matchAll(/^\[[^\]]+\]:\s+(\S+)/gm),
  ].map(([, target]) => target);
  return found.filter((target) => !/^[a-z]+:/.test(target));
}

/** Returns the anchors that GitHub makes from headings. */
function anchorsOf(page) {
  const text = readFileSync(page, 'utf8').replace(/^```[^]*?^```$/gm, '');
  return [...text.matchAll(/^#+ +(.+)$/gm)].map(([, heading]) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, '')
      .trim()
      .replaceAll(' ', '-'),
  );
}

describe.each(PAGES.filter((page) => targetsOf(page).length > 0))('%s', (page) => {
  test.each([...new Set(targetsOf(page))])('the target of %s exists', (target) => {
    const [file, anchor] = target.split('#');
    const url = new URL(file, new URL(page, ROOT));
    const place = file === '' ? new URL(page, ROOT) : url;
    expect(existsSync(place)).toBe(true);
    if (anchor) expect(anchorsOf(place)).toContain(anchor);
  });
});

test('a page shows every picture of the docs', () => {
  const shown = PAGES.flatMap((page) => targetsOf(page).map((target) => new URL(target, new URL(page, ROOT)).href));
  const pictures = readdirSync(new URL('docs/images', ROOT)).map((name) => new URL(`docs/images/${name}`, ROOT).href);
  expect(pictures.length).toBeGreaterThan(0);
  expect(pictures.filter((picture) => !shown.includes(picture))).toEqual([]);
});
