import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Balancer } from '../../../daemon/keeper/balancer.js';
import { Child } from '../../../daemon/keeper/child.js';

// test/integration/balance.test.js tests the same with real processes.

const CLAIM = { address: null, port: 3000, family: 4, flags: 0, index: 0 };
const BLOCKED_MS = 50;
const CHANNEL_LOOK_MS = 5;

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** @param {Record<string, number>} open  Connections by worker. */
function createRig(open, params = {}) {
  const children = new Map();
  const users = new Set();
  const listeners = { get: () => (users.size > 0 ? { users } : undefined) };
  const balancer = new Balancer({ listeners, children: () => children.values() });
  let lastSeq = 0;
  const rig = {
    balancer,
    users,
    said: {},
    /** @param {number} has */
    enter(id, has) {
      const process = {
        connected: true,
        send({ cmd: _, ...message }, handle, onSent) {
          rig.said[id].push({ ...message, ...(handle ? { handle } : {}) });
          if (handle) rig.sent = onSent;
        },
      };
      const child = new Child({
        instanceId: id,
        app: 'api',
        scope: 'api',
        label: null,
        mode: 'cluster',
        pid: 1,
        startedAtMs: 0,
        outPipe: null,
        errPipe: null,
        pipes: null,
        scheduling: 'least-connections',
        slot: children.size,
        ...params,
        process,
      });
      Object.assign(child, { open: has, addresses: [{}] });
      rig.said[id] = [];
      children.set(id, child);
      users.add(id);
      balancer.onRotationChanged('api');
      return child;
    },
    /** A test calls this to report that the last connection was sent. */
    sent: () => {},
    child: (id) => children.get(id),
    overflow(id, has, handle = newHandle()) {
      lastSeq += 1;
      balancer.onOverflow(rig.child(id), { seq: lastSeq, claim: CLAIM, open: has }, handle);
      return handle;
    },
    acts: (id) => rig.said[id].map(({ act }) => act).filter((act) => act !== 'share'),
    lastOf: (id, act) => rig.said[id].findLast((one) => one.act === act),
    answer: (id, has) => rig.child(id).answered({ seq: rig.lastOf(id, 'ping').seq, open: has }),
    took: (id) => balancer.onAccepted(rig.child(id), rig.lastOf(id, 'connection').seq),
    /** @param {{ isRead?: boolean }} [o]  Whether the keeper has read every message of `id`. */
    end(id, { isRead = true } = {}) {
      const child = rig.child(id);
      child.ended({ code: null, signal: 'SIGKILL', atMs: 0 });
      users.delete(id);
      if (isRead) rig.close(id);
      balancer.onExit(child);
    },
    close: (id) => Object.defineProperty(rig.child(id), 'isReachable', { value: false }),
  };
  for (const [id, has] of Object.entries(open)) rig.enter(id, has);
  return rig;
}

/** @param {string} [address] */
function newHandle(address = '10.0.0.1') {
  const handle = {
    fd: 0,
    isClosed: false,
    close: () => {
      handle.isClosed = true;
    },
    getpeername: (out) => Object.assign(out, { address }) && 0,
  };
  return handle;
}

test('the keeper asks no worker while none has too many connections', () => {
  const { said } = createRig({ a: 3, b: 1 });
  expect(said).toEqual({
    a: [
      { act: 'share', share: null },
      { act: 'share', share: 0 },
    ],
    b: [{ act: 'share', share: 0 }],
  });
});

test('a connection goes to the first worker that answers with less than the mean, without waiting for others', () => {
  const rig = createRig({ a: 0, b: 0, c: 0 });
  const handle = rig.overflow('a', 9);
  expect([rig.acts('a'), rig.acts('b'), rig.acts('c')]).toEqual([[], ['ping'], ['ping']]);
  rig.answer('c', 1);
  expect(rig.lastOf('c', 'connection')).toMatchObject({ claim: CLAIM, handle });
  expect(rig.acts('b')).toEqual(['ping']);
});

