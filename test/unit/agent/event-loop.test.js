import { createRequire } from 'node:module';
import { performance } from 'node:perf_hooks';
import { beforeEach, describe, expect, test, vi } from 'vitest';

const require = createRequire(import.meta.url);
const CLOSE_MS = 20;
const IDLE_MS = 100;

/** A fake event loop with a fake clock. The test decides when the loop turns. */
let nowMs = 0;
let workedMs = 0;
let timers = new Set();
/** Jobs in the thread pool, and whether they wait. */
let jobs = [];
let isPoolFull = false;

const { createLoopSampler, createSampler } = withFakes(() => ({
  ...require('../../../daemon/agent/event-loop.cjs'),
  ...require('../../../daemon/agent/report.cjs'),
}));

/** Replaces functions of Node.js only while the agent loads, because the agent keeps them. */
function withFakes(read) {
  const { hrtime, cpuUsage } = process;
  const nodeTimers = require('node:timers');
  const fs = require('node:fs');
  const { fstat } = fs;
  const { setImmediate, setInterval, clearInterval } = nodeTimers;
  try {
    Object.assign(process, {
      hrtime: () => [Math.trunc(nowMs / 1_000), (nowMs % 1_000) * 1e6],
      cpuUsage: () => ({ user: workedMs * 1_000, system: 0 }),
    });
    fs.fstat = (_fd, done) => void jobs.push(done);
    Object.assign(nodeTimers, {
      setImmediate: (act) => (act(), { unref: () => {} }),
      setInterval: begin,
      clearInterval: (timer) => void timers.delete(timer),
    });
    return read();
  } finally {
    Object.assign(process, { hrtime, cpuUsage });
    Object.assign(fs, { fstat });
    Object.assign(nodeTimers, { setImmediate, setInterval, clearInterval });
  }
}

function begin(act, everyMs) {
  const timer = { act, everyMs, dueMs: nowMs + everyMs, unref: () => timer };
  timers.add(timer);
  return timer;
}

beforeEach(() => {
  timers = new Set();
  jobs = [];
  isPoolFull = false;
  vi.spyOn(performance, 'eventLoopUtilization').mockImplementation(() => ({
    active: workedMs,
    idle: nowMs - workedMs,
    utilization: 0,
  }));
  return () => vi.restoreAllMocks();
});

/** As in libuv: a timer is due again one interval after it fired, and then finished jobs call back. */
function fire() {
  for (const timer of [...timers]) {
    if (timer.dueMs > nowMs) continue;
    timer.dueMs = nowMs + timer.everyMs;
    timer.act();
  }
  if (!isPoolFull) for (const done of jobs.splice(0)) done();
}

function work(ms) {
  nowMs += ms;
  workedMs += ms;
  fire();
}

function rest(ms) {
  const endMs = nowMs + ms;
  for (;;) {
    const nextMs = Math.min(...[...timers].map(({ dueMs }) => dueMs));
    if (nextMs > endMs) break;
    nowMs = nextMs;
    fire();
  }
  nowMs = endMs;
}

function live(ms, workMs, restMs) {
  for (const endMs = nowMs + ms; nowMs < endMs;) {
    if (workMs > 0) work(workMs);
    rest(restMs);
  }
}

function looking(everyMs) {
  const delays = [];
  const load = { activeMs: vi.fn(() => workedMs) };
  createLoopSampler(
    load,
    (entry) => entry,
    (delayMs) => delays.push(delayMs),
  ).look(everyMs);
  load.activeMs.mockClear();
  const share = (part) => delays.sort((a, b) => a - b)[Math.ceil(delays.length * part) - 1];
  return { delays, share, load };
}

describe('a closely watched loop', () => {
  test.each([25, 30, 35, 39, 45, 80, 500])(
    'a loop that is blocked by %d ms most of the time has that as its median',
    (blockMs) => {
      const { share } = looking(CLOSE_MS);
      live(20_000, blockMs, 4);
      expect(Math.abs(share(0.5) - blockMs)).toBeLessThanOrEqual(4);
      expect(Math.abs(share(0.99) - blockMs)).toBeLessThanOrEqual(4);
    },
  );

  test.each([
    [0.2, 0],
    [1, 0],
    [1, 1],
    [4, 0],
    [4, 10],
  ])(
    'a loop that is never busy for long, %d ms with %d ms between, has a median below 5 ms and no longer delay',
    (workMs, restMs) => {
      const { share } = looking(CLOSE_MS);
      live(10_000, workMs, restMs);
      expect(share(1)).toBeLessThan(5);
    },
  );

  test('a loop that is idle has no delay', () => {
    const { delays, share } = looking(CLOSE_MS);
    live(1_000, 0, 1_000);
    expect([delays.length, share(1)]).toEqual([50, 0]);
  });

  test('a loop that is blocked now and then has the block as its longest delay, but not as its median', () => {
    const { share } = looking(CLOSE_MS);
    for (let times = 0; times < 20; times += 1) {
      live(400, 1, 9);
      work(100);
    }
    expect(share(0.5)).toBeLessThan(2);
    expect(share(0.99)).toBeGreaterThan(80);
    expect(share(1)).toBeLessThanOrEqual(101);
  });

  test('a loop that waits without work of its own is late by the time it waited', () => {
    const { delays } = looking(CLOSE_MS);
    nowMs += 50; // Other processes had the CPU.
    fire();
    expect(delays).toEqual([30]);
  });
});

