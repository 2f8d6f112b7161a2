import {
  chmodSync,
  chownSync,
  lchownSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { cacheFolder, isOnlyOurs } from '../../../../lib/cli/compile-cache.js';
import { isRoot, NOBODY } from '../../../helpers/other-user.js';
import { importsOf, sourceFiles } from '../../../helpers/source-tree.js';

const own = { platform: 'linux', geteuid: process.geteuid };

let home;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'nclust-cache-'));
  writeFileSync(join(home, 'file'), '');
});
afterEach(() => rmSync(home, { recursive: true }));

test('compiled code is kept in the cache folder of the user', () => {
  expect(cacheFolder({ HOME: home }, own)).toBe(join(home, '.cache/nclust'));
  expect(cacheFolder({ HOME: home }, { ...own, platform: 'darwin' })).toBe(join(home, 'Library/Caches/nclust'));
  mkdirSync(join(home, 'cache'));
  expect(cacheFolder({ HOME: home, XDG_CACHE_HOME: join(home, 'cache') }, own)).toBe(join(home, 'cache/nclust'));
});

test.each([
  ['without a home', () => ({}), own],
  ['in a home that does not exist', () => ({ HOME: join(home, 'gone') }), own],
  [
    'in a home of another user, as with sudo',
    () => ({ HOME: home }),
    { platform: 'linux', geteuid: () => Number(process.geteuid?.()) + 1 },
  ],
  ['in a home below a file', () => ({ HOME: join(home, 'file', 'home') }), own],
  ['in a cache folder that does not exist', () => ({ HOME: home, XDG_CACHE_HOME: join(home, 'gone') }), own],
])('compiled code is not kept %s', (_where, env, who) => {
  expect(cacheFolder(env(), who)).toBeNull();
});

test('the cache folder is made for its owner only, and used again', () => {
  const folder = join(home, '.cache/nclust');
  expect([isOnlyOurs(folder), statSync(folder).mode & 0o777]).toEqual([true, 0o700]);
  mkdirSync(join(folder, 'v24'), { mode: 0o755 });
  expect(isOnlyOurs(folder)).toBe(true);
});

describe.skipIf(!isRoot)('for root, whose code another user must not choose', () => {
  const give = (path) => chownSync(path, NOBODY.uid, NOBODY.gid);
  test.each([
    ['that every user may write to', (folder) => chmodSync(folder, 0o777)],
    ['of another user', give],
    ['with a part of another user', (folder) => (mkdirSync(join(folder, 'v24')), give(join(folder, 'v24')))],
    [
      'with a part that every user may write to',
      (folder) => chmodSync((mkdirSync(`${folder}/v24`), `${folder}/v24`), 0o777),
    ],
    ['below a folder that every user may write to', (folder) => chmodSync(join(folder, '..'), 0o777)],
    ['below a folder of another user', (folder) => give(join(folder, '..'))],
  ])('a cache folder %s is not used', (_which, spoil) => {
    const folder = join(home, '.cache/nclust');
    mkdirSync(folder, { recursive: true, mode: 0o755 });
    expect(isOnlyOurs(folder)).toBe(true);
    spoil(folder);
    expect(isOnlyOurs(folder)).toBe(false);
  });

  test('a cache folder behind a link of another user is not used', () => {
    const link = join(home, 'link');
    symlinkSync(mkdtempSync(join(home, 'real-')), link);
    lchownSync(link, NOBODY.uid, NOBODY.gid);
    expect(isOnlyOurs(join(link, 'nclust'))).toBe(false);
  });
});

test('the modules of the commands are not loaded before a command is chosen', () => {
  const files = sourceFiles('bin', 'lib');
  const read = new Set(['bin/nclust.js', 'lib/cli/program.js', 'lib/cli/command-line.js']);
  for (const path of read) {
    const file = files.find((one) => one.path === path);
    const statics = file && importsOf({ ...file, code: file.code.replace(/\bimport\('[^']+'\)/g, '') });
    for (const name of statics ?? []) if (name.startsWith('lib/')) read.add(name);
  }
  expect([...read].filter((path) => !/^(bin|lib\/cli\/table)\//.test(path)).sort()).toEqual([
    'lib/cli/command-line.js',
    'lib/cli/help.js',
    'lib/cli/program.js',
    'lib/shared/version.js',
  ]);
});
