import { expect, test } from 'vitest';
import { createShipper } from '../../../../../daemon/control/logs/shipping/shipper.js';
import { createFakeClock } from '../../../../helpers/fake-clock.js';

function rig() {
  const clock = createFakeClock();
  const links = [];
  const managerLog = [];
  const connect = ({ events }) => {
    const link = { ...events, written: [], isClosed: false };
    links.push(link);
    return {
      write: (lines) => void link.written.push(lines.map(({ line }) => line)),
      close: async () => {
        link.isClosed = true;
      },
    };
  };
  const shipper = createShipper('exec:cat', {
    name: 'api',
    clock,
    managerLog: (event) => void managerLog.push(event),
    connect,
  });
  const take = (...lines) => shipper.send('out', lines, 0);
  return { clock, links, managerLog, shipper, take };
}

const counts = (shipper) => {
  const { sent, dropped } = shipper.counters();
  return { sent, dropped };
};

test('lines wait for the link, then for each other, and are counted when they are taken', () => {
  const {
    links: [link],
    shipper,
    take,
  } = rig();
  take('a', 'b');
  expect(link.written).toEqual([]);
  link.onOpen();
  take('c');
  take('d');
  expect(link.written).toEqual([['a', 'b']]);
  link.onTaken(1);
  expect(link.written).toEqual([['a', 'b']]);
  link.onTaken(1);
  expect(link.written).toEqual([
    ['a', 'b'],
    ['c', 'd'],
  ]);
  expect(shipper.counters()).toEqual({ target: 'exec:cat', sent: 2, dropped: 0, problem: null });
});

test('untaken lines go to the next link, before later ones', () => {
  const { clock, links, shipper, take } = rig();
  links[0].onOpen();
  take('a', 'b', 'c');
  links[0].onTaken(1);
  take('d');
  links[0].onDown('gone');
  expect(shipper.counters()).toMatchObject({ problem: 'gone' });
  clock.advance(500);
  expect(links).toHaveLength(2);
  links[1].onOpen();
  expect(links[1].written).toEqual([['b', 'c', 'd']]);
  links[1].onTaken(3);
  expect(shipper.counters()).toMatchObject({ sent: 4, dropped: 0, problem: null });
});

test('an unreachable target is retried ever more seldom, and reported once', () => {
  const { clock, links, managerLog } = rig();
  const pauses = [];
  for (let at = 0; at < 8; at++) {
    links[at].onDown('ECONNREFUSED');
    pauses.push(clock.untilNextMs());
    clock.advance(clock.untilNextMs());
  }
  expect(pauses).toEqual([500, 1_000, 2_000, 4_000, 8_000, 15_000, 15_000, 15_000]);
  expect(managerLog).toEqual(['shipping-failed']);
});

test('a link that lasted is opened again at once, but not one that ends at once', () => {
  const { clock, links, managerLog } = rig();
  const pauseAfter = (ms) => {
    const link = links[links.length - 1];
    link.onOpen();
    clock.advance(ms);
    link.onDown('ended');
    const pauseMs = clock.untilNextMs();
    clock.advance(pauseMs);
    return pauseMs;
  };
  expect([pauseAfter(10), pauseAfter(10), pauseAfter(10), pauseAfter(10_000), pauseAfter(10)]).toEqual([
    500, 1_000, 2_000, 500, 1_000,
  ]);
  expect(managerLog).toEqual(['shipping-failed', 'shipping-failed']);
});

test('the shipper keeps the newest MiB of waiting lines, counts the rest, and reports it for an hour', () => {
  const {
    clock,
    links: [link],
    shipper,
  } = rig();
  const line = 'x'.repeat(960);
  for (let at = 0; at < 3_000; at++) shipper.send('out', [`${line}${at}`], 0);
  const { dropped } = shipper.counters();
  expect(dropped).toBeGreaterThan(2_000);
  link.onOpen();
  for (let at = 0; at < link.written.length; at++) link.onTaken(link.written[at].length);
  expect(counts(shipper)).toEqual({ sent: 3_000 - dropped, dropped });
  expect(link.written.flat()[0]).toBe(`${line}${dropped}`);
  expect(link.written.flat().at(-1)).toBe(`${line}2999`);
  expect(shipper.notice()).toBe(
    `${dropped} lines of "api" could not be sent to "exec:cat" (it was too slow) and are missing there.`,
  );
  clock.advance(3_600_001);
  expect(shipper.notice()).toBeNull();
});

test('a link that cannot be opened is retried', () => {
  const clock = createFakeClock();
  let attempts = 0;
  const shipper = createShipper('exec:cat', {
    name: 'api',
    clock,
    managerLog: () => {},
    connect: () => {
      attempts += 1;
      throw Object.assign(new Error('spawn'), { code: 'EAGAIN' });
    },
  });
  expect(shipper.counters().problem).toBe('EAGAIN');
  clock.advance(500);
  expect(attempts).toBe(2);
});

test('a closed shipper waits until all lines are taken, closes the link and takes no more', async () => {
  const {
    clock,
    links: [link],
    shipper,
    take,
  } = rig();
  take('a');
  const closed = shipper.close();
  expect(shipper.close()).toBe(closed);
  take('late');
  link.onOpen();
  expect([link.written, link.isClosed]).toEqual([[['a']], false]);
  link.onTaken(1);
  await closed;
  expect(link.isClosed).toBe(true);
  expect(counts(shipper)).toEqual({ sent: 1, dropped: 1 });
  expect(clock.pending()).toBe(0);
});

test.each([
  [
    'a slow target is not waited for longer than a second',
    ({ links: [link], clock }) => {
      link.onOpen();
      clock.advance(1_000);
    },
  ],
  [
    'a target that leaves is not waited for at all',
    ({ links: [link] }) => {
      link.onDown('gone');
    },
  ],
])('after close, %s', async (_, happen) => {
  const all = rig();
  all.take('a', 'b');
  const closed = all.shipper.close();
  happen(all);
  await closed;
  expect(counts(all.shipper)).toEqual({ sent: 0, dropped: 2 });
  expect(all.clock.pending()).toBe(0);
  expect(all.links).toHaveLength(1);
});

test('a shipper closed during a pause ends at once', async () => {
  const { clock, links, shipper, take } = rig();
  links[0].onDown('ECONNREFUSED');
  take('a');
  await shipper.close();
  expect(clock.pending()).toBe(0);
  expect(counts(shipper)).toEqual({ sent: 0, dropped: 1 });
});
