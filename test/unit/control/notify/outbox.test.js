import { expect, test } from 'vitest';
import { createOutbox } from '../../../../daemon/control/notify/outbox.js';
import { createFakeClock } from '../../../helpers/fake-clock.js';

const HOUR = 3_600_000;

/** A receiver, and a disk that keeps what was saved last. `killAt`: control dies at this step. */
function createRig({ outcomes = () => null, killAt = Infinity, isSavedAtKill = true, clock = createFakeClock() } = {}) {
  const rig = { clock, disk: null, delivered: [], attempts: 0, saves: 0, logged: [], step: 0, isFull: false };
  const die = () => new Promise(() => {});
  const isDead = () => rig.step > killAt;
  const count = () => {
    rig.step += 1;
    return rig.step;
  };
  rig.open = () => {
    rig.outbox = createOutbox('https://example.com/secret', {
      clock,
      throughMs: 0,
      saved: rig.disk && readDisk(rig.disk),
      managerLog: (event, fields) => rig.logged.push({ event, ...fields }),
      file: {
        async save(lines) {
          if (isDead()) return die();
          rig.saves += 1;
          const isLast = count() > killAt;
          if (rig.isFull) throw Object.assign(new Error('full'), { code: 'ENOSPC' });
          if (!isLast || isSavedAtKill) rig.disk = lines();
          return isLast ? die() : undefined;
        },
        remove: async () => void (rig.disk = null),
      },
      async send(_, message) {
        if (isDead()) return die();
        const isLast = count() > killAt;
        rig.attempts += 1;
        const failure = outcomes(rig.attempts, message);
        if (!failure) rig.delivered.push(message);
        return isLast ? die() : failure;
      },
    });
    rig.outbox.start();
    return rig.outbox;
  };
  rig.revive = () => {
    rig.outbox.close();
    killAt = Infinity;
    return rig.open();
  };
  return rig;
}

function readDisk([state, ...lines]) {
  const messages = lines.map((line) => ({ ...pick(JSON.parse(line)), line }));
  return { state: JSON.parse(state), messages };
}

const pick = ({ id, at, app }) => ({ id, at, app });

async function settle() {
  for (let at = 0; at < 200; at += 1) await null;
}

const message = (id, clock, app = 'api') => ({ v: 1, id, at: clock.nowMs(), app, text: 'x' });
const ids = (rig) => rig.delivered.map(({ id }) => id);

test('messages are sent in their order, and nothing waits afterwards', async () => {
  const rig = createRig();
  const outbox = rig.open();
  outbox.add([message('1', rig.clock), message('2', rig.clock)]);
  outbox.add([message('3', rig.clock)]);
  await settle();
  expect(ids(rig)).toEqual(['1', '2', '3']);
  expect(rig.disk).toHaveLength(1);
  expect(outbox.describe()).toEqual({
    waiting: 0,
    waitingSinceMs: null,
    dropped: 0,
    sentMs: rig.clock.nowMs(),
    problem: null,
  });
});

const STEPS = 6;

test.each(Array.from({ length: STEPS }, (_, at) => [true, false].map((isSaved) => [at, isSaved])).flat())(
  'a control that dies at step %i (saved: %s) tells neither twice nor never',
  async (killAt, isSavedAtKill) => {
    const rig = createRig({ killAt, isSavedAtKill });
    // Like notify.js, makes messages for a trouble that is not in the ledger.
    const tell = (outbox) => {
      if (outbox.notified.t) return;
      outbox.notified = { t: { trouble: { id: 't' }, level: 'bad', atMs: 1, repeated: 0 } };
      outbox.add([message(`began-${rig.step}`, rig.clock), message(`other-${rig.step}`, rig.clock)]);
    };
    tell(rig.open());
    await settle();
    tell(rig.revive());
    await settle();
    expect(new Set(ids(rig)).size).toBe(2);
    // Both were sent since the last write: then they come once more, with the same id.
    expect(rig.delivered.length - 2).toBeLessThanOrEqual(2);
    expect(rig.disk).toHaveLength(1);
  },
);

test('a receiver that is down for an hour gets everything once, with pauses that grow to 5 minutes', async () => {
  const at = [];
  const clock = createFakeClock();
  const startMs = clock.nowMs();
  const rig = createRig({
    clock,
    outcomes: () => {
      at.push(clock.nowMs() - startMs);
      return clock.nowMs() - startMs < HOUR ? { reason: 'it cannot be reached (ECONNREFUSED)' } : null;
    },
  });
  const outbox = rig.open();
  outbox.add([message('1', clock), message('2', clock)]);
  await settle();
  for (let minute = 0; minute < 70; minute += 1) {
    for (let second = 0; second < 60; second += 1) {
      clock.advance(1_000);
      await settle();
    }
    if (minute === 30)
      expect(outbox.describe()).toMatchObject({
        waiting: 2,
        waitingSinceMs: startMs,
        problem: expect.stringContaining('ECONNREFUSED'),
      });
  }
  expect(ids(rig)).toEqual(['1', '2']);
  expect(at.slice(0, 5)).toEqual([0, 1_000, 3_000, 7_000, 15_000]);
  expect(Math.max(...at.slice(1).map((one, index) => one - at[index]))).toBe(300_000);
  expect(rig.logged).toEqual([
    { event: 'notify-failed', receiver: 'https://example.com/…', reason: expect.any(String) },
  ]);
}, 20_000);

