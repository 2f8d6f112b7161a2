import { beforeEach, expect, test } from 'vitest';
import { createFrames } from '../../../../daemon/control/troubles/frames.js';
import { createFakeClock } from '../../../helpers/fake-clock.js';
import { settle } from '../../../helpers/fake-keeper.js';

const S = 1_000;

let clock;
let taken;
let failed;
let frames;
let state;
let isOn;
let take;

beforeEach(() => {
  clock = createFakeClock();
  taken = [];
  failed = [];
  state = { state: 'R', usesCpu: true };
  isOn = true;
  take = async () => ({ where: 'render (report.js:31)', stack: ['render (/srv/report.js:31:5)'] });
  let cpuMs = 0;
  frames = createFrames({
    clock,
    areTaken: () => isOn,
    take: (id) => {
      taken.push(id);
      return take(id);
    },
    look: (pid) => {
      // The process 2 always waits.
      if (pid === 2) return { atMono: clock.nowMs(), state: 'S', cpuMs: 0, delayMs: 0 };
      if (state.usesCpu) cpuMs += 240;
      return { atMono: clock.nowMs(), state: state.state, cpuMs, delayMs: 0 };
    },
    onTaken() {},
    onFailed: ({ id }, message) => failed.push(`${id} ${message}`),
  });
});

const worker = (ageMs, more = {}) => ({
  id: 0,
  pid: 1,
  instanceId: 'one',
  status: 'online',
  isNode: true,
  name: 'api',
  reportAgeMs: ageMs,
  silentMs: ageMs,
  blocks: [],
  ...more,
});

/** Looks at the workers once, and lets the clock run for a second. */
async function consider(...workers) {
  frames.consider(workers);
  clock.advance(S);
  await settle();
}

/** A block, with one look every second. */
async function block(seconds, more) {
  for (let at = 1; at <= seconds; at += 1) await consider(worker(at * S, more));
}

test('the frame is taken once when the loop has been blocked for 5 s', async () => {
  await block(4);
  expect(taken).toEqual([]);
  await block(30);
  expect(taken).toEqual([0]);
  expect(frames.of('one', 30 * S)).toEqual({
    instanceId: 'one',
    atMs: expect.any(Number),
    where: 'render (report.js:31)',
    stack: ['render (/srv/report.js:31:5)'],
  });
});

test('a frame that came too late counts as none, and the next block is looked into', async () => {
  take = async () => 'turned';
  await block(5);
  expect([taken, frames.of('one', 6 * S)]).toEqual([[0], null]);
  take = async () => ({ where: null, stack: ['next'] });
  await block(5);
  expect([taken, frames.of('one', 6 * S)]).toMatchObject([[0, 0], { stack: ['next'] }]);
});

test('the times of frames move with a jump of the clock', async () => {
  await block(6);
  clock.setBack(-3_600_000);
  frames.moveTimes(3_600_000);
  expect(frames.of('one', 0)).toMatchObject({ atMs: expect.any(Number) });
});

test('if the loop was blocked before, 2 s are enough', async () => {
  const blocks = [{ atMs: 0, ms: 3_000 }];
  await block(1, { blocks });
  expect(taken).toEqual([]);
  await block(2, { blocks });
  expect(taken).toEqual([0]);
});

test('the next block within 10 minutes is left alone, and one after that is looked into', async () => {
  await block(6);
  clock.advance(60 * S);
  await block(6);
  expect(taken).toEqual([0]);
  clock.advance(600 * S);
  await block(6);
  expect(taken).toEqual([0, 0]);
});

test('a block of more than 10 minutes is looked into once', async () => {
  await block(700);
  expect(taken).toEqual([0]);
  expect(frames.of('one', 700 * S)).not.toBe(null);
});

test.each([
  ['waits in a system call', { state: 'S', usesCpu: false }],
  ['waits for a disk', { state: 'D', usesCpu: false }],
  ['is stopped', { state: 'T', usesCpu: false }],
  ['is traced', { state: 't', usesCpu: true }],
])('a worker that %s is left alone', async (_what, found) => {
  state = found;
  await block(20);
  expect(taken).toEqual([]);
});

test.each([
  ['is not a Node.js program', { isNode: false }],
  ['starts', { status: 'launching' }],
  ['has no process', { instanceId: null }],
  ['has sent no report', { silentMs: 0 }],
])('a worker that %s is left alone', async (_what, more) => {
  await block(20, more);
  expect(taken).toEqual([]);
});

test('the setting switches it off', async () => {
  isOn = false;
  await block(20);
  expect(taken).toEqual([]);
});

test('a failure is reported once, and not tried again', async () => {
  take = async () => {
    throw new Error('no inspector');
  };
  await block(20);
  expect([taken, failed]).toEqual([[0], ['0 no inspector']]);
  expect(frames.of('one', 20 * S)).toBe(null);
});

test('one worker of each app is looked into: the one that is blocked longest', async () => {
  let finish = () => {};
  take = async (id) => {
    if (id === 2) await new Promise((resolve) => (finish = resolve));
    return null;
  };
  const all = [
    worker(6 * S),
    worker(9 * S, { id: 1, instanceId: 'two' }),
    worker(7 * S, { id: 2, instanceId: 'three', name: 'other' }),
  ];
  await consider(...all);
  await consider(...all);
  expect(taken).toEqual([1, 2]);
  finish();
  await settle();
  await consider(...all);
  expect(taken).toEqual([1, 2, 0]);
});

test('a worker that waits does not hold up the others', async () => {
  const waits = worker(20 * S, { id: 1, pid: 2, instanceId: 'two', name: 'other' });
  await consider(waits, worker(6 * S));
  expect(taken).toEqual([0]);
});

test('an idle worker reports less often, so its silence counts when its loop is blocked', async () => {
  await consider(worker(2_500, { silentMs: 6_500 }));
  expect(taken).toEqual([]);
  await consider(worker(3_500, { silentMs: 7_500 }));
  expect(taken).toEqual([0]);
});

test('a frame that an earlier control has taken counts', async () => {
  frames.restore([{ instanceId: 'one', atMs: clock.nowMs(), where: 'render (report.js:31)', stack: [] }]);
  await block(20);
  expect(taken).toEqual([]);
  expect(frames.of('one', 20 * S)).toMatchObject({ where: 'render (report.js:31)' });
  clock.advance(600 * S);
  expect(frames.of('one', 0)).toBe(null);
});

test('the frame of an instance that has gone is forgotten', async () => {
  await block(6);
  frames.forget(() => false);
  expect(frames.of('one', 6 * S)).toBe(null);
});
