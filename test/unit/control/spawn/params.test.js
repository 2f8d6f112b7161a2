import { symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { canHideInspector, createLabel, logFiles, spawnParams } from '../../../../daemon/control/spawn/params.js';
import { isRoot, NOBODY, userFolders } from '../../../helpers/other-user.js';
import { makeSpec } from '../make-spec.js';

const place = { id: 7, slot: 2, generation: 3 };
const params = (spec) =>
  spawnParams(spec, place, {
    instanceId: 'i',
    home: '/h',
    label: createLabel(spec, place, { spawns: 4, logs: '/h/logs' }),
  });

test('the keeper gets a Node.js program as script, arguments and arguments of node', () => {
  expect(params(makeSpec({ interpreterArgs: ['--no-warnings'], args: ['a'], uid: 33 }))).toMatchObject({
    instanceId: 'i',
    app: 'api',
    scope: 'api',
    mode: 'cluster',
    file: '/usr/bin/node',
    script: '/srv/api.js',
    args: ['a'],
    execArgv: ['--no-warnings'],
    uid: 33,
    label: {
      name: 'api',
      slot: 2,
      id: 7,
      generation: 3,
      spawns: 4,
      stop: { killTimeoutMs: 10_000, signal: null, tree: true },
    },
  });
});

test('the keeper gets any other program as it is executed', () => {
  const given = params(
    makeSpec({ kind: 'exec', mode: 'fork', file: '/bin/sh', execArgs: ['-c', 'date'], args: ['ignored'] }),
  );
  expect(given).toMatchObject({ mode: 'exec', file: '/bin/sh', args: ['-c', 'date'], execArgv: [] });
  expect(given).not.toHaveProperty('script');
  expect(given).not.toHaveProperty('uid');
});

test.runIf(isRoot)('the keeper enters a folder as root only if the user cannot make its path lead elsewhere', () => {
  const { own, closed, plant } = userFolders();
  const link = plant('link', (path) => symlinkSync(closed, path));
  const isTrusted = (cwd, uid = NOBODY.uid) => params(makeSpec({ cwd, uid })).isCwdTrusted ?? false;
  expect([closed, join(closed, 'empty'), own].map((cwd) => isTrusted(cwd))).toEqual([true, true, true]);
  expect([link, join(own, 'x'), join(link, 'empty')].map((cwd) => isTrusted(cwd))).toEqual([false, false, false]);
  expect(isTrusted(link, null)).toBe(true);
});

test('no two apps share listening sockets, whatever their names', () => {
  const scopes = [
    makeSpec({ name: 'a', mode: 'fork' }),
    makeSpec({ name: 'a/2' }),
    makeSpec({ name: 'a 2', mode: 'fork' }),
  ].map((spec) => params(spec).scope);
  expect(new Set(scopes).size).toBe(3);
});

test.each([
  ['one in fork mode', { mode: 'fork' }, '/h/logs/api-out.log', '/h/logs/api-error.log'],
  [
    'a named number in fork mode',
    { mode: 'fork', instancesGiven: true },
    '/h/logs/api-out-7.log',
    '/h/logs/api-error-7.log',
  ],
  ['cluster mode', {}, '/h/logs/api-out-7.log', '/h/logs/api-error-7.log'],
  ['cluster mode, merged', { mergeLogs: true }, '/h/logs/api-out.log', '/h/logs/api-error.log'],
  ['own files', { outFile: '/var/log/x.out.log', errorFile: '/var/log/x' }, '/var/log/x.out-7.log', '/var/log/x-7'],
  ['no files', { outFile: '/dev/null', errorFile: 'NULL' }, '', ''],
  ['a device', { outFile: '/dev/null0' }, '/dev/null0', '/h/logs/api-error-7.log'],
  ...['/dev/stdout', '/dev//stderr', '/dev/fd/3', '/proc/self/fd/1'].map((path) => [
    `the output of a daemon (${path})`,
    { outFile: path, logFile: path },
    '/h/logs/api-out-7.log',
    '/h/logs/api-error-7.log',
    '/h/logs/api-7.log',
  ]),
  [
    'a file for both streams',
    { mergeLogs: true, logFile: 'default' },
    '/h/logs/api-out.log',
    '/h/logs/api-error.log',
    '/h/logs/api.log',
  ],
  [
    'a file for both streams, of each instance',
    { logFile: '/var/log/api.txt' },
    '/h/logs/api-out-7.log',
    '/h/logs/api-error-7.log',
    '/var/log/api-7.txt',
  ],
  ['logs disabled', { disableLogs: true, outFile: '/var/log/x', logFile: 'default' }, '', ''],
])('the log files are named for %s', (_what, fields, outFile, errorFile, logFile = '') => {
  expect(logFiles(makeSpec(fields), 7, '/h/logs')).toEqual({ outFile, errorFile, logFile });
});

test.each([
  [{ mergeLogs: true }, '/h/logs/api-out.log', '/h/logs/api-error.log'],
  [{ outFile: 'NULL', errorFile: 'NULL', logFile: '/var/log/api.txt' }, '/var/log/api-7.txt', '/var/log/api-7.txt'],
  [{ outFile: 'NULL', logFile: '/var/log/api.txt' }, null, '/h/logs/api-error-7.log'],
  [{ outFile: 'NULL', errorFile: 'NULL' }, null, null],
])('a worker with %j writes to these files while no reader has its pipes', (fields, out, err) => {
  expect(params(makeSpec(fields)).logFiles).toEqual({ out, err });
});

test('the scheduling is set only in cluster mode, and the slot always', () => {
  expect(params(makeSpec({ scheduling: 'sticky' }))).toMatchObject({ scheduling: 'sticky', slot: 2 });
  expect(params(makeSpec({ mode: 'fork' }))).not.toHaveProperty('scheduling');
});

test('only a program that can use the channel is asked to exit by a message', () => {
  const exec = { kind: 'exec', mode: 'fork', shutdownWithMessage: true };
  const messageOf = (fields) => params(makeSpec(fields)).label.stop.message;
  expect(messageOf({ shutdownWithMessage: true })).toBe(true);
  expect(messageOf({})).toBeUndefined();
  expect(messageOf({ ...exec, file: '/usr/bin/node' })).toBe(true);
  expect(messageOf({ ...exec, file: '/usr/bin/python3' })).toBeUndefined();
});

test('a program that is not started as Node.js gets a channel, and the preload if it may start Node.js', () => {
  const exec = (file, execArgs = []) => params(makeSpec({ kind: 'exec', mode: 'fork', file, execArgs }));
  expect(exec('/usr/bin/node', ['app.js'])).toMatchObject({ mode: 'exec', hasChannel: true, hasPreload: true });
  expect(exec('/bin/bash', ['-c', 'node app.js'])).toMatchObject({ hasChannel: true, hasPreload: true });
  expect(exec('/srv/api')).toMatchObject({ hasChannel: true, hasPreload: false });
  expect(exec('/usr/bin/python3')).toMatchObject({ hasChannel: false, hasPreload: false });
});

test('the address of the inspector is secret if the label asks for it', () => {
  const spec = makeSpec({ interpreterArgs: ['--no-warnings'] });
  const label = { ...createLabel(spec, place, { spawns: 4, logs: '/h/logs' }), hasSecretInspector: true };
  const { execArgv } = spawnParams(spec, place, { instanceId: 'i', home: '/h', label, secrets: {} });
  expect(execArgv).toEqual(['--no-warnings', '--inspect-publish-uid=stderr']);
});

test.runIf(process.platform === 'linux').each([
  [true, {}],
  [true, { interpreterArgs: ['--no-warnings'], env: { NODE_OPTIONS: '--enable-source-maps' } }],
  [false, { interpreterArgs: ['--inspect=9300'] }],
  [false, { interpreterArgs: ['--inspect-publish-uid=http'] }],
  [false, { env: { NODE_OPTIONS: '--inspect-port=0' } }],
  [false, { kind: 'exec', mode: 'fork' }],
])('the address of the inspector can be secret: %s, with %j', (expected, fields) => {
  expect(canHideInspector(makeSpec(fields))).toBe(expected);
});
