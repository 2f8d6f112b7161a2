import { describe, expect, test } from 'vitest';
import { watchScope } from '../../../../daemon/control/triggers/watch-scope.js';
import { loadGlobs } from '../../../../daemon/control/triggers/folder-watcher.js';

const FILE = { isFile: () => true };
const own = { ownFolders: ['/root/.nclust'], ownFiles: ['/srv/app/app.log', '/srv/app/run/app.pid', ''] };
const scope = (options = {}, more = {}) =>
  watchScope(
    { cwd: '/srv/app', watch: ['.'], ignoreWatch: [], watchExtensions: [], watchOptions: {}, ...options },
    { globs: loadGlobs(), ...own, ...more },
  );
const isSeen = (options, path, more) => !scope(options, more).isIgnored(path, FILE);

test.each(['/srv/app', '/srv/app/a.js', '/srv/app/src/deep/a.js', '/srv/app/app.js', '/srv/app/app.log.js'])(
  '%s counts as a change',
  (path) => {
    expect(isSeen({}, path)).toBe(true);
  },
);

test.each([
  '/srv/app/node_modules',
  '/srv/app/lib/node_modules/x/index.js',
  '/srv/app/.git',
  '/srv/app/.git/HEAD',
  '/srv/app/.env',
  '/srv/app/src/.a.js.swp',
  '/srv/app/app.log',
  '/srv/app/app__2026-01-31T10-00-00-000Z.log.gz',
  '/srv/app/run/app.pid',
  '/root/.nclust/state.json',
])('%s never counts as a change', (path) => {
  expect(isSeen({}, path)).toBe(false);
});

test('a file counts if the hidden folder is above the working directory', () => {
  expect(isSeen({ cwd: '/home/me/.apps/node_modules/x' }, '/home/me/.apps/node_modules/x/a.js')).toBe(true);
});

test('a dotfile that is named counts', () => {
  expect(isSeen({ watch: ['.env'] }, '/srv/app/.env')).toBe(true);
});

test('an app in the home itself sees its own files and not those of the manager', () => {
  const more = { ownFolders: ['/srv/app', '/srv/app/state.json', '/srv/app/logs'] };
  expect(
    ['a.js', 'state.json', 'state.json.bak', 'logs/x.log'].map((file) => isSeen({}, `/srv/app/${file}`, more)),
  ).toEqual([true, false, false, false]);
});

describe('ignore_watch', () => {
  test.each([
    [['tmp'], ['/srv/app/tmp', '/srv/app/tmp/x', '/srv/app/src/tmp/x'], ['/srv/app/tmp.js']],
    [['*.log'], ['/srv/app/x.log', '/srv/app/src/y.log'], ['/srv/app/x.log.js']],
    [['public/*'], ['/srv/app/public/x.css', '/srv/app/public/deep'], ['/srv/app/public', '/srv/app/src/public/x']],
    [['./data/cache/'], ['/srv/app/data/cache', '/srv/app/data/cache/x'], ['/srv/app/data/other']],
    [['/srv/app/data'], ['/srv/app/data', '/srv/app/data/x/y'], ['/srv/app/database']],
    [['**/*.test.js'], ['/srv/app/a.test.js', '/srv/app/src/deep/b.test.js'], ['/srv/app/a.js']],
    [
      ['\\.md$', '/^\\/cache-/i'],
      ['/srv/app/README.md', '/srv/app/Cache-1/x'],
      ['/srv/app/md.js', '/srv/app/src/cache-1'],
    ],
    [['[\\/\\\\]\\./', 'uploads'], ['/srv/app/uploads/x'], ['/srv/app/a.js']],
    [['public', '!public/index.html'], ['/srv/app/public/a.css'], ['/srv/app/public/index.html']],
  ])('ignore_watch ignores %j', (ignoreWatch, ignored, seen) => {
    expect(ignored.filter((path) => isSeen({ ignoreWatch }, path))).toEqual([]);
    expect(seen.filter((path) => !isSeen({ ignoreWatch }, path))).toEqual([]);
  });

  test('ignore_watch accepts chokidar\'s own list of texts, and a path with "!"', () => {
    expect(isSeen({ watchOptions: { ignored: 'tmp' } }, '/srv/app/tmp/x')).toBe(false);
    expect(isSeen({ watch: ['.', '!tmp'] }, '/srv/app/tmp/x')).toBe(false);
  });
});

describe('watch', () => {
  test('watch resolves paths against the working directory, and a glob starts at its first folder', () => {
    expect(scope({ watch: ['src', '/etc/app', 'lib/**/*.js', '../shared'] }).roots).toEqual([
      '/srv/app/src',
      '/etc/app',
      '/srv/app/lib',
      '/srv/shared',
    ]);
  });

  test('watch counts only files that match a glob', () => {
    const watch = ['lib/**/*.js', 'src'];
    expect(
      ['/srv/app/lib/a.js', '/srv/app/lib/x/a.js', '/srv/app/src/a.css'].map((path) => isSeen({ watch }, path)),
    ).toEqual([true, true, true]);
    expect(isSeen({ watch }, '/srv/app/lib/a.css')).toBe(false);
    expect(scope({ watch }).isIgnored('/srv/app/lib/x', { isFile: () => false })).toBe(false);
  });

  test('watch counts only files with these extensions, and the folders they may be in', () => {
    const watchExtensions = ['js', 'json'];
    expect(
      ['/srv/app/a.js', '/srv/app/a.json', '/srv/app/a.css'].map((path) => isSeen({ watchExtensions }, path)),
    ).toEqual([true, true, false]);
    expect(scope({ watchExtensions }).isIgnored('/srv/app/src', { isFile: () => false })).toBe(false);
  });

  test('watch reports names relative to the working directory', () => {
    const { nameOf } = scope();
    expect([nameOf('/srv/app/src/a.js'), nameOf('/srv/app'), nameOf('/etc/x')]).toEqual(['src/a.js', '.', '/etc/x']);
  });
});
