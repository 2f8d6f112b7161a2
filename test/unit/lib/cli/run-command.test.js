import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { currentFolder } from '../../../../lib/cli/run-command.js';

function releases() {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'nclust-folder-')));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  for (const name of ['one', 'two']) mkdirSync(join(root, name));
  symlinkSync('one', join(root, 'current'));
  return root;
}

test('a link that leads to the folder is what its user calls it', () => {
  const root = releases();
  expect(currentFolder(join(root, 'one'), join(root, 'current'))).toBe(join(root, 'current'));
});

test.each([
  ['nothing', () => undefined],
  ['the folder itself', (root) => join(root, 'one')],
  ['another folder, as it is for a program that changed its own', (root) => join(root, 'two')],
  ['what is not there', (root) => join(root, 'three')],
  ['a relative path', () => 'current'],
  ['a path with steps up in it', (root) => `${root}/two/../current`],
])('PWD is %s: the folder is what the system says', (_what, pwdOf) => {
  const root = releases();
  expect(currentFolder(join(root, 'one'), pwdOf(root))).toBe(join(root, 'one'));
});
