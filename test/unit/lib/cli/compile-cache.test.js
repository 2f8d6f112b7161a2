import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { cacheFolder } from '../../../../lib/cli/compile-cache.js';
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
