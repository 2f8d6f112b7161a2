import { expect, test } from 'vitest';
import { readOptions, separateExitCodes, specFields } from '../../../../../lib/config/options/options.js';
import { FIELDS, OPTIONS_OF } from '../../../../../lib/app-spec/table.js';

test('readOptions returns only the options that were given', () => {
  expect(readOptions('start', { name: undefined, json: true, autorestart: true })).toEqual({});
});

test('every option fills a field that the spec has', () => {
  for (const { field } of OPTIONS_OF.start) if (field) expect(FIELDS).toHaveProperty(field);
});

test.each([
  ['instances', 'many', '--instances', 'max'],
  ['instances', '1.5', '--instances', 'max'],
  ['instances', '+2', '--instances', 'max'],
  ['instances', '-0', '--instances', 'max'],
  ['instances', '0%', '--instances', 'N%'],
  ['maxRestarts', '-1', '--max-restarts', 'whole number'],
  ['killTimeout', 'soon', '--kill-timeout', '1.5s'],
  ['killTimeout', '60d', '--kill-timeout', 'milliseconds'],
  ['expBackoffRestartDelay', '', '--exp-backoff-restart-delay', 'milliseconds'],
  ['stopExitCodes', ['300'], '--stop-exit-codes', '0 to 255'],
  ['stopExitCodes', [], '--stop-exit-codes', '0 to 255'],
  ['stopSignal', 'SIGFOO', '--stop-signal', 'SIGTERM'],
  ['name', ' ', '--name', 'not empty'],
  ['nodeArgs', 'a "b', '--node-args', 'quotes are closed'],
  ['logType', 'xml', '--log-type', 'raw, json'],
  ['logDateFormat', '', '--log-date-format', 'YYYY-MM-DDTHH:mm:ss'],
  ['logMaxSize', '10', '--log-max-size', 'from 1K'],
  ['logMaxSize', 'big', '--log-max-size', '"256M"'],
  ['logInterval', 'monthly', '--log-interval', 'weekly, never, default'],
  ['logMaxFiles', '-1', '--log-max-files', 'whole number'],
  ['logMaxAge', 'long', '--log-max-age', '1.5s'],
  ['logMaxTotal', '5', '--log-max-total', 'from 1K'],
  ['logCompress', 'rar', '--log-compress', 'gzip, zstd, none, default'],
  ['logOverflow', 'wait', '--log-overflow', 'block, drop'],
  ['logRateLimit', '7', '--log-rate-limit', 'from 1K'],
  ['logShip', ['udp://host:514'], '--log-ship', '"syslog+udp://host:port"'],
  ['output', ' ', '--output', 'not empty'],
])('the option %s of %j is refused with the found and the accepted value', (key, value, flag, accepted) => {
  const found = Array.isArray(value) ? value.join(' ') : value;
  expect(() => readOptions('start', { [key]: value })).toThrow(
    expect.objectContaining({
      code: 'ERR_NCLUST_USAGE',
      exitStatus: 2,
      message: expect.stringContaining(`${flag} is ${JSON.stringify(found)}; accepted: `),
    }),
  );
  expect(() => readOptions('start', { [key]: value })).toThrow(accepted);
});

test.each([
  [['0'], ['0'], []],
  [
    ['0', '1,2', 'app.js', '3'],
    ['0', '1,2'],
    ['app.js', '3'],
  ],
  [['app.js'], [], ['app.js']],
])('--stop-exit-codes %j returns the words that are not codes', (words, codes, rest) => {
  expect(separateExitCodes(words)).toEqual({ codes, rest });
});

test.each([
  [{ log: true }, { logFile: 'default' }],
  [{ log: 'all.log' }, { logFile: 'all.log' }],
  [{ log: 'none' }, { logFile: '' }],
  [
    { output: 'none', error: 'default' },
    { outFile: '/dev/null', errorFile: '' },
  ],
  [
    { output: '/dev/null', error: 'NULL' },
    { outFile: '/dev/null', errorFile: 'NULL' },
  ],
  [{ time: true }, { logDateFormat: 'YYYY-MM-DDTHH:mm:ss' }],
  [{ time: true, logDateFormat: 'HH:mm' }, { logDateFormat: 'YYYY-MM-DDTHH:mm:ss' }],
  [{ time: false, logDateFormat: 'HH:mm' }, { logDateFormat: 'HH:mm' }],
  [{ time: false }, { logDateFormat: null }],
  [{ logDateFormat: 'none' }, { logDateFormat: null }],
  [
    { mergeLogs: true, disableLogs: true },
    { mergeLogs: true, disableLogs: true },
  ],
  [
    { mergeLogs: false, disableLogs: false },
    { mergeLogs: false, disableLogs: false },
  ],
  [
    {
      logMaxSize: '50M',
      logInterval: 'daily',
      logMaxFiles: '5',
      logMaxAge: '30d',
      logMaxTotal: '1g',
      logCompress: 'none',
    },
    {
      logMaxSizeBytes: 52_428_800,
      logInterval: 'daily',
      logMaxFiles: 5,
      logMaxAgeMs: 2_592_000_000,
      logMaxTotalBytes: 1_073_741_824,
      logCompress: 'none',
    },
  ],
  [
    { logMaxSize: '0', logMaxFiles: '0', logMaxAge: '0', logMaxTotal: '0' },
    { logMaxSizeBytes: 0, logMaxFiles: 0, logMaxAgeMs: 0, logMaxTotalBytes: 0 },
  ],
  [
    {
      logMaxSize: 'default',
      logInterval: 'default',
      logMaxFiles: 'default',
      logMaxAge: 'default',
      logMaxTotal: 'default',
      logCompress: 'default',
    },
    {
      logMaxSizeBytes: null,
      logInterval: null,
      logMaxFiles: null,
      logMaxAgeMs: null,
      logMaxTotalBytes: null,
      logCompress: null,
    },
  ],
  [
    { logType: 'json', logOverflow: 'drop', logRateLimit: '1mb' },
    { logType: 'json', logOverflow: 'drop', logRateLimitBytes: 1_048_576 },
  ],
  [
    { logRateLimit: 'none', logShip: ['none'] },
    { logRateLimitBytes: 0, logShip: [] },
  ],
  [
    { logShip: ['exec:cat > x', 'syslog+udp://[::1]:514', 'exec:cat > x'] },
    { logShip: ['exec:cat > x', 'syslog+udp://[::1]:514'] },
  ],
])('the log options %j mean %j, in start, restart and reload', (given, fields) => {
  for (const command of ['start', 'restart', 'reload']) expect(specFields(readOptions(command, given))).toEqual(fields);
});

test('restart and reload ignore options that only start has', () => {
  const given = { instances: '2', executeCommand: true, autostart: false, sourceMapSupport: true };
  for (const command of ['restart', 'reload']) expect(readOptions(command, given)).toEqual({});
});
