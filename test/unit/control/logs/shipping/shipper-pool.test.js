import { beforeEach, expect, test } from 'vitest';
import { createShipperPool } from '../../../../../daemon/control/logs/shipping/shipper-pool.js';
import { createFakeClock } from '../../../../helpers/fake-clock.js';

const [A, B] = ['syslog+unix:///tmp/nobody-a', 'exec:b'];

let clock;
let shippers;
/** Newest last. */
let links;
let isQuick;
/** @type {Record<string, string[]>} */
let shipTargets;

const place = (instanceId, ship, name = 'api') => ({ instanceId, id: 1, name, ship });
const take = (from, text) => shippers.send(from, 'out', Buffer.from(text));
const countedTargets = (name = 'api') => shippers.countersOf(name).map(({ target }) => target);
const counts = (name = 'api') => shippers.countersOf(name).map(({ sent, dropped }) => ({ sent, dropped }));

beforeEach(() => {
  clock = createFakeClock();
  links = [];
  isQuick = true;
  shipTargets = {};
  shippers = createShipperPool({
    clock,
    managerLog: () => {},
    targetsOf: (name) => shipTargets[name] ?? [],
    connectorTo:
      (target) =>
      ({ events }) => {
        let untaken = 0;
        let end = () => {};
        const link = {
          target,
          lines: [],
          graces: [],
          taken() {
            const count = untaken;
            untaken = 0;
            if (count > 0) events.onTaken(count);
          },
          end: () => end(),
        };
        links.push(link);
        queueMicrotask(events.onOpen);
        return {
          write(lines) {
            link.lines.push(...lines.map(({ line }) => line));
            if (isQuick) events.onTaken(lines.length);
            else untaken = lines.length;
          },
          close(graceMs) {
            link.graces.push(graceMs);
            return new Promise((resolve) => {
              end = resolve;
            });
          },
        };
      },
  });
});

/** Waits one turn, because links open one turn after they are created. */
const opened = () => new Promise((resolve) => void setImmediate(resolve));

test('an unused target is closed, and the others stay as they are', async () => {
  take(place('i', [A, B]), 'x\n');
  take(place('j', [A]), 'x\nbe');
  await opened();
  expect(countedTargets()).toEqual([A, B]);
  shippers.retarget(place('i', [A]));
  expect(countedTargets()).toEqual([A]);
  shippers.retarget(place('j', [B]));
  expect(countedTargets()).toEqual([A]);
  take(place('j', [B]), 'gun\n');
  await opened();
  expect(countedTargets()).toEqual([A, B]);
  shippers.release('i');
  expect(countedTargets()).toEqual([B]);
  shippers.release('j');
  expect(countedTargets()).toEqual([]);
  expect(links.map(({ target, lines }) => [target, lines])).toEqual([
    [A, ['x', 'x']],
    [B, ['x']],
    [B, ['begun']],
  ]);
});

test('the pool sends waiting lines for half a minute after the last instance, then counts them as lost', async () => {
  shipTargets.api = [B];
  isQuick = false;
  take(place('i', [B]), 'one\n');
  await opened();
  take(place('i', [B]), 'two\nthree\nno end');
  shippers.release('i');
  clock.advance(29_000);
  expect([links[0].lines, links[0].graces, counts()]).toEqual([['one'], [], [{ sent: 0, dropped: 0 }]]);
  links[0].taken();
  expect([links[0].lines, counts()]).toEqual([['one', 'two', 'three', 'no end'], [{ sent: 1, dropped: 0 }]]);
  clock.advance(2_000);
  await opened();
  expect([links[0].graces, counts()]).toEqual([[1_000], [{ sent: 1, dropped: 3 }]]);
  expect(shippers.notices()).toEqual([
    `3 lines of "api" could not be sent to "${B}" (it was too slow) and are missing there.`,
  ]);
});

test('a target has the rest of that time to exit after all lines are sent', async () => {
  isQuick = false;
  take(place('i', [B]), 'one\n');
  await opened();
  shippers.release('i');
  clock.advance(10_000);
  links[0].taken();
  await opened();
  expect(links[0].graces).toEqual([20_000]);
});

test('an instance that follows soon continues on the same connection', async () => {
  isQuick = false;
  take(place('i', [B]), 'one\n');
  await opened();
  shippers.release('i');
  clock.advance(20_000);
  take(place('j', [B]), 'two\n');
  clock.advance(60_000);
  links[0].taken();
  expect([links.length, links[0].lines, counts()]).toEqual([1, ['one', 'two'], [{ sent: 1, dropped: 0 }]]);
  shippers.release('j');
  links[0].taken();
  await opened();
  expect(links[0].graces).toEqual([30_000]);
});

test('sent and lost lines of an app are counted over restarts, and while it is stopped', async () => {
  shipTargets.api = [B];
  for (const instanceId of ['i', 'j']) {
    take(place(instanceId, [B]), 'x\ny\n');
    await opened();
    shippers.release(instanceId);
    await opened();
  }
  expect([links.length, counts()]).toEqual([2, [{ sent: 4, dropped: 0 }]]);
  delete shipTargets.api;
  expect(counts()).toEqual([]);
});

test('a loss of a deleted app is reported for an hour', async () => {
  isQuick = false;
  take(place('i', [B]), 'x\n');
  await opened();
  shippers.release('i');
  clock.advance(31_000);
  await opened();
  expect(shippers.notices()).toHaveLength(1);
  clock.advance(3_600_001);
  expect([shippers.notices(), shippers.countersOf('api')]).toEqual([[], []]);
});

test('control waits for no target longer than a second when it exits', async () => {
  isQuick = false;
  take(place('i', [A]), 'x\n');
  take(place('j', [B]), 'x\n');
  await opened();
  shippers.release('i');
  links[0].taken();
  shippers.release('j');
  await opened();
  expect(links.map(({ graces }) => graces)).toEqual([[30_000], []]);
  const closed = shippers.close();
  clock.advance(1_000);
  await opened();
  expect(links.map(({ graces }) => graces)).toEqual([[30_000, 1_000], [1_000]]);
  for (const link of links) link.end();
  await closed;
});
