import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { currentFolder } from '../../../../lib/cli/perform.js';

function releases() {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'nclust-folder-')));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  for (const name of ['one', 'two']) mkdirSync(join(root, name));
  symlinkSync('one', join(root, 'current'));
  return root;
}

test('currentFolder() keeps the link in PWD', () => {
  const root = releases();
  expect(currentFolder(join(root, 'one'), join(root, 'current'))).toBe(join(root, 'current'));
});

test.each([
  ['nothing', () => undefined],
  ['the folder itself', (root) => join(root, 'one')],
  ['another folder, as after a chdir()', (root) => join(root, 'two')],
  ['a missing folder', (root) => join(root, 'three')],
  ['a relative path', () => 'current'],
  ['a path with ".." in it', (root) => `${root}/two/../current`],
])('currentFolder() is the folder of the system if PWD is %s', (_what, pwdOf) => {
  const root = releases();
  expect(currentFolder(join(root, 'one'), pwdOf(root))).toBe(join(root, 'one'));
});
