import { expect, test } from 'vitest';
import { findCrashing, findOverLimit, findUnserved } from '../../../../lib/doctor/app-facts.js';
import { slotStatus } from '../slots.js';

const NOW = 100 * 60_000;

const event = (secondsAgo, type, more = {}) => ({
  at: NOW - secondsAgo * 1_000,
  type,
  app: 'api',
  id: 0,
  slot: 0,
  generation: 0,
  ...more,
});
const crashes = (...secondsAgo) =>
  secondsAgo.map((ago) =>
    event(ago, 'died', { cause: 'crash', code: 1, signal: null, wasReady: true, words: 'Error: password hunter2' }),
  );
const slot = (more = {}) => slotStatus({ restarts: 150, ...more });

test('findCrashing counts the crashes of an app that is up in between, without its output', () => {
  expect(findCrashing([slot()], crashes(780, 400, 200, 5), NOW)).toEqual([
    { name: 'api', times: 4, firstMs: NOW - 780_000, lastMs: NOW - 5_000, last: 'exited with code 1' },
  ]);
  expect(findCrashing([slot({ status: 'launching' })], crashes(30, 20, 10), NOW)).toMatchObject([{ times: 3 }]);
});

test.each([
  ['two crashes', [slot()], crashes(10, 5)],
  ['crashes of an hour ago', [slot()], crashes(3_630, 3_620, 3_610)],
  ['crashes before a reset', [slot({ restarts: 0 })], crashes(15, 10, 5)],
  ['crashes before a restart', [slot({ generation: 1 })], [...crashes(15, 10, 5), event(2, 'rollout:began')]],
  [
    'exits that were asked for',
    [slot()],
    crashes(15, 10, 5).map((one) => ({ ...one, cause: 'reload', by: 'memory: 110 MB above 100 MB' })),
  ],
  ['an app that waits for its restart', [slot({ status: 'waiting restart' })], crashes(15, 10, 5)],
])('findCrashing leaves out %s', (_what, slots, events) => {
  expect(findCrashing(slots, events, NOW)).toEqual([]);
});

test('findOverLimit counts what the memory limit replaced in the last ten minutes', () => {
  const limits = [700, 500, 300, 100].map((ago) => event(ago, 'limit:memory', { by: 'memory: 110 MB above 100 MB' }));
  expect(findOverLimit([slot()], limits, NOW)).toEqual([
    { name: 'api', times: 3, firstMs: NOW - 500_000, lastMs: NOW - 100_000, last: '110 MB above 100 MB' },
  ]);
  expect(findOverLimit([slot()], limits.slice(2), NOW)).toEqual([]);
});

test.each([
  ['a stopped app', [slot({ status: 'stopped' })], []],
  ['an app that was added again', [slot()], [event(50, 'deleted'), event(40, 'added')]],
  ['an app that a command replaced', [slot()], [event(50, 'rollout:began', { by: 'reload' })]],
])('findOverLimit leaves out %s', (_what, slots, later) => {
  const limits = [500, 300, 100].map((ago) => event(ago, 'limit:memory', { by: 'memory: 110 MB above 100 MB' }));
  expect(findOverLimit(slots, [...limits, ...later], NOW)).toEqual([]);
});

test.each([
  ['an app that should listen by now', { startedAtMs: NOW - 60_000 }, [], 1],
  ['an app that has just started', { startedAtMs: NOW - 5_000 }, [], 0],
  ['an app that starts', { startedAtMs: NOW - 60_000, status: 'launching' }, [], 0],
  ['a socket in use', { startedAtMs: NOW - 60_000 }, [{ id: 0, slot: 0, pid: 7 }], 0],
])('findUnserved finds the socket of %s: %s', (_what, fields, users, count) => {
  const sockets = [{ app: 'api', address: '::', port: 3_000, users }];
  expect(findUnserved(sockets, [slot(fields)], NOW)).toHaveLength(count);
});
