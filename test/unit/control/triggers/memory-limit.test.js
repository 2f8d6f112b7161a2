import { beforeEach, describe, expect, test } from 'vitest';
import { createMemoryWatch, pauseMs } from '../../../../daemon/control/triggers/memory-limit.js';
import { createFakeClock } from '../../../helpers/fake-clock.js';
import { settle } from '../../../helpers/fake-keeper.js';

const MB = 1024 ** 2;
let clock;
let calls;
let limited;
let trees;
let reads;
let shared;
let memory;

beforeEach(() => {
  clock = createFakeClock();
  calls = [];
  reads = 0;
  shared = null;
  limited = [instance()];
  trees = new Map([[100, { bytes: 200 * MB, pids: [100] }]]);
  memory = createMemoryWatch({
    clock,
    readTrees: async () => {
      reads += 1;
      return trees;
    },
    sharedBytes: () => shared,
    limited: () => limited,
    managerLog: () => {},
    onAbove: (one, reason) => calls.push([one.id, reason]),
  });
  memory.sync(new Set([0]));
});

const instance = (fields = {}) => ({
  name: 'api',
  id: 0,
  pid: 100,
  startedAtMs: clock.nowMs(),
  limitBytes: 300 * MB,
  minUptimeMs: 1_000,
  backoffMs: 100,
  ...fields,
});

async function turn(seconds) {
  for (let n = 0; n < seconds; n++) {
    clock.advance(1_000);
    await settle();
  }
}

test('memory is read every second, and a tree above its limit is reported', async () => {
  await turn(10);
  expect([calls, reads, memory.describe(0)]).toEqual([[], 10, { bytes: 200 * MB, misses: 0 }]);
  trees.get(100).bytes = 312 * MB;
  await turn(1);
  expect(calls).toEqual([[0, '312 MB above 300 MB']]);
});

test('small sizes are shown with enough digits to see the difference', async () => {
  limited = [instance({ limitBytes: 20 * MB })];
  trees.get(100).bytes = 20.3 * MB;
  await turn(1);
  expect(calls).toEqual([[0, '20.3 MB above 20 MB']]);
});

test('one instance of an app is reported at a time, the one that exceeds its limit most', async () => {
  limited = [instance(), instance({ id: 1, pid: 101 }), instance({ id: 2, pid: 102, name: 'web' })];
  trees = new Map([
    [100, { bytes: 310 * MB, pids: [100] }],
    [101, { bytes: 400 * MB, pids: [101] }],
    [102, { bytes: 301 * MB, pids: [102] }],
  ]);
  await turn(1);
  expect(calls.map(([id]) => id)).toEqual([1, 2]);
});

test('forks that share their pages are counted once', async () => {
  trees.get(100).bytes = 900 * MB;
  trees.get(100).pids = [100, 101, 102];
  shared = 290 * MB;
  await turn(1);
  expect([calls, memory.describe(0)?.bytes]).toEqual([[], 290 * MB]);
  shared = 310 * MB;
  await turn(1);
  expect(calls).toEqual([[0, '310 MB above 300 MB']]);
});

test('no memory is read if no app has a limit, or if none runs', async () => {
  limited = [];
  await turn(3);
  memory.sync(new Set());
  expect([reads, clock.pending()]).toEqual([0, 0]);
});

describe('an app that needs more than its limit', () => {
  test('an app above its limit is not replaced before min_uptime, and then ever more seldom', async () => {
    trees = new Map();
    const fired = [];
    const begunMs = clock.nowMs();
    limited = [instance({ minUptimeMs: 3_000 })];
    trees.set(100, { bytes: 400 * MB, pids: [100] });
    for (let second = 1; second <= 1_200; second++) {
      const before = calls.length;
      await turn(1);
      if (calls.length === before) continue;
      fired.push((clock.nowMs() - begunMs) / 1_000);
      limited = [instance({ minUptimeMs: 3_000 })];
    }
    const gaps = fired.map((at, n) => at - (fired[n - 1] ?? 0));
    expect(gaps.slice(0, 6)).toEqual([3, 3, 3, 3, 3, 4]);
    expect(gaps.at(-1)).toBeGreaterThan(100);
    expect(fired.length).toBeLessThan(15);
    expect(memory.describe(0)?.misses).toBe(fired.length);
  });

  test('an app above its limit is judged at once even if it grew slowly', async () => {
    await turn(60);
    trees.get(100).bytes = 400 * MB;
    await turn(1);
    expect([calls.length, memory.describe(0)?.misses]).toEqual([1, 0]);
  });

  test('an app above its limit waits for at most ten minutes', () => {
    expect([0, 1, 5, 50].map((misses) => pauseMs({ minUptimeMs: 1_000, backoffMs: 100 }, misses))).toEqual([
      1_000, 1_000, 3_200, 600_000,
    ]);
    expect(pauseMs({ minUptimeMs: 0, backoffMs: 0 }, 3)).toBe(800);
  });
});
