import { beforeEach, expect, test } from 'vitest';
import { watchForApp } from '../../../../daemon/control/triggers/app-watch.js';
import { createFakeClock } from '../../../helpers/fake-clock.js';
import { settle } from '../../../helpers/fake-keeper.js';

let clock;
let calls;
let watchers;
let there;
let files;

beforeEach(() => {
  clock = createFakeClock();
  calls = [];
  watchers = [];
  there = { '/a': 'folder:1:1', '/b': 'folder:1:2' };
  files = {};
});

async function begin(roots = ['/a', '/b'], isIgnored = () => false) {
  const open = (o) => {
    const watcher = { ...o, isClosed: false, moved: [], close: () => void (watcher.isClosed = true) };
    watcher.replaced = async () => watcher.moved;
    watchers.push(watcher);
    return watcher;
  };
  const openFile = (path, onStir) => {
    files[path] = onStir;
    return () => delete files[path];
  };
  const scope = { roots, isIgnored, nameOf: (path) => path.slice(1) };
  const watch = watchForApp(scope, {
    clock,
    open,
    openFile,
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
  expect([watchers[0].roots, watch.problem(), watch.ended()]).toEqual([
    ['/a'],
    '"/b" does not exist; it will be watched once it does',
    null,
  ]);
  there['/b'] = 'folder:1:9';
  await turn(1_000);
  watchers[1].onReady();
  await turn(200);
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
  there['/a'] = 'folder:1:77';
  await turn(1_200);
  expect([watchers.length, watchers[0].isClosed, calls]).toEqual([2, true, []]);
  watchers[1].onReady(); // The app reloads only now, so that no later change is missed.
  await turn(100);
  expect(calls).toEqual(['a']);
});

test('a folder below a root that was replaced is watched again, and counts as a change', async () => {
  await begin();
  watchers[0].onReady();
  watchers[0].moved = ['/a/dist'];
  await turn(1_000);
  watchers[1].onReady();
  await turn(200);
  expect([watchers.length, watchers[0].isClosed, calls]).toEqual([2, true, ['a/dist']]);
});

test('200,000 replaced folders count as changes', async () => {
  await begin();
  watchers[0].onReady();
  watchers[0].moved = Array.from({ length: 200_000 }, (_, at) => `/a/${at}`);
  await turn(1_000);
  watchers[1].onReady();
  await turn(500);
  expect(calls).toEqual(['a/199999']);
});

test('a file counts as changed when its state differs, and folders are not watched again', async () => {
  there['/f'] = 'file:1:1:10:5:5';
  const watch = await begin(['/a', '/f']);
  watchers[0].onReady();
  for (const state of ['file:1:2:10:6:6', 'file:1:2:10:7:7', null, 'file:1:2:10:7:8']) {
    there['/f'] = state;
    if (state) files['/f']?.();
    await turn(2_000);
  }
  expect([calls, watchers.length, watch.problem(), Object.keys(files)]).toEqual([['f', 'f', 'f'], 1, null, ['/f']]);
  watch.close();
  expect(files).toEqual({});
});

test('a change of a file is found without a report of the system', async () => {
  there['/f'] = 'file:1:1:10:5:5';
  const watch = await begin(['/f']);
  expect([watch.isReady(), watchers]).toEqual([true, []]);
  there['/f'] = 'file:1:1:10:6:6';
  await turn(1_200);
  expect(calls).toEqual(['f']);
});

test('a file that is ignored, or that a watched folder contains, causes no second reload', async () => {
  there['/a/f'] = 'file:1:1:10:5:5';
  there['/g'] = 'file:1:2:10:5:5';
  await begin(['/a', '/a/f', '/g'], (path) => path === '/g');
  watchers[0].onReady();
  there['/a/f'] = 'file:1:1:10:6:6';
  there['/g'] = 'file:1:2:10:6:6';
  watchers[0].onChange('/a/f');
  await turn(3_000);
  expect(calls).toEqual(['a/f']);
});

test('a folder that disappears is not a change, and ends the watch until it exists again', async () => {
  const watch = await begin();
  delete there['/a'];
  await turn(5_000);
  const ended = '"/a" was removed; it will be watched again once it exists';
  expect([watchers.length, watchers[1].roots, calls, watch.problem(), watch.ended()]).toEqual([
    2,
    ['/b'],
    [],
    ended,
    ended,
  ]);
  there['/a'] = 'folder:1:1';
  await turn(1_000);
  expect([watch.problem(), watch.ended()]).toEqual([null, null]);
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