test('a worker that answers for a connection of another worker changes nothing', () => {
  const rig = createRig({ a: 0, b: 0, c: 5 });
  const handle = rig.overflow('a', 9);
  rig.answer('c', 5);
  rig.answer('b', 0);
  const { seq } = rig.lastOf('b', 'connection');
  const before = [rig.acts('a'), rig.acts('b'), rig.acts('c')];
  rig.balancer.onAccepted(rig.child('c'), seq);
  rig.balancer.onDeclined(rig.child('c'), seq);
  expect([[rig.acts('a'), rig.acts('b'), rig.acts('c')], handle.isClosed, rig.child('b').load]).toEqual([
    before,
    false,
    1,
  ]);
  rig.took('b');
  expect([handle.isClosed, rig.child('b').load, rig.child('c').load]).toEqual([true, 1, 5]);
});

test('a worker that reports a negative number of connections has none', () => {
  const rig = createRig({ a: 0, b: 0 });
  rig.overflow('a', -7);
  rig.answer('b', -3);
  expect([rig.child('a').open, rig.child('b').open]).toEqual([0, 0]);
});

test('the sender learns of a placement once it is on its way; the keeper holds its copy until it is taken', () => {
  const rig = createRig({ a: 0, b: 0 });
  const handle = rig.overflow('a', 9);
  rig.answer('b', 1);
  expect(rig.acts('a')).toEqual([]);
  rig.sent();
  rig.sent();
  expect(rig.acts('a')).toEqual(['placed']);
  expect(handle.isClosed).toBe(false);
  expect(rig.child('b')).toMatchObject({ open: 1, coming: 1 });
  rig.took('b');
  expect(handle.isClosed).toBe(true);
  expect(rig.child('b')).toMatchObject({ open: 2, coming: 0 });
});

test('a worker above the mean gets no connection while another worker may still answer', () => {
  const rig = createRig({ a: 0, b: 0, c: 0 });
  rig.overflow('a', 9);
  rig.answer('b', 8);
  expect(rig.acts('b')).toEqual(['ping']);
  rig.answer('c', 2);
  expect([rig.acts('b'), rig.acts('c')]).toEqual([['ping'], ['ping', 'connection']]);
});

test('a round also places connections that arrive during it, and counts those on their way', () => {
  const rig = createRig({ a: 0, b: 0, c: 0 });
  for (let nth = 0; nth < 4; nth += 1) rig.overflow('a', 9);
  rig.answer('b', 3); // The mean is 16 / 3.
  expect(rig.acts('b')).toEqual(['ping', 'connection', 'connection', 'connection']);
  rig.answer('c', 2);
  expect(rig.acts('c')).toEqual(['ping', 'connection']);
  expect(rig.acts('a')).toEqual([]);
});

test('after a round the workers get their share, but not if their scheduling has no shares', () => {
  const rig = createRig({ a: 0, b: 0 });
  rig.overflow('a', 8);
  rig.answer('b', 1);
  expect([rig.lastOf('a', 'share'), rig.lastOf('b', 'share')]).toEqual([
    { act: 'share', share: 5 },
    { act: 'share', share: 5 },
  ]);
  const os = createRig({ a: 0, b: 0 }, { scheduling: 'os' });
  expect(os.said).toEqual({ a: [], b: [] });
});

test('the keeper waits for a blocked worker once, for 50 ms, and gives it nothing until it answers', () => {
  const rig = createRig({ a: 0, b: 0, c: 0 });
  rig.overflow('a', 5);
  rig.answer('b', 5);
  vi.advanceTimersByTime(BLOCKED_MS - 1);
  expect(rig.acts('b')).toEqual(['ping']);
  vi.advanceTimersByTime(1);
  expect([rig.acts('b').concat(rig.acts('a')), rig.acts('c')]).toEqual([
    expect.arrayContaining(['connection']),
    ['ping'],
  ]);

  rig.overflow('a', 9);
  rig.answer('b', 6);
  expect([rig.acts('b').at(-1), rig.acts('c')]).toEqual(['connection', ['ping']]);

  rig.answer('c', 0);
  rig.overflow('a', 9);
  rig.answer('c', 0);
  expect(rig.acts('c')).toEqual(['ping', 'ping', 'connection']);
});

