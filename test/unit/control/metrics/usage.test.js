import { beforeEach, expect, test } from 'vitest';
import { uptime } from 'node:os';
import { createPidusageReader } from '../../../../daemon/control/metrics/pidusage-reader.js';
import { createProcTreeReader } from '../../../../daemon/control/host/processes.js';
import { createUsageReader } from '../../../../daemon/control/metrics/usage.js';

let stats;
let asked;
let stat;
let rows;
let scans;
let scanMs;
let nowMono;
let read;

const row = (pid, more = {}) => ({ pid, ppid: 1, rssBytes: 1_000, start: '5', ownTicks: 0, waitedTicks: 0, ...more });
const status = (pid, more = {}) => ({
  pid,
  ppid: 1,
  cpu: 77,
  memory: 1_000,
  ctime: 0,
  elapsed: 60_000,
  timestamp: 0,
  ...more,
});
const gone = (code) => Object.assign(new Error('No matching pid found'), { code });

beforeEach(() => {
  stats = [];
  asked = [];
  stat = async (pids) => {
    asked.push(pids);
    const found = pids.map((pid) => [pid, stats.find((one) => one.pid === pid)]);
    if (pids.length === 1 && !found[0][1]) throw gone('ENOENT');
    return Object.fromEntries(found);
  };
  rows = [];
  scans = 0;
  scanMs = 0;
  nowMono = 0;
  read = reader();
});

function reader({ hasTrees = true } = {}) {
  const now = () => nowMono;
  const readTable = () => {
    scans += 1;
    nowMono += scanMs;
    return rows;
  };
  const readRow = (pid) => rows.find((one) => one.pid === pid) ?? null;
  return createUsageReader({
    readPids: createPidusageReader({ stat: (pids) => stat(pids), nowMono: now }),
    readTrees: hasTrees ? createProcTreeReader({ readRow, readTable, nowMono: now }) : null,
    nowMono: now,
  });
}

async function usage(pid, { isTree = false, afterMs = 1_000 } = {}) {
  nowMono += afterMs;
  return (await read([{ pid, isTree }])).get(pid);
}

const tree = (pid, o = {}) => usage(pid, { isTree: true, ...o });

test('CPU is what was used since the last look, in percent of a core', async () => {
  stats = [status(7, { ctime: 1_000 })];
  await usage(7);
  stats = [status(7, { ctime: 1_500, memory: 4_096 })];
  expect(await usage(7, { afterMs: 2_000 })).toMatchObject({ cpu: 25, memoryBytes: 4_096, processes: 1, cpuMs: 1_500 });
});

test('at the first look it is what was used since the process began', async () => {
  stats = [status(7, { ctime: 1_000, elapsed: 10_000 })];
  expect((await usage(7)).cpu).toBe(10);
  expect((await usage(7)).cpu).toBe(0);
});

test('where the system does not tell the age of a process, its first look says nothing', async () => {
  stats = [status(7, { ctime: 1_000, elapsed: -50_000 })];
  expect((await usage(7)).cpu).toBe(0);
});

test('all processes that are no trees are asked for in one call, and nothing is asked for nobody', async () => {
  stats = [status(7), status(8)];
  rows = [row(9)];
  const found = await read([
    { pid: 7, isTree: false },
    { pid: 9, isTree: true },
    { pid: 8, isTree: false },
  ]);
  expect([...found.keys()].sort()).toEqual([7, 8, 9]);
  expect(asked).toEqual([[7, 8]]);
  await tree(9);
  await read([]);
  expect(asked).toHaveLength(1);
});

test('a table of Node workers alone is not read at all', async () => {
  stats = [status(7)];
  await usage(7);
  expect(scans).toBe(0);
});

test('where nobody tells of trees, a tree is its root', async () => {
  read = reader({ hasTrees: false });
  stats = [status(7)];
  expect(await tree(7)).toMatchObject({ processes: 1, memoryBytes: 1_000 });
  expect(scans).toBe(0);
});

test('a process that has ended is missing, alone and beside others', async () => {
  expect(await usage(7)).toBeUndefined();
  expect(await tree(7)).toBeUndefined();
  stats = [status(8)];
  expect([
    ...(
      await read([
        { pid: 8, isTree: false },
        { pid: 9, isTree: false },
      ])
    ).keys(),
  ]).toEqual([8]);
});

