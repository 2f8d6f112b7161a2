import { expect, test } from 'vitest';
import { readStartOptions, separateExitCodes, START_OPTIONS } from '../../../../lib/config/options.js';
import { SPEC_RULES } from '../../../../lib/shared/spec.js';

test('what is not given is not there', () => {
  expect(readStartOptions({ name: undefined, json: true, autorestart: true })).toEqual({});
});

test('every field an option fills is a field of the spec', () => {
  for (const { field } of START_OPTIONS) if (field) expect(SPEC_RULES).toHaveProperty(field);
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
])('%s of %j is refused, naming option, found and accepted', (key, value, flag, accepted) => {
  const found = Array.isArray(value) ? value.join(' ') : value;
  expect(() => readStartOptions({ [key]: value })).toThrow(expect.objectContaining({ code: 'ERR_NCLUST_USAGE', exitStatus: 2, message: expect.stringContaining(`${flag} is ${JSON.stringify(found)}; accepted: `) }));
  expect(() => readStartOptions({ [key]: value })).toThrow(accepted);
});

test.each([
  [['0'], ['0'], []],
  [['0', '1,2', 'app.js', '3'], ['0', '1,2'], ['app.js', '3']],
  [['app.js'], [], ['app.js']],
])('--stop-exit-codes %j gives back what is no code', (words, codes, rest) => {
  expect(separateExitCodes(words)).toEqual({ codes, rest });
});