test('a connection returns to its sender if all other workers are blocked', () => {
  const rig = createRig({ a: 0, b: 0, c: 0 });
  const handle = rig.overflow('a', 9);
  vi.advanceTimersByTime(BLOCKED_MS);
  expect([rig.acts('b'), rig.acts('c')]).toEqual([['ping'], ['ping']]);
  expect(rig.lastOf('a', 'connection')).toMatchObject({ handle });
});

test('a declined connection goes to another worker', () => {
  const rig = createRig({ a: 0, b: 0, c: 0 });
  const handle = rig.overflow('a', 9);
  rig.answer('b', 0);
  rig.child('b').isParked = true;
  rig.balancer.onRotationChanged('api');
  rig.balancer.onDeclined(rig.child('b'), rig.lastOf('b', 'connection').seq);
  rig.answer('c', 0);
  expect(rig.lastOf('c', 'connection')).toMatchObject({ handle });
  expect([rig.child('b').coming, rig.child('c').coming, handle.isClosed]).toEqual([0, 1, false]);
});

test('a connection on its way to a worker that dies goes to another worker', () => {
  const rig = createRig({ a: 0, b: 0, c: 0 });
  const handle = rig.overflow('a', 9);
  rig.answer('b', 0);
  rig.end('b');
  rig.answer('c', 0);
  expect(rig.lastOf('c', 'connection')).toMatchObject({ handle });
  rig.took('c');
  expect(handle.isClosed).toBe(true);
});

test('the keeper reads the last messages of a dead worker first, so it never places a connection twice', () => {
  const rig = createRig({ a: 0, b: 0, c: 0 });
  const handle = rig.overflow('a', 9);
  rig.answer('b', 0);
  rig.end('b', { isRead: false });
  vi.advanceTimersByTime(CHANNEL_LOOK_MS);
  expect(rig.acts('c')).toEqual(['ping']);
  rig.took('b');
  rig.close('b');
  vi.advanceTimersByTime(CHANNEL_LOOK_MS);
  rig.answer('c', 0);
  expect([rig.acts('c'), handle.isClosed]).toEqual([['ping'], true]);
});

test('the keeper does not wait for a worker that dies instead of answering', () => {
  const rig = createRig({ a: 0, b: 0, c: 0 });
  const handle = rig.overflow('a', 5);
  rig.answer('b', 5);
  rig.end('c');
  expect([...rig.said.a, ...rig.said.b].filter(({ act }) => act === 'connection')).toMatchObject([{ handle }]);
});

test('connections passed on by a worker that dies are not lost', () => {
  const rig = createRig({ a: 0, b: 0 });
  rig.end('a', { isRead: false });
  const handle = rig.overflow('a', 9);
  rig.answer('b', 3);
  expect(rig.lastOf('b', 'connection')).toMatchObject({ handle });
});

test('a connection that no worker can take waits for the next worker', () => {
  const rig = createRig({ a: 0 });
  rig.child('a').isParked = true;
  rig.balancer.onRotationChanged('api');
  const handle = rig.overflow('a', 3);
  vi.advanceTimersByTime(10 * BLOCKED_MS);
  expect([rig.acts('a'), handle.isClosed]).toEqual([[], false]);
  rig.enter('b', 0);
  rig.answer('b', 0);
  expect(rig.lastOf('b', 'connection')).toMatchObject({ handle });
});

test.each([
  ['gated', { isGated: true }],
  ['parked', { isParked: true }],
  ['leaving', { retirement: {} }],
  ['without a socket', { addresses: [] }],
])('a worker that is %s is neither asked nor given a connection', (_what, fields) => {
  const rig = createRig({ a: 0, b: 0, c: 0 });
  Object.assign(rig.child('b'), fields);
  rig.balancer.onRotationChanged('api');
  const handle = rig.overflow('a', 9);
  rig.answer('c', 8);
  expect([rig.acts('b'), rig.lastOf('c', 'connection').handle]).toEqual([[], handle]);
});

