import { expect, test } from 'vitest';
import { findAttribute } from '../../../../../lib/app-spec/table.js';
import { readOptions, separateWatched, specFields } from '../../../../../lib/config/options/options.js';

test.each([
  [{ watch: true }, { watch: ['.'] }],
  [{ watch: ['src', 'lib/**/*.js'] }, { watch: ['src', 'lib/**/*.js'] }],
  [{ watch: false }, { watch: [] }],
  [{ ignoreWatch: ['node_modules', '*.log'] }, { ignoreWatch: ['node_modules', '*.log'] }],
  [
    { ignoreWatch: ['node_modules *.log', 'tmp', '/a b/i'] },
    { ignoreWatch: ['node_modules', '*.log', 'tmp', '/a b/i'] },
  ],
  [{ ext: 'js,.json *.ts' }, { watchExtensions: ['js', 'json', 'ts'] }],
  [{ watchDelay: '2' }, { watchDelayMs: 2_000 }],
  [{ watchDelay: '0.5' }, { watchDelayMs: 500 }],
  [{ watchDelay: '250ms' }, { watchDelayMs: 250 }],
  [{ cron: '0 3 * * *' }, { cronRestart: '0 3 * * *' }],
  [{ cronRestart: '*/5 * * * * *' }, { cronRestart: '*/5 * * * * *' }],
  [{ cron: '0' }, { cronRestart: null }],
  [{ maxMemoryRestart: '300M' }, { maxMemoryBytes: 300 * 1024 ** 2 }],
  [{ maxMemoryRestart: '0' }, { maxMemoryBytes: 0 }],
  [{ pid: 'run/api.pid' }, { pidFile: 'run/api.pid' }],
  [{ pid: 'default' }, { pidFile: '' }],
  [{ autostart: false }, { autostart: false }],
])('the options %j become %j', (given, fields) => {
  expect(specFields(readOptions('start', given))).toEqual(fields);
});

test('reload accepts --watch paths, and restart does not', () => {
  expect(specFields(readOptions('reload', { watch: ['src'], maxMemoryRestart: '1G' }))).toEqual({
    watch: ['src'],
    maxMemoryBytes: 1024 ** 3,
  });
  // The --watch of restart is another option, without paths.
  expect(specFields(readOptions('restart', { watch: true, cron: '@daily' }))).toEqual({ cronRestart: '@daily' });
});

test.each([
  ['watch', [' '], '--watch', 'list of paths'],
  ['ignoreWatch', ['(\\.'], '--ignore-watch', 'looks like a regular expression but is not valid'],
  ['ext', 'src/*.js', '--ext', 'js,json'],
  ['watchDelay', 'soon', '--watch-delay', 'seconds'],
  ['cron', '99 * * * *', '--cron', 'Invalid value for minute: 99'],
  ['cronRestart', 'every day', '--cron-restart', 'exactly five, six, or seven'],
  ['cron', '0 0 30 2 *', '--cron', 'no date matches it'],
  ['maxMemoryRestart', '300', '--max-memory-restart', 'from 1M'],
  ['maxMemoryRestart', 'much', '--max-memory-restart', '"256M"'],
])('the option %s of %j is refused with the found and the accepted value', (key, value, flag, accepted) => {
  expect(() => readOptions('start', { [key]: value })).toThrow(
    expect.objectContaining({
      code: 'ERR_NCLUST_USAGE',
      exitStatus: 2,
      message: expect.stringContaining(`${flag} is `),
    }),
  );
  expect(() => readOptions('start', { [key]: value })).toThrow(accepted);
});

test.each([
  ['watch', true, ['.']],
  ['watch', 'server', ['server']],
  ['watch', false, []],
  ['watch', [], []],
  ['ignore_watch', 'tmp', ['tmp']],
  ['ignore_watch', ' tmp  *.log ', ['tmp', '*.log']],
  ['ignore_watch', '/a b/', ['/a b/']],
  ['ignore_watch', ['my folder'], ['my folder']],
  ['ignore_watch', [/^cache/i, 'x'], ['/^cache/i', 'x']],
  ['watch_delay', 1_500, 1_500],
  ['watch_delay', '2s', 2_000],
  ['watch_options', { usePolling: true }, { usePolling: true }],
  ['cron_restart', 0, null],
  ['cron_restart', ' 0 3 * * * ', '0 3 * * *'],
  ['max_memory_restart', 104_857_600, 104_857_600],
  ['max_memory_restart', '1.5G', 1.5 * 1024 ** 3],
  ['autostart', false, false],
  ['pid_file', './x.pid', './x.pid'],
])('the attribute %s of a file may be %j', (name, value, read) => {
  const row = findAttribute(name);
  expect(row?.read(value, `apps[0].${name}`)).toEqual(read);
});

test.each([
  [[], ['app.js'], { targets: ['app.js'], watch: true }],
  [[], ['src', 'app.js'], { targets: ['app.js'], watch: ['src'] }],
  [['app.js'], ['lib.js'], { targets: ['app.js'], watch: ['lib.js'] }],
  [[], ['src'], { targets: [], watch: ['src'] }],
  [[], true, { targets: [], watch: true }],
  [[], undefined, { targets: [], watch: undefined }],
])('start %j --watch %j takes a script as the target, and not as a path to watch', (targets, watch, separated) => {
  expect(separateWatched(targets, watch, (path) => path.endsWith('.js'))).toEqual(separated);
});
