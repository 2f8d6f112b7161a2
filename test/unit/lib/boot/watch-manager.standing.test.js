import { expect, test } from 'vitest';
import { isDecided, readState } from '../../../../lib/boot/watch-manager.js';

const slot = (status, restarts = 0) => ({ status, restarts });

test.each([
  ['nothing to run', [], true],
  ['all up', [slot('online'), slot('online')], true],
  ['one on its way', [slot('online'), slot('launching')], false],
  ['one on its way that has failed before', [slot('launching', 1)], true],
  ['one that failed', [slot('waiting restart'), slot('errored'), slot('stopped')], true],
])('the state of the service decides whether it is started: %s', (_, slots, isIt) => {
  expect(isDecided(slots)).toBe(isIt);
});

test.each([
  [[], '0 of 0 instances are up'],
  [[slot('online'), slot('launching')], '1 of 2 instances are up'],
  [
    [slot('online'), slot('stopped'), slot('errored'), slot('waiting restart')],
    '1 of 3 instances are up, 1 waiting to be restarted, 1 given up, 1 stopped',
  ],
])('the output of systemctl', (slots, text) => {
  expect(readState(slots)).toBe(text);
});
