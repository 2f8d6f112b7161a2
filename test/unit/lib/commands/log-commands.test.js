import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { describeSettings } from '../../../../lib/shared/settings/rules.js';
import { openServer } from '../rpc-server.js';
import { runCommandLine } from '../run-command-line.js';

let folder;
let home;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'nclust-log-commands-'));
  home = join(folder, 'home');
  mkdirSync(home);
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

async function nclust(...argv) {
  return runCommandLine(argv, { cwd: folder, env: { NCLUST_HOME: home } });
}

async function manager(handlers) {
  const asked = [];
  const remembering = Object.entries(handlers).map(([method, answer]) => [
    method,
    (params) => (asked.push([method, params]), answer),
  ]);
  ({ home } = await openServer({ list: () => ({ slots: [], notices: [] }), ...Object.fromEntries(remembering) }));
  return asked;
}

describe('get', () => {
  test('get needs no manager and starts none', async () => {
    writeFileSync(join(home, 'settings.json'), '{"logs.max_files":"3"}');
    expect(await nclust('get', 'logs.max_files')).toEqual({ exitStatus: 0, stdout: '3\n', stderr: '' });
    expect(await nclust('get', 'logs.max_size')).toMatchObject({ stdout: '10M\n' });
    expect((await nclust('get')).stdout).toMatch(
      /^logs\.max_size +10M +size at which .*\(default\)\n[^]*logs\.max_files +3 +number of rotated [^(]*\n/,
    );
    expect(JSON.parse((await nclust('get', 'logs.max_files', '--json')).stdout)).toMatchObject([
      { key: 'logs.max_files', value: '3', isSet: true },
    ]);
    expect(JSON.parse((await nclust('get', '--json')).stdout)).toHaveLength(describeSettings({}).length);
    expect(readdirSync(home)).toEqual(['settings.json']);
  });

  test('get reports invalid settings', async () => {
    writeFileSync(join(home, 'settings.json'), '{"logs.max_files":"many","logs.interval":"daily"}');
    expect(await nclust('get', 'logs.interval')).toMatchObject({
      exitStatus: 0,
      stdout: 'daily\n',
      stderr: expect.stringContaining('"logs.max_files" cannot be "many"'),
    });
    expect(await nclust('get', 'logs.max_files')).toMatchObject({ stdout: '10\n' });
    writeFileSync(join(home, 'settings.json'), 'x');
    expect(await nclust('get', 'logs.interval')).toMatchObject({
      exitStatus: 0,
      stdout: 'never\n',
      stderr: expect.stringContaining('are ignored'),
    });
    rmSync(join(home, 'settings.json'));
    mkdirSync(join(home, 'settings.json'));
    expect(await nclust('get', 'logs.interval')).toMatchObject({
      exitStatus: 0,
      stdout: 'never\n',
      stderr: expect.stringContaining('EISDIR'),
    });
  });
});

describe('an unknown setting or value', () => {
  test.each([
    [['get', 'logs.maxsize'], /no setting "logs.maxsize".*\n.*Did you mean "logs.max_size"/],
    [['set', 'max_age', '3d'], /Did you mean "logs.max_age"/],
    [['set', 'pm2-logrotate:retain', '30'], /Did you mean "logs.max_files"/],
    [['set', 'colour', 'red'], /There are: logs.max_size, /],
    [
      ['set', 'logs.max_age', '3 weeks'],
      /"logs.max_age" cannot be "3 weeks"; accepted: 0 \(no limit\) or milliseconds/,
    ],
    [['set', 'logs.max_age'], /missing required argument/],
    [['unset'], /missing required argument/],
  ])('%j exits 2 with a hint, and starts no manager', async (argv, said) => {
    expect(await nclust(...argv)).toMatchObject({ exitStatus: 2, stdout: '', stderr: expect.stringMatching(said) });
    expect(readdirSync(home)).toEqual([]);
  });
});

test('set and unset send a request, and print the new value', async () => {
  const asked = await manager({
    set: { settings: describeSettings({ 'logs.max_size': '50M' }) },
    unset: { settings: describeSettings({}), wasSet: true },
  });
  expect(await nclust('set', 'logs.max_size', '50M')).toEqual({
    exitStatus: 0,
    stdout: '',
    stderr: '"logs.max_size" is 50M now.\n',
  });
  expect(await nclust('unset', 'logs.max_size')).toEqual({
    exitStatus: 0,
    stdout: '',
    stderr: '"logs.max_size" is not set any more; the default is 10M.\n',
  });
  expect(JSON.parse((await nclust('set', 'logs.max_size', '50M', '--json')).stdout)).toMatchObject([
    { key: 'logs.max_size', value: '50M', isSet: true },
  ]);
  expect(asked[0]).toEqual(['set', { key: 'logs.max_size', value: '50M' }]);
});

test('flush prints the files that it emptied', async () => {
  const asked = await manager({
    flush: {
      files: [
        { path: '/l/api-out.log', bytes: 2_097_152 },
        { path: '/l/api\u001b-error.log', bytes: 0 },
      ],
    },
  });
  expect(await nclust('flush', 'api')).toEqual({
    exitStatus: 0,
    stdout: 'Flushed /l/api-out.log (2.0mb)\nFlushed /l/api?-error.log (0b)\n',
    stderr: '',
  });
  expect(JSON.parse((await nclust('flush', '--json')).stdout)).toHaveLength(2);
  expect(asked.map(([, params]) => params?.targets)).toEqual([['api'], undefined]);
});

test('reloadLogs reports success', async () => {
  await manager({ reloadLogs: {} });
  expect(await nclust('reloadLogs')).toEqual({ exitStatus: 0, stdout: '', stderr: 'All log files were reopened.\n' });
});

test.each([
  [['flush'], 3],
  [['reloadLogs'], 3],
  [['flush', 'api'], 1],
])('%j without a manager exits %d and starts none', async (argv, exitStatus) => {
  expect(await nclust(...argv)).toMatchObject({
    exitStatus,
    stdout: '',
    stderr: expect.stringContaining('nclust runs in'),
  });
  expect(readdirSync(home)).toEqual([]);
});
