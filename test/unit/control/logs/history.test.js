import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { lastLinesOf } from '../../../../daemon/control/logs/history.js';

let folder;
let file;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'nclust-history-'));
  file = join(folder, 'a.log');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const numbered = (from, to) => Array.from({ length: to - from }, (_, at) => `line ${from + at}`);

test.each([
  ['', 3, []],
  ['a\nb\nc\nd\n', 3, ['b', 'c', 'd']],
  ['a\nb\nc', 2, ['b', 'c']],
  ['a\r\nb\r\n', 5, ['a', 'b']],
  ['\n\n\n', 2, ['', '']],
  ['a\n', 0, []],
])('%j: the last %i lines are %j', (text, count, lines) => {
  writeFileSync(file, text);
  expect(lastLinesOf(file, count)).toEqual(lines);
});

test('lines across blocks come whole', () => {
  writeFileSync(file, `${numbered(0, 50_000).join('\n')}\n`);
  expect(lastLinesOf(file, 20_000)).toEqual(numbered(30_000, 50_000));
});

test('a huge line is not read to its beginning', () => {
  writeFileSync(file, Buffer.alloc(10 * 1024 * 1024, 0x78));
  expect(lastLinesOf(file, 1)[0].length).toBeLessThan(9 * 1024 * 1024);
});

test('no file and no regular file have no history', () => {
  expect(lastLinesOf(join(folder, 'none'), 5)).toEqual([]);
  expect(lastLinesOf('/dev/null', 5)).toEqual([]);
  expect(lastLinesOf('', 5)).toEqual([]);
});

test('a pipe in the place of the file has no history, and is not waited for', () => {
  execFileSync('mkfifo', [file]);
  expect(lastLinesOf(file, 5)).toEqual([]);
});
