import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { isFile, isFolder, namesIn, readIfThere, statIfThere } from '../../../../../lib/shared/daemon/files.js';

test('a file, a folder and a link to itself have different answers, and nothing throws', () => {
  const folder = mkdtempSync(join(tmpdir(), 'nclust-files-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const [file, loop, below] = ['file', 'loop', 'file/below'].map((name) => join(folder, name));
  writeFileSync(file, 'text');
  symlinkSync(loop, loop);
  expect([file, folder, loop, below].map((path) => [isFile(path), isFolder(path)])).toEqual([
    [true, false],
    [false, true],
    [false, false],
    [false, false],
  ]);
  expect([readIfThere(file), readIfThere(folder), readIfThere(loop)]).toEqual(['text', '', '']);
  expect([namesIn(folder).sort(), namesIn(file), namesIn(below)]).toEqual([['file', 'loop'], [], []]);
  expect([statIfThere(file)?.size, statIfThere(loop)]).toEqual([4, null]);
});
