import { expect, test } from 'vitest';
import { checkSpec, checkSpecChange } from '../../../../lib/app-spec/check.js';

const least = { name: 'api', kind: 'node', file: '/usr/bin/node', script: '/srv/app.js', cwd: '/srv' };

test('missing fields get their defaults', () => {
  expect(checkSpec(least)).toMatchObject({
    ...least,
    namespace: 'default',
    mode: 'fork',
    instances: 1,
    env: {},
    uid: null,
    autorestart: true,
    maxRestarts: 16,
    restartDelayMs: 0,
    backoffMs: null,
    minUptimeMs: 1_000,
    stopExitCodes: [],
    killTimeoutMs: 10_000,
    listenTimeoutMs: 10_000,
    treekill: true,
    instanceVar: 'NODE_APP_INSTANCE',
    maxSurge: 1,
    maxUnavailable: 0,
    logMaxSizeBytes: null,
    watchOff: false,
    maxMemoryBytes: 0,
  });
});

test('defaults are not shared between specs', () => {
  checkSpec(least).env.A = '1';
  expect(checkSpec(least).env).toEqual({});
});

test('unknown fields are dropped', () => {
  expect(checkSpec({ ...least, colour: 'red' })).not.toHaveProperty('colour');
});

test.each([
  ['nothing at all', null, 'spec', 'null'],
  ['no name', { ...least, name: undefined }, 'spec.name', 'nothing'],
  ['an empty name', { ...least, name: ' ' }, 'spec.name', '" "'],
  ['the name all', { ...least, name: 'all' }, 'spec.name', '"all"'],
  ['a name of two lines', { ...least, name: 'a\nb' }, 'spec.name', '"a\\nb"'],
  ['a relative file', { ...least, file: 'node' }, 'spec.file', '"node"'],
  ['an unknown mode', { ...least, mode: 'thread' }, 'spec.mode', '"cluster" or "fork"'],
  ['cluster mode for a binary', { ...least, kind: 'exec', mode: 'cluster' }, 'spec.mode', 'Node.js'],
  ['half an instance', { ...least, instances: 1.5 }, 'spec.instances', '1.5'],
  ['instances in words', { ...least, instances: 'many' }, 'spec.instances', '"many"'],
  ['a duration as text', { ...least, killTimeoutMs: '10s' }, 'spec.killTimeoutMs', '"10s"'],
  ['a timer Node would turn into 1 ms', { ...least, killTimeoutMs: 2 ** 31 }, 'spec.killTimeoutMs', '2147483648'],
  ['an exit code above 255', { ...least, stopExitCodes: [256] }, 'spec.stopExitCodes', '[256]'],
  ['a signal without SIG', { ...least, stopSignal: 'TERM' }, 'spec.stopSignal', '"TERM"'],
  ['numbers in env', { ...least, env: { PORT: 1 } }, 'spec.env', 'an object'],
  ['a NUL in an argument', { ...least, args: ['a\0b'] }, 'spec.args', 'a list of texts'],
  ['a type of log there is not', { ...least, logType: 'xml' }, 'spec.logType', '"raw" or "json"'],
  ['an empty date format', { ...least, logDateFormat: ' ' }, 'spec.logDateFormat', 'or null for no dates'],
  ['a date format of two lines', { ...least, logDateFormat: 'YYYY\nMM' }, 'spec.logDateFormat', 'on one line'],
  ['10 for 10M', { ...least, logMaxSizeBytes: 10 }, 'spec.logMaxSizeBytes', 'or a whole number from 1024'],
  ['a rate of 5 bytes', { ...least, logRateLimitBytes: 5 }, 'spec.logRateLimitBytes', '1024'],
  ['an unknown interval', { ...least, logInterval: 'monthly' }, 'spec.logInterval', '"weekly"'],
  ['a target without a scheme', { ...least, logShip: ['host:514'] }, 'spec.logShip', '"syslog+udp://host:port"'],
  ['nine targets', { ...least, logShip: Array(9).fill('exec:cat') }, 'spec.logShip', 'at most 8'],
])('%s is refused with its key, its value and the accepted values', (_, spec, keyPath, found) => {
  expect(() => checkSpec(spec)).toThrow(
    expect.objectContaining({
      code: 'ERR_NCLUST_BAD_SPEC',
      message: expect.stringMatching(/^".*" is .*; accepted: .+\.$/s),
      data: { keyPath, accepted: expect.stringMatching(/./) },
    }),
  );
  expect(() => checkSpec(spec)).toThrow(found);
});

test('a change contains only the given fields, and is checked like a spec', () => {
  expect(checkSpecChange({ maxRestarts: 3 })).toEqual({ maxRestarts: 3 });
  expect(() => checkSpecChange({ maxRestarts: -3 }, 'specs[1]')).toThrow('"specs[1].maxRestarts" is -3');
});

test('limits without a timer may be longer than the longest timer', () => {
  const year = { logMaxAgeMs: 365 * 86_400_000, logMaxSizeBytes: 8 * 1024 ** 3, logMaxTotalBytes: 0 };
  expect(checkSpec({ ...least, ...year })).toMatchObject(year);
});

test.each([
  ['', ''],
  ['NULL', 'NULL'],
  ['/dev/null', '/dev/null'],
  ['/var/log/x.log', '/var/log/x.log'],
  ['logs/x.log', '/srv/logs/x.log'],
  ['../x.log', '/x.log'],
])('the log path %j is read as %j', (given, path) => {
  expect(checkSpec({ ...least, outFile: given, errorFile: given, logFile: given })).toMatchObject({
    outFile: path,
    errorFile: path,
    logFile: path,
  });
});

test('a combined log with the default name has no path yet', () => {
  expect(checkSpec({ ...least, logFile: 'default' }).logFile).toBe('default');
});

test.each(['env', 'shellEnv', 'secrets', 'args', 'execArgs'])('an error about %s does not quote its value', (key) => {
  const check = () => checkSpec({ ...least, [key]: { 'A=B': 'hunter2\0' } });
  expect(check).toThrow(`"spec.${key}" is an object; accepted: `);
  expect(check).not.toThrow('hunter2');
});
