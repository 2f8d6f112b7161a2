import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { followLinks, isOwnOutput } from '../../../../../lib/shared/host/follow-links.js';
import { isRoot, NOBODY, userFolders } from '../../../../helpers/other-user.js';

function makeFolder() {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'nclust-links-')));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, 'file'), '');
  mkdirSync(join(folder, 'folder'));
  execFileSync('mkfifo', [join(folder, 'pipe')]);
  symlinkSync('folder', join(folder, 'way'));
  symlinkSync('../file', join(folder, 'folder/up'));
  return folder;
}

test.each([
  ['file', 'file'],
  ['missing', 'missing'],
  ['none', 'folder/new/file'],
  ['folder/file', 'folder/file'],
  ['way/up', 'file'],
])('a link to %s leads to %s', (target, expected) => {
  const folder = makeFolder();
  symlinkSync(target, join(folder, 'link'));
  symlinkSync('folder/new/file', join(folder, 'none'));
  expect(followLinks(null, join(folder, 'link'))).toBe(join(folder, expected));
});

test.each(['pipe', 'folder', '/dev/null', 'link', '/proc/1/fd/1'])('a link to %s is not followed', (target) => {
  const folder = makeFolder();
  symlinkSync(target, join(folder, 'link'));
  expect(followLinks(null, join(folder, 'link'))).toBe(join(folder, 'link'));
});

test.each(['/dev/stdout', '/dev/stderr', '/dev/fd/1', '/proc/self/fd/2', '/dev/../dev/stdout'])(
  '%s is the output of the process that opens it, also behind a link',
  (path) => {
    const link = join(makeFolder(), 'link');
    symlinkSync(path, link);
    for (const one of [path, link]) expect(isOwnOutput(followLinks(null, one))).toBe(true);
  },
);

test.each(['/dev/null', '/dev/stdout2', '/proc/1/fd/1', '/dev/fd', '/srv/dev/stdout'])('%s is not', (path) => {
  expect(isOwnOutput(followLinks(null, path))).toBe(false);
});

describe.runIf(isRoot)('with the rights of another user', () => {
  const linked = (target) => {
    const folders = userFolders();
    const path = folders.plant('link', (link) => symlinkSync(target(folders), link));
    return [followLinks(NOBODY, path), path];
  };

  test('a link in the folder of the user leads to a file in such a folder', () => {
    let file;
    const [found] = linked(({ plant }) => (file = plant('file', (path) => writeFileSync(path, ''))));
    expect(found).toBe(file);
  });

  test.each(['open', 'closed'])('a link of the user into the %s folder of root is not followed', (name) => {
    const [found, link] = linked((folders) => join(folders[name], 'secret'));
    expect(found).toBe(link);
  });

  test('a link of root is followed into the folder of the user and of root', () => {
    const { open, own } = userFolders();
    for (const target of [own, open].map((folder) => join(folder, 'target'))) {
      rmSync(join(open, 'link'), { force: true });
      symlinkSync(target, join(open, 'link'));
      expect(followLinks(NOBODY, join(open, 'link'))).toBe(target);
    }
  });
});
