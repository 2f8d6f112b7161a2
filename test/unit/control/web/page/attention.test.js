import { expect, test } from 'vitest';
import { describeTroubles, listConcerns } from '../../../../../daemon/control/web/page/attention.js';
import { trouble } from '../../../lib/slots.js';
import { sample, worker } from './samples.js';

const nowMs = 1_060_000;
const look = (over) => listConcerns({ sample: sample([worker()]), notices: [], nowMs, ...over });

test('there is no concern if nothing is wrong', () => {
  expect(look({})).toEqual([]);
});

test('the troubles of the manager come first, with their words and the next command', () => {
  const both = sample([worker(), worker({ id: 1, slot: 1 })]);
  const concerns = look({ sample: { ...both, troubles: [trouble()] }, notices: ['metrics cannot be served'] });
  expect(concerns).toEqual([
    {
      key: 'api:900000:crash-loop',
      level: 'bad',
      app: 'api',
      text: expect.stringMatching(
        /^api \(instance 0\) crashed 3 times within 1m; the last time it .*, "Error: no database", since .* \(1m\)$/,
      ),
      next: 'nclust logs api --err',
    },
    { key: 'metrics cannot be served', level: 'warn', app: null, text: 'metrics cannot be served', next: '' },
  ]);
});

test('a trouble of the only instance does not name it', () => {
  expect(describeTroubles([trouble()], sample([worker()]), nowMs)[0].text).toMatch(/^api crashed/);
});

test('a full disk or memory is shown', () => {
  const full = sample([worker()]);
  Object.assign(full.host, { memoryUsedBytes: 97, diskUsedBytes: 99 });
  expect(look({ sample: full }).map(({ text }) => text)).toEqual([
    'The memory of this machine is 97.0% full',
    'The disk of the home is 99.0% full',
  ]);
});
