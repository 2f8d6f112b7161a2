import { expect, test } from 'vitest';
import { findConcerns } from '../../../../../daemon/control/web/page/attention.js';
import { sample, worker } from './samples.js';

const nowMs = new Date('2026-05-01T12:00:00').getTime();
const look = (over) => findConcerns({ sample: sample([worker()]), slots: [], events: [], notices: [], nowMs, ...over });
const died = (ago, over = {}) => ({
  at: nowMs - ago,
  type: 'died',
  app: 'api',
  id: 0,
  slot: 0,
  cause: 'crash',
  code: 1,
  signal: null,
  uptimeMs: 500,
  words: 'Error: boom',
  ...over,
});

test('there is no concern if nothing is wrong', () => {
  expect(look({})).toEqual([]);
});

test('failed apps come first, with the reason of nclust why', () => {
  const concerns = look({
    sample: sample([worker({ name: 'aaa' }), worker({ id: 1, status: 'errored', pid: 0 })]),
    slots: [{ name: 'api', id: 1, slot: 0, status: 'errored', waitingFor: null, restarts: 16 }],
    events: [
      { at: nowMs - 60_000, type: 'limit:memory', app: 'aaa', slot: 0, by: 'memory: 300mb' },
      died(5_000, { id: 1 }),
      { at: nowMs - 4_000, type: 'gave-up', app: 'api', id: 1, slot: 0, crashes: 17 },
    ],
    notices: ['metrics cannot be served'],
  });
  expect(concerns).toEqual([
    {
      level: 'bad',
      app: 'api',
      text: 'api is errored since 11:59:56 (4s): it exited with code 1 after 500ms, "Error: boom"',
    },
    { level: 'warn', app: null, text: 'metrics cannot be served' },
    { level: 'warn', app: 'aaa', text: 'aaa: instance 0 is above its memory limit (300mb), and is replaced, 1m ago' },
  ]);
});

test('a state that is newer than the list is shown without a reason', () => {
  expect(look({ sample: sample([worker({ status: 'waiting restart', pid: 0 })]) })).toEqual([
    { level: 'warn', app: 'api', text: 'api is waiting restart' },
  ]);
});

test('an unplanned crash is shown for a quarter of an hour, and a requested one never', () => {
  expect(look({ events: [died(60_000), died(30_000)] })).toEqual([
    {
      level: 'warn',
      app: 'api',
      text: 'api: 2 crashes recently, the last 30s ago: instance 0 exited with code 1 after 500ms, "Error: boom"',
    },
  ]);
  expect(look({ events: [died(16 * 60_000), died(1_000, { cause: 'restart', by: 'restart' })] })).toEqual([]);
});

test('a blocked event loop is shown while it is blocked', () => {
  expect(look({ sample: sample([worker({ reportAgeMs: 4_200 })]) })).toEqual([
    { level: 'bad', app: 'api', text: 'api: the event loop of instance 0 has been blocked for 4.2s' },
  ]);
  expect(look({ sample: sample([worker({ reportAgeMs: 4_200, isNode: false })]) })).toEqual([]);
});

test('a full disk or memory is shown', () => {
  const full = sample([worker()]);
  Object.assign(full.host, { memoryUsedBytes: 97, diskUsedBytes: 99 });
  expect(look({ sample: full }).map(({ text }) => text)).toEqual([
    'The memory of this machine is 97.0% full',
    'The disk of the home is 99.0% full',
  ]);
});
