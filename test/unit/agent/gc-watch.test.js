import { createRequire } from 'node:module';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { beforeEach, expect, test } from 'vitest';

const { createGcWatch } = createRequire(import.meta.url)('../../../daemon/agent/gc-watch.cjs');
setFlagsFromString('--expose-gc');
const collectOnce = runInNewContext('gc');
const WORK_MS = 1_000;

let watch;

beforeEach(() => {
  watch = createGcWatch((entry) => entry);
});

/** Until Node has told of them: it does in the turn after the next. */
async function collect(times) {
  for (let left = times; left > 0; left -= 1) {
    collectOnce({ type: 'minor' });
    for (let turn = 0; turn < 3; turn += 1) await new Promise(setImmediate);
  }
}

test('what every collection took is counted, as long as there are few', async () => {
  await collect(5);
  const first = watch.take(WORK_MS);
  expect(first).toBeGreaterThan(0);
  await collect(5);
  const second = watch.take(WORK_MS);
  expect(second).toBeGreaterThan(first);
  expect(second - first).toBeLessThan(WORK_MS);
});

test('of a process that collects all the time one report of several is watched, and the others take the same part of their work', async () => {
  await collect(25);
  const watched = watch.take(WORK_MS);
  await collect(25);
  expect(watch.take(2 * WORK_MS)).toBeCloseTo(3 * watched, 5);
  // 25 at once, 3 on the mean: the last of 8 that go without.
  for (let report = 2; report <= 8; report += 1) {
    await collect(1);
    expect(watch.take(0)).toBeCloseTo(3 * watched, 5);
  }
  await collect(3);
  const again = watch.take(WORK_MS);
  expect(again).toBeGreaterThan(3 * watched);
  expect(again).not.toBeCloseTo(4 * watched, 5);
  await collect(1);
  expect(watch.take(WORK_MS)).toBeGreaterThan(again);
});
