import { beforeEach, expect, test } from 'vitest';
import { watchForApp } from '../../../../daemon/control/triggers/app-watch.js';
import { createFakeClock } from '../../../helpers/fake-clock.js';
import { settle } from '../../../helpers/fake-keeper.js';

let clock;
let calls;
let watchers;
let there;

beforeEach(() => {
  clock = createFakeClock();
  calls = [];
  watchers = [];
  there = { '/a': '1:1', '/b': '1:2' };
});

async function begin(roots = ['/a', '/b']) {
  const open = (o) => {
    const watcher = { ...o, isClosed: false, close: () => void (watcher.isClosed = true) };
    watchers.push(watcher);
    return watcher;
  };
  const scope = { roots, isIgnored: () => false, nameOf: (path) => path.slice(1) };
  const watch = watchForApp(scope, {
    clock,
    open,
    identify: async (path) => there[path] ?? null,
    options: {},
    delayMs: 0,
    onQuiet: (changes) => calls.push(changes.file),
  });
  await settle();
  return watch;
}

async function turn(ms) {
  for (let left = ms; left > 0; left -= 100) {
    clock.advance(100);
    await settle();
  }
}

test('a change is reported', async () => {
  await begin();
  watchers[0].onChange('/a/x.js');
  await turn(100);
  expect([calls, watchers[0].roots]).toEqual([['a/x.js'], ['/a', '/b']]);
});

test('a missing folder is reported, and watched once it exists, which counts as a change', async () => {
  delete there['/b'];
  const watch = await begin();
  expect([watchers[0].roots, watch.problem()]).toEqual([
    ['/a'],
    '"/b" does not exist; it will be watched once it does',
  ]);
  there['/b'] = '1:9';
  await turn(1_200);
  expect([watchers.map((one) => [one.roots, one.isClosed]), watch.problem(), calls]).toEqual([
    [
      [['/a'], true],
      [['/a', '/b'], false],
    ],
    null,
    ['b'],
  ]);
});

test('a folder that is created again, or a link that leads elsewhere, is watched again', async () => {
  await begin();
  there['/a'] = '1:77';
  await turn(1_200);
  expect([watchers.length, watchers[0].isClosed, calls]).toEqual([2, true, ['a']]);
});

test('a folder that disappears is not a change', async () => {
  await begin();
  delete there['/a'];
  await turn(5_000);
  expect([watchers.length, watchers[1].roots, calls]).toEqual([2, ['/b'], []]);
});

test('no watcher is opened if no path exists', async () => {
  there = {};
  await begin();
  expect(watchers).toEqual([]);
});

test.each([
  ['ENOSPC', /max_user_watches.*sysctl.*usePolling/],
  ['EMFILE', /max_user_instances/],
  ['EIO', /broken/],
])('the error %s is reported with a remedy, and retried after a minute', async (code, problem) => {
  const watch = await begin();
  watchers[0].onError(Object.assign(new Error('broken'), { code }));
  expect(watch.problem()).toMatch(problem);
  await turn(59_000);
  expect(watchers).toHaveLength(1);
  await turn(1_100);
  expect([watchers.length, watch.problem(), calls]).toEqual([2, null, []]);
});

test('the watch is ready when its watcher is', async () => {
  const watch = await begin();
  expect(watch.isReady()).toBe(false);
  watchers[0].onReady();
  expect(watch.isReady()).toBe(true);
});

test('a closed watch holds nothing', async () => {
  const watch = await begin();
  watchers[0].onChange('/a/x');
  watch.close();
  await turn(5_000);
  expect([watchers[0].isClosed, calls, clock.pending()]).toEqual([true, [], 0]);
});
