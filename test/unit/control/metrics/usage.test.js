import { beforeEach, expect, test } from 'vitest';
import { uptime } from 'node:os';
import { createProcReader } from '../../../../daemon/control/metrics/usage.js';
import { readProcRow } from '../../../../daemon/control/metrics/proc-stat.js';

let rows;
let scans;
let scanMs;
let nowMono;
let read;

const row = (pid, more = {}) => ({ pid, ppid: 1, rssBytes: 1_000, start: '5', ownTicks: 0, waitedTicks: 0, ...more });

beforeEach(() => {
  rows = [];
  scans = 0;
  scanMs = 0;
  nowMono = 0;
  read = createProcReader({
    readRow: (pid) => rows.find((one) => one.pid === pid) ?? null,
    readTable: () => {
      scans += 1;
      nowMono += scanMs;
      return rows;
    },
    nowMono: () => nowMono,
  });
});

async function usage(pid, { isTree = false, afterMs = 1_000 } = {}) {
  nowMono += afterMs;
  return (await read([{ pid, isTree }])).get(pid);
}

test('CPU is what was used since the last look, in percent of a core', async () => {
  rows = [row(7, { ownTicks: 100 })];
  await usage(7);
  rows = [row(7, { ownTicks: 150, rssBytes: 4_096 })];
  expect(await usage(7, { afterMs: 2_000 })).toMatchObject({ cpu: 25, memoryBytes: 4_096, processes: 1 });
});

test('at the first look it is what was used since the process began', async () => {
  rows = [row(7, { ownTicks: 100, start: String(Math.round((uptime() - 10) * 100)) })];
  expect((await usage(7)).cpu).toBeGreaterThan(9);
  expect((await usage(7)).cpu).toBe(0);
});

test('another process with the same pid does not inherit its past', async () => {
  rows = [row(7, { ownTicks: 1_000 })];
  await usage(7);
  rows = [row(7, { ownTicks: 10, start: String(Math.round((uptime() - 1) * 100)) })];
  expect((await usage(7)).cpu).toBeGreaterThan(5);
});

test('a tree is what the program started, with the children that have ended', async () => {
  rows = [row(7), row(8, { ppid: 7, ownTicks: 10 }), row(9, { ppid: 8, ownTicks: 10 }), row(10)];
  expect(await usage(7, { isTree: true })).toMatchObject({ processes: 3, memoryBytes: 3_000 });
  // 9 has ended after 20 ticks, and 8 has waited for it: nothing is counted twice.
  rows = [row(7), row(8, { ppid: 7, ownTicks: 20, waitedTicks: 20 })];
  expect(await usage(7, { isTree: true })).toMatchObject({ processes: 2, cpu: 20 });
});

test('the whole process table is read for at most a hundredth of the time', async () => {
  scanMs = 50;
  rows = [row(7), row(8, { ppid: 7 })];
  for (let second = 0; second < 20; second += 1) expect((await usage(7, { isTree: true })).processes).toBe(2);
  expect(scans).toBeLessThanOrEqual(5);
  expect(scans).toBeGreaterThanOrEqual(3);
});

test('a table of Node workers alone is not read at all', async () => {
  rows = [row(7)];
  await usage(7);
  expect(scans).toBe(0);
});

test('a process that has ended is missing', async () => {
  expect(await usage(7)).toBeUndefined();
  expect(await usage(7, { isTree: true })).toBeUndefined();
});

test('a process reads itself as the system tells it', async () => {
  const own = readProcRow(process.pid);
  expect(own).toMatchObject({ pid: process.pid, ppid: process.ppid });
  expect(Math.abs(own.rssBytes - process.memoryUsage.rss())).toBeLessThan(16 * 1024 ** 2);
});