test('at most 8,192 connections of an app wait: the keeper closes further ones until one is taken', () => {
  const rig = createRig({ a: 0 });
  for (let nth = 0; nth < 8_192; nth += 1) rig.overflow('a', 9);
  const tooMany = rig.overflow('a', 9);
  expect([tooMany.isClosed, rig.lastOf('a', 'placed')]).toEqual([true, { act: 'placed', seq: 8_193 }]);
  rig.took('a');
  expect([rig.overflow('a', 9).isClosed, rig.overflow('a', 9).isClosed]).toEqual([false, true]);
});

test('a worker that listens elsewhere answers and gets no connection', () => {
  const rig = createRig({ a: 0, b: 0, c: 0 });
  rig.users.delete('b');
  const handle = rig.overflow('a', 9);
  rig.answer('b', 0);
  rig.answer('c', 8);
  expect([rig.acts('b'), rig.lastOf('c', 'connection').handle]).toEqual([['ping'], handle]);
});

test('connections to a released socket are closed, and the sender forgets them', () => {
  const rig = createRig({ a: 0, b: 0 });
  const waiting = rig.overflow('a', 9);
  rig.users.clear();
  rig.balancer.onReleased('api', ({ port }) => port === CLAIM.port);
  expect([waiting.isClosed, rig.acts('a')]).toEqual([true, ['placed']]);
  const late = rig.overflow('a', 9);
  expect([late.isClosed, rig.acts('a')]).toEqual([true, ['placed', 'placed']]);
});

test('a worker without others keeps every connection', () => {
  const rig = createRig({ a: 0, b: 0 });
  rig.end('b');
  expect(rig.said.a.at(-1)).toEqual({ act: 'share', share: null });
});

test('a keeper that is replaced makes every worker keep new connections, and assigns the waiting ones', async () => {
  const rig = createRig({ a: 0, b: 0 });
  rig.overflow('a', 9);
  rig.answer('b', 0);
  let isSettled = false;
  const settled = rig.balancer.close().then(() => {
    isSettled = true;
  });
  expect([rig.lastOf('a', 'share'), rig.lastOf('b', 'share')]).toEqual([
    { act: 'share', share: null },
    { act: 'share', share: null },
  ]);
  await vi.advanceTimersByTimeAsync(BLOCKED_MS);
  expect(isSettled).toBe(false);
  rig.took('b');
  await vi.advanceTimersByTimeAsync(CHANNEL_LOOK_MS);
  await settled;
});

/**
 * @returns {(address: string, from?: string) => string | undefined}  Returns the worker that gets a
 *   client after the worker `from` has accepted its connection.
 */
const stickyIn =
  (rig) =>
  (address, from = 'a') => {
    const handle = rig.overflow(from, 1, newHandle(address));
    return Object.keys(rig.said).find((id) => rig.lastOf(id, 'connection')?.handle === handle);
  };

test('sticky: the keeper asks no worker, a client returns to the same slot, and clients are spread', () => {
  const rig = createRig({ a: 0, b: 0, c: 0, d: 0 }, { scheduling: 'sticky' });
  const idOf = stickyIn(rig);
  const clients = Array.from({ length: 40 }, (_, nth) => `10.0.0.${nth}`);
  const ids = clients.map((client) => idOf(client));
  expect(clients.map((client) => idOf(`::ffff:${client}`))).toEqual(ids);
  expect(new Set(ids).size).toBe(4);
  expect(Object.keys(rig.said).flatMap(rig.acts)).not.toContain('ping');
});

test('sticky spreads IPv6 clients, and brings each to the same slot whichever worker accepts it', () => {
  const rig = createRig({ a: 0, b: 0, c: 0, d: 0 }, { scheduling: 'sticky' });
  const idOf = stickyIn(rig);
  const clients = Array.from({ length: 64 }, (_, nth) => `2001:db8::${(nth + 1).toString(16)}`);
  const ids = clients.map((client) => idOf(client));
  for (const from of ['b', 'c', 'd']) expect(clients.map((client) => idOf(client, from))).toEqual(ids);
  const counts = ['a', 'b', 'c', 'd'].map((id) => ids.filter((one) => one === id).length);
  expect(counts.reduce((sum, one) => sum + one)).toBe(clients.length);
  // Each worker gets at least half of a fair share.
  expect(Math.min(...counts), `${counts}`).toBeGreaterThanOrEqual(8);
});
