import { beforeEach, expect, test } from 'vitest';
import { createReloadQueue } from '../../../../daemon/control/triggers/reload-queue.js';
import { settle } from '../../../helpers/fake-keeper.js';

const app = { slots: [] };
let begun;
let events;
let queue;

beforeEach(() => {
  begun = [];
  events = [];
  queue = createReloadQueue({
    reload: (name, due) =>
      new Promise((resolve, reject) => begun.push({ name, by: due.by, ids: due.choose(app), resolve, reject })),
    nowMs: () => 7,
    managerLog: (event, fields) => events.push({ event, ...fields }),
  });
});

const ask = (name, by, ids = [1]) => queue.enqueue(name, { trigger: 'watch', by, choose: () => ids });

test('an app has one reload at a time, and requests during it become one more, for all their slots', async () => {
  ask('api', 'first');
  ask('api', 'second', [1, 2]);
  ask('api', 'third', [2, 3]);
  ask('web', 'other');
  expect(begun.map(({ name, by }) => [name, by])).toEqual([
    ['api', 'first'],
    ['web', 'other'],
  ]);
  begun[0].resolve(true);
  await settle();
  expect(begun.slice(2)).toMatchObject([{ name: 'api', by: 'second', ids: [1, 2, 3] }]);
  begun[2].resolve(true);
  await settle();
  expect([begun.length, queue.isBusy('api'), queue.isBusy('web')]).toEqual([3, false, true]);
});

test('a few apps reload at a time, and one above its memory limit is next', async () => {
  for (let n = 0; n < 20; n += 1) ask(`app-${n}`, 'all of them');
  queue.enqueue('leak', { trigger: 'memory', by: 'too much', choose: () => [1] });
  expect(begun.map(({ name }) => name)).toEqual(Array.from({ length: 8 }, (_, n) => `app-${n}`));
  begun[3].resolve(true);
  await settle();
  expect(begun.slice(8)).toMatchObject([{ name: 'leak' }]);
  begun[8].reject(new Error('no'));
  await settle();
  expect(begun.slice(9)).toMatchObject([{ name: 'app-8' }]);
  for (let n = 0; n < begun.length; n += 1) {
    begun[n].resolve(true);
    await settle();
  }
  expect(begun).toHaveLength(21);
  ask('app-0', 'again');
  expect(begun).toHaveLength(22);
});

test('a failed reload is reported, and the next one follows', async () => {
  ask('api', 'first');
  ask('api', 'second');
  begun[0].reject(Object.assign(new Error('does not parse'), { code: 'ERR_NCLUST_PREFLIGHT' }));
  await settle();
  expect(queue.last('api')).toEqual({ atMs: 7, by: 'first', problem: 'does not parse' });
  expect(events).toContainEqual({
    event: 'trigger-failed',
    app: 'api',
    by: 'first',
    code: 'ERR_NCLUST_PREFLIGHT',
    message: 'does not parse',
  });
  begun[1].resolve(true);
  await settle();
  expect(queue.last('api')).toEqual({ atMs: 7, by: 'second', problem: null });
});

test('a reload with nothing to do leaves the previous one as the last', async () => {
  ask('api', 'first');
  begun[0].resolve(false);
  await settle();
  expect(queue.last('api')).toBeNull();
});

test('a deleted app is forgotten', async () => {
  ask('api', 'first');
  begun[0].resolve(true);
  await settle();
  queue.forget((name) => name !== 'api');
  expect(queue.last('api')).toBeNull();
});
