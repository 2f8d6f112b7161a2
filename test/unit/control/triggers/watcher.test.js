import { lstatSync, mkdirSync, mkdtempSync, rmSync, statSync, symlinkSync, unlinkSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { createPlaces, createSharedWatchers } from '../../../../daemon/control/triggers/folder-watcher.js';
import { settle } from '../../../helpers/fake-keeper.js';

vi.mock('node:fs/promises', async (original) => {
  const real = await original();
  return { ...real, stat: vi.fn(real.stat) };
});

let open;
let watchers;
let calls;

beforeEach(() => {
  watchers = [];
  calls = {};
  open = createSharedWatchers((o) => {
    const watcher = { ...o, isClosed: false, moved: [] };
    watchers.push(watcher);
    return { replaced: async () => watcher.moved, close: () => void (watcher.isClosed = true) };
  });
});

function member(name, key = 'src') {
  calls[name] = [];
  const record = (word) => (about) => void calls[name].push(about === undefined ? word : `${word} ${about}`);
  return open(key, {
    roots: ['/a'],
    isIgnored: () => false,
    options: {},
    onChange: record('changed'),
    onStir: record('stirred'),
    onReady: record('ready'),
    onError: record('failed'),
  });
}

test('equal watches share one watcher, and all are notified', async () => {
  member('one');
  member('two');
  member('other', 'lib');
  expect(watchers).toHaveLength(2);
  watchers[0].onReady();
  watchers[0].onStir();
  watchers[0].onChange('/a/x');
  member('late');
  await settle();
  expect(calls).toEqual({
    one: ['ready', 'stirred', 'changed /a/x'],
    two: ['ready', 'stirred', 'changed /a/x'],
    other: [],
    late: ['ready'],
  });
});

test('the last user of a watcher closes it, once, and one that has left is not notified', async () => {
  const [one, two] = [member('one'), member('two')];
  one.close();
  one.close();
  expect(watchers[0].isClosed).toBe(false);
  watchers[0].onReady();
  member('short').close();
  await settle();
  two.close();
  expect([watchers[0].isClosed, calls]).toEqual([true, { one: [], two: ['ready'], short: [] }]);
  member('three');
  expect(watchers).toHaveLength(2);
});

test('a retry after an error gets another watcher, and users that have not retried keep theirs', () => {
  const [one] = [member('one'), member('two')];
  watchers[0].onError('ENOSPC');
  one.close();
  const again = member('one again');
  expect([watchers.length, watchers[0].isClosed, calls.two]).toEqual([2, false, ['failed ENOSPC']]);
  member('three');
  again.close();
  expect([watchers.length, watchers[1].isClosed]).toEqual([2, false]);
});

test('every user learns of a replaced folder, and the next attempt opens another watcher', async () => {
  const [one, two] = [member('one'), member('two')];
  watchers[0].moved = ['/a/dist'];
  expect(await one.replaced()).toEqual(['/a/dist']);
  one.close();
  const again = member('one again');
  expect(await two.replaced()).toEqual(['/a/dist']);
  two.close();
  member('two again');
  expect([watchers.length, watchers[0].isClosed, await again.replaced()]).toEqual([2, true, []]);
});

test('a watcher that cannot be opened is not kept', () => {
  let isBad = true;
  const share = createSharedWatchers(() => {
    if (isBad) throw new Error('no');
    return { close: () => {} };
  });
  expect(() => share('src', {})).toThrow('no');
  isBad = false;
  share('src', {}).close();
});

test('a look checks 100 links at most, each link in turn, and all of them after an event', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'nclust-links-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  for (const name of ['old', 'new']) mkdirSync(join(folder, name));
  const places = createPlaces(true);
  const links = Array.from({ length: 250 }, (_, nth) => join(folder, `link${nth}`));
  for (const link of links) {
    symlinkSync('old', link);
    places.found(link, lstatSync(link));
    places.found(link, statSync(link));
  }
  const look = async () => {
    vi.mocked(stat).mockClear();
    const replaced = await places.replaced();
    return { replaced, checked: vi.mocked(stat).mock.calls.map(([path]) => path) };
  };
  const looks = [await look(), await look(), await look(), await look()];
  expect(looks.map(({ checked }) => checked.length)).toEqual([100, 100, 50, 100]);
  expect(looks.slice(0, 3).flatMap(({ checked }) => checked)).toEqual(links);
  unlinkSync(links[0]);
  symlinkSync('new', links[0]);
  expect((await look()).replaced).toEqual([]);
  places.stir();
  expect((await look()).replaced).toEqual([links[0]]);
});
