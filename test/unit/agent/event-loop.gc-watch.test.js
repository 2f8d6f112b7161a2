import { createRequire } from 'node:module';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { beforeEach, expect, test } from 'vitest';

const { createGcWatch, watchOldSpace } = createRequire(import.meta.url)('../../../daemon/agent/gc-watch.cjs');
setFlagsFromString('--expose-gc');
const collectOnce = runInNewContext('gc');
const WORK_MS = 1_000;

let watch;
let reportedMs;

beforeEach(() => {
  watch = createGcWatch((entry) => entry);
  reportedMs = 0;
});

test('the use of the old space is known right after each major collection, not after a minor one', async () => {
  const seen = watchOldSpace((entry) => entry);
  expect(seen).toMatchObject({ majorGcs: 0, usedBytes: null });
  await collect(6);
  expect(seen).toMatchObject({ majorGcs: 0, usedBytes: null });
  // The first two may be missed.
  await collect(3, 'major');
  const { majorGcs, usedBytes } = seen;
  expect(majorGcs).toBeGreaterThan(0);
  const kept = Array.from({ length: 3 }, () => Array(1_000_000).fill(1.5));
  await collect(1, 'major');
  expect(seen.majorGcs).toBe(majorGcs + 1);
  expect(seen.usedBytes).toBeGreaterThan(usedBytes + 3 * 8_000_000 - 4_000_000);
  kept.length = 0;
  await collect(1, 'major');
  expect(seen.usedBytes).toBeLessThan(usedBytes + 4_000_000);
});

/** Waits three turns each time, because Node.js reports a collection in the turn after the next. */
async function collect(times, type = 'minor') {
  for (let left = times; left > 0; left -= 1) {
    if (type === 'minor') collectOnce({ type });
    else collectOnce();
    for (let turn = 0; turn < 3; turn += 1) await new Promise(setImmediate);
  }
}

test('the watch counts the time of every collection if there are few', async () => {
  await collect(5);
  const first = watch.take(WORK_MS);
  expect(first).toBeGreaterThan(0);
  await collect(5);
  const second = watch.take(WORK_MS);
  expect(second).toBeGreaterThan(first);
  expect(second - first).toBeLessThan(WORK_MS);
});

test('the watch samples a process that collects all the time, and gives unseen reports the same share', async () => {
  await collect(25);
  const watched = watch.take(WORK_MS);
  await collect(25);
  expect(watch.take(2 * WORK_MS)).toBeCloseTo(3 * watched, 5);
  await collect(3);
  const again = watch.take(WORK_MS);
  expect(again).toBeGreaterThan(3 * watched);
  expect(again).not.toBeCloseTo(4 * watched, 5);
  await collect(1);
  expect(watch.take(WORK_MS)).toBeGreaterThan(again);
});

/**
 * @param {number} times
 * @returns {Promise<number>}  The number of reports that the watch skips.
 */
async function unwatchedFor(times) {
  for (let reports = 0; ; reports += 1) {
    await collect(times);
    const beforeMs = reportedMs;
    reportedMs = watch.take(0);
    if (reportedMs > beforeMs) return reports;
  }
}

test('the watch skips more reports the longer a process collects, and extends a burst to only one report', async () => {
  expect(await unwatchedFor(25)).toBe(0);
  const gone = [];
  for (let watched = 0; watched < 4; watched += 1) gone.push(await unwatchedFor(25));
  // The watch skips at most 8 reports after a report with 25 collections, because 25 collections in
  // 9 reports are a mean of about 3.
  expect(gone).toEqual([1, 3, 7, 8]);
  expect(await unwatchedFor(1)).toBe(8);
  expect([await unwatchedFor(25), await unwatchedFor(1)]).toEqual([0, 1]);
});
