import { expect, test } from 'vitest';
import { signalName } from '../../../../../lib/shared/host/signals.js';

test.each([
  ['SIGTERM', 'SIGTERM'],
  ['term', 'SIGTERM'],
  ['15', 'SIGTERM'],
  [9, 'SIGKILL'],
  [' usr2 ', 'SIGUSR2'],
  ['FOO', null],
  ['', null],
  ['99', null],
  ['0', null],
])('the signal %j is %j', (value, name) => {
  expect(signalName(value)).toBe(name);
});