test.each(['ENOENT', 'ESRCH'])('a process alone that has ended is missing: %s', async (code) => {
  stat = async () => {
    throw gone(code);
  };
  expect(await usage(7)).toBeUndefined();
});

test('another failure is no end of a process', async () => {
  stat = async () => {
    throw gone('EMFILE');
  };
  await expect(usage(7)).rejects.toThrow('No matching pid found');
});

test('what was missing is left alone for as long as its past is kept', async () => {
  stats = [status(7)];
  await usage(7);
  stats = [];
  await usage(7);
  // Another process has its pid now, but pidusage holds a descriptor of the old one until the pid
  // was not asked for some time.
  stats = [status(7)];
  asked = [];
  for (let second = 0; second < 9; second += 1) expect(await usage(7)).toBeUndefined();
  expect(asked).toEqual([]);
  expect(await usage(7)).toBeDefined();
});

test('another process with the same pid does not inherit its past', async () => {
  stats = [status(7, { ctime: 1_000_000 })];
  await usage(7);
  stats = [];
  await usage(7);
  stats = [status(7, { ctime: 100, elapsed: 1_000 })];
  expect(await usage(7, { afterMs: 60_000 })).toMatchObject({ cpu: 10, cpuMs: 100 });
});

test('what nobody has asked for in a while begins anew', async () => {
  stats = [status(7, { ctime: 1_000_000 })];
  await usage(7);
  stats = [status(7, { ctime: 100, elapsed: 1_000 }), status(8)];
  await usage(8, { afterMs: 6_000 });
  expect(await usage(7)).toMatchObject({ cpu: 10, cpuMs: 100 });
});

test('a tree is what the program started, with the children that have ended', async () => {
  rows = [row(7), row(8, { ppid: 7, ownTicks: 10 }), row(9, { ppid: 8, ownTicks: 10 }), row(10)];
  expect(await tree(7)).toMatchObject({ processes: 3, memoryBytes: 3_000 });
  // 9 has exited after 20 ticks, and 8 has waited for it: the ticks count once.
  rows = [row(7), row(8, { ppid: 7, ownTicks: 20, waitedTicks: 20 })];
  expect(await tree(7)).toMatchObject({ processes: 2, cpu: 20, cpuMs: 400 });
  expect(asked).toEqual([]);
});

test('what a tree has used does not fall when one leaves it that nobody waits for', async () => {
  rows = [row(7), row(8, { ppid: 7, ownTicks: 50 })];
  await tree(7);
  rows = [row(7)];
  expect(await tree(7)).toMatchObject({ processes: 1, cpu: 0, cpuMs: 500 });
});

test('at the first look at a tree it is what was used since its root began', async () => {
  rows = [row(7, { ownTicks: 100, start: String(Math.round((uptime() - 10) * 100)) })];
  expect((await tree(7)).cpu).toBeGreaterThan(9);
  expect((await tree(7)).cpu).toBe(0);
});

test('another tree with the same pid does not inherit its past', async () => {
  rows = [row(7, { ownTicks: 1_000 })];
  await tree(7);
  rows = [row(7, { ownTicks: 10, start: String(Math.round((uptime() - 1) * 100)) })];
  const other = await tree(7);
  expect(other.cpu).toBeGreaterThan(5);
  expect(other.cpuMs).toBe(100);
});

test('the whole process table is read for at most a hundredth of the time', async () => {
  scanMs = 50;
  rows = [row(7), row(8, { ppid: 7 })];
  for (let second = 0; second < 20; second += 1) expect((await tree(7)).processes).toBe(2);
  expect(scans).toBeLessThanOrEqual(5);
  expect(scans).toBeGreaterThanOrEqual(3);
});

test('who looks at a new tree forgets no other', async () => {
  scanMs = 50;
  rows = [row(7), row(8, { ppid: 7 }), row(9)];
  await tree(7);
  await tree(9, { afterMs: 6_000 });
  expect(scans).toBe(2);
  expect((await tree(7)).processes).toBe(2);
  expect(scans).toBe(2);
});