test('an almost idle loop is asked about its work only when it is late', () => {
  const { delays, load } = looking(IDLE_MS);
  live(5_000, 15, 85);
  expect([delays.length > 40, load.activeMs.mock.calls.length]).toEqual([true, 0]);
  live(1_000, 150, 150);
  expect(load.activeMs.mock.calls.length).toBeGreaterThan(0);
});

describe('a report', () => {
  function measured() {
    const reports = [];
    const vitals = createSampler({ open: 0, upgrades: 0 }, (error) => {
      throw error;
    });
    vitals.measure((report) => reports.push(report));
    return { vitals, reports };
  }

  test('a report of a loop that mostly blocks for 30 ms has them as median and p99, and the longest block', () => {
    const { reports } = measured();
    live(5_000, 30, 1);
    work(400);
    live(1_100, 30, 1);
    const steady = reports.slice(2, -2);
    expect(steady.length).toBeGreaterThan(1);
    for (const { delayMs } of steady) for (const ms of delayMs) expect(Math.abs(ms - 30)).toBeLessThanOrEqual(4);
    const [p50, p99, max] = reports.findLast(({ delayMs }) => delayMs[2] > 100).delayMs;
    expect(Math.abs(p50 - 30)).toBeLessThanOrEqual(4);
    expect(p99).toBeLessThanOrEqual(max);
    expect(max).toBeGreaterThan(380);
    expect(max).toBeLessThanOrEqual(400);
  });

  test('a report has the block as median when it meets two of three looks, and not when it meets one', () => {
    const { reports } = measured();
    live(3_000, 30, 1);
    const medians = [2, 1].map((blocks) => {
      const before = reports.length;
      for (let times = 0; times < 60; times += 1) {
        for (let left = blocks; left > 0; left -= 1) work(30);
        rest(20 * (3 - blocks));
      }
      return reports[before + 1].delayMs[0];
    });
    expect(Math.abs(medians[0] - 30)).toBeLessThanOrEqual(4);
    expect(medians[1]).toBeLessThan(5);
  });

  test.each([
    ['one block', 1, 0, 0],
    ['four blocks', 4, 25, 45],
  ])(
    'a report of five quiet seconds with %s shows whether the delays are more than one percent of the samples',
    (_, blocks, from, to) => {
      const { vitals, reports } = measured();
      // Watches the loop, because the agent samples a watched loop closely.
      vitals.watch(500, () => {});
      rest(1_500);
      const before = reports.length;
      for (let times = 0; times < blocks; times += 1) {
        rest(700);
        work(45);
      }
      rest(5_000);
      const [p50, p99, max] = reports[before].delayMs;
      expect(p50).toBe(0);
      expect(p99).toBeGreaterThanOrEqual(from);
      expect(p99).toBeLessThanOrEqual(to);
      expect(max).toBeGreaterThan(25);
      expect(max).toBeLessThanOrEqual(45);
    },
  );

  test('a report of a process with work has the wait in a full thread pool every second, also when it is idle', () => {
    const { reports } = measured();
    isPoolFull = true;
    live(3_000, 20, 20);
    expect(jobs).toHaveLength(1);
    const before = reports.length;
    rest(5_000);
    const waits = reports.slice(before).map(({ poolWaitMs }) => poolWaitMs);
    expect(waits).toHaveLength(5);
    expect(waits).toEqual([...waits].sort((x, y) => x - y));
    expect(waits[4] - waits[0]).toBeGreaterThan(3_000);
    isPoolFull = false;
    rest(6_000);
    expect(reports.at(-1).poolWaitMs).toBe(0);
  });

  test('a report after a block of the event loop has no wait, because a finished job has not called back', () => {
    const { reports } = measured();
    live(3_000, 20, 20);
    isPoolFull = true;
    live(1_100, 20, 20);
    expect(jobs).toHaveLength(1);
    work(4_000);
    expect(reports.at(-1).poolWaitMs).toBeLessThan(1_100);
  });

  test('an idle process puts no job into the thread pool', () => {
    const { reports } = measured();
    isPoolFull = true;
    rest(60_000);
    expect([reports.length > 10, jobs.length]).toEqual([true, 0]);
  });
});
