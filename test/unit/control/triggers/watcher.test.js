import { beforeEach, expect, test } from 'vitest';
import { createSharedWatchers } from '../../../../daemon/control/triggers/watcher.js';
import { settle } from '../../../helpers/fake-keeper.js';

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