test('a pause that the receiver asks for is kept', async () => {
  const rig = createRig({ outcomes: (attempt) => (attempt === 1 ? { reason: 'busy', retryAfterMs: 60_000 } : null) });
  rig.open().add([message('1', rig.clock)]);
  await settle();
  rig.clock.advance(59_000);
  await settle();
  expect(rig.attempts).toBe(1);
  rig.clock.advance(1_000);
  await settle();
  expect(ids(rig)).toEqual(['1']);
});

test('above 1,000 messages the oldest are dropped, and the next message has their number', async () => {
  let isDown = true;
  const rig = createRig({ outcomes: () => (isDown ? { reason: 'down' } : null) });
  const outbox = rig.open();
  for (let at = 0; at < 1_200; at += 1) outbox.add([message(String(at), rig.clock)]);
  await settle();
  expect(outbox.describe()).toMatchObject({ waiting: 1_000, dropped: 200 });
  isDown = false;
  rig.clock.advance(1_000);
  for (let at = 0; at < 50; at += 1) await settle();
  expect(rig.delivered).toHaveLength(1_000);
  expect(rig.delivered[0]).toMatchObject({ dropped: 200 });
  expect(rig.delivered[1]).not.toHaveProperty('dropped');
  expect(outbox.describe()).toMatchObject({ waiting: 0, dropped: 0 });
});

test('a long queue is written at most once a second while it is sent', async () => {
  const clock = createFakeClock();
  const rig = createRig({ clock, outcomes: () => void clock.advance(100) });
  const outbox = rig.open();
  outbox.add(Array.from({ length: 100 }, (_, at) => message(String(at), clock)));
  for (let at = 0; at < 20; at += 1) await settle();
  expect(rig.delivered).toHaveLength(100);
  expect(rig.disk).toHaveLength(1);
  // Ten in its 10 s, and those of its beginning and its end.
  expect(rig.saves).toBeGreaterThanOrEqual(10);
  expect(rig.saves).toBeLessThanOrEqual(13);
});

test('a message is given up after 24 hours', async () => {
  const rig = createRig({ outcomes: (_, { id }) => (id === 'old' ? { reason: 'down' } : null) });
  const outbox = rig.open();
  outbox.add([message('old', rig.clock)]);
  for (let at = 0; at < 300; at += 1) {
    rig.clock.advance(300_000);
    await settle();
  }
  expect(outbox.describe()).toMatchObject({ waiting: 0, dropped: 1 });
  outbox.add([message('new', rig.clock)]);
  await settle();
  expect(rig.delivered).toMatchObject([{ id: 'new', dropped: 1 }]);
});

test('a message that the receiver refuses makes way for the next one', async () => {
  const rig = createRig({ outcomes: (_, { id }) => (id === 'odd' ? { reason: 'status 400', isRefused: true } : null) });
  rig.open().add([message('odd', rig.clock), message('good', rig.clock)]);
  for (let at = 0; at < 60; at += 1) {
    await settle();
    rig.clock.advance(1_000);
  }
  expect(rig.delivered).toMatchObject([{ id: 'good', dropped: 1 }]);
});

test('a full disk does not keep a message back, and is logged once', async () => {
  const rig = createRig();
  rig.isFull = true;
  const outbox = rig.open();
  outbox.add([message('1', rig.clock)]);
  outbox.add([message('2', rig.clock)]);
  await settle();
  expect(ids(rig)).toEqual(['1', '2']);
  expect(rig.logged).toMatchObject([{ event: 'notify-unsaved', reason: 'ENOSPC' }]);
});

test('an error of the sender is a failure, and the message is sent later', async () => {
  const rig = createRig({
    outcomes(attempt) {
      if (attempt === 1) throw new Error('Cannot find module "send.js"');
      return null;
    },
  });
  const outbox = rig.open();
  outbox.add([message('1', rig.clock)]);
  await settle();
  expect(outbox.describe()).toMatchObject({ waiting: 1, problem: 'it cannot be sent (Cannot find module "send.js")' });
  rig.clock.advance(1_000);
  await settle();
  expect(ids(rig)).toEqual(['1']);
});
