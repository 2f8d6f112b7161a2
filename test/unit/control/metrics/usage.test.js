import { beforeEach, describe, expect, test } from 'vitest';
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
let hasChildren;
let names;
let runDelays;
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
  hasChildren = () => false;
  names = [];
  runDelays = {};
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
    hasChildren: (pid) => hasChildren(pid),
    runDelayOf: (pid) => runDelays[pid] ?? 0,
    programOf(pid) {
      names.push(pid);
      return `program-${pid}`;
    },
    nowMono: now,
  });
}

async function usage(pid, { isTree = false, afterMs = 1_000 } = {}) {
  nowMono += afterMs;
  return (await read([{ pid, isTree }])).get(pid);
}

const tree = (pid, o = {}) => usage(pid, { isTree: true, ...o });

test('CPU is the usage since the last look, in percent of a core', async () => {
  stats = [status(7, { ctime: 1_000 })];
  await usage(7);
  stats = [status(7, { ctime: 1_500, memory: 4_096 })];
  expect(await usage(7, { afterMs: 2_000 })).toMatchObject({ cpu: 25, memoryBytes: 4_096, processes: 1, cpuMs: 1_500 });
});

test('CPU at the first look is the usage since the process started', async () => {
  stats = [status(7, { ctime: 1_000, elapsed: 10_000 })];
  expect((await usage(7)).cpu).toBe(10);
  expect((await usage(7)).cpu).toBe(0);
});

test('the first look has no CPU if the system does not report the age of a process', async () => {
  stats = [status(7, { ctime: 1_000, elapsed: -50_000 })];
  expect((await usage(7)).cpu).toBe(0);
});

test('all single processes are read in one call, and no call is made without processes', async () => {
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

test('a table of only Node.js workers is not read at all', async () => {
  stats = [status(7)];
  await usage(7);
  expect(scans).toBe(0);
});

test('a tree is its root if the system does not report trees', async () => {
  read = reader({ hasTrees: false });
  stats = [status(7)];
  expect(await tree(7)).toMatchObject({ processes: 1, memoryBytes: 1_000 });
  expect(scans).toBe(0);
});

test('an exited process is missing, alone and beside others', async () => {
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

test.each(['ENOENT', 'ESRCH'])('a single process that has exited is missing: %s', async (code) => {
  stat = async () => {
    throw gone(code);
  };
  expect(await usage(7)).toBeUndefined();
});

test('another failure does not count as an exit', async () => {
  stat = async () => {
    throw gone('EMFILE');
  };
  await expect(usage(7)).rejects.toThrow('No matching pid found');
});

test('a missing process is not read again while its history is kept', async () => {
  stats = [status(7)];
  await usage(7);
  stats = [];
  await usage(7);
  // Another process has the pid now, but pidusage still holds a descriptor of the old process.
  stats = [status(7)];
  asked = [];
  for (let second = 0; second < 9; second += 1) expect(await usage(7)).toBeUndefined();
  expect(asked).toEqual([]);
  expect(await usage(7)).toBeDefined();
});

test('another process with the same pid does not inherit its history', async () => {
  stats = [status(7, { ctime: 1_000_000 })];
  await usage(7);
  stats = [];
  await usage(7);
  stats = [status(7, { ctime: 100, elapsed: 1_000 })];
  expect(await usage(7, { afterMs: 60_000 })).toMatchObject({ cpu: 10, cpuMs: 100 });
});

test('the history of a process that was not read for a while starts again', async () => {
  stats = [status(7, { ctime: 1_000_000 })];
  await usage(7);
  stats = [status(7, { ctime: 100, elapsed: 1_000 }), status(8)];
  await usage(8, { afterMs: 6_000 });
  expect(await usage(7)).toMatchObject({ cpu: 10, cpuMs: 100 });
});

test('a tree includes the children of a program that have exited', async () => {
  rows = [row(7), row(8, { ppid: 7, ownTicks: 10 }), row(9, { ppid: 8, ownTicks: 10 }), row(10)];
  expect(await tree(7)).toMatchObject({ processes: 3, memoryBytes: 3_000 });
  // Process 9 has exited after 20 ticks, and its parent 8 has waited for it. The ticks count once.
  rows = [row(7), row(8, { ppid: 7, ownTicks: 20, waitedTicks: 20 })];
  expect(await tree(7)).toMatchObject({ processes: 2, cpu: 20, cpuMs: 400 });
  expect(asked).toEqual([]);
});

test('the usage of a tree does not fall when an unawaited child leaves it', async () => {
  rows = [row(7), row(8, { ppid: 7, ownTicks: 50 })];
  await tree(7);
  rows = [row(7)];
  expect(await tree(7)).toMatchObject({ processes: 1, cpu: 0, cpuMs: 500 });
});

test('the first look at a tree has the usage since its root started', async () => {
  rows = [row(7, { ownTicks: 100, start: String(Math.round((uptime() - 10) * 100)) })];
  expect((await tree(7)).cpu).toBeGreaterThan(9);
  expect((await tree(7)).cpu).toBe(0);
});

test('another tree with the same pid does not inherit its history', async () => {
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

test('a look at a new tree forgets no other one', async () => {
  scanMs = 50;
  rows = [row(7), row(8, { ppid: 7 }), row(9)];
  await tree(7);
  await tree(9, { afterMs: 6_000 });
  expect(scans).toBe(2);
  expect((await tree(7)).processes).toBe(2);
  expect(scans).toBe(2);
});

describe('the tree of a worker', () => {
  test('a Node.js worker without children is its own tree, and the process table is not read', async () => {
    stats = [status(7, { ctime: 1_000, elapsed: 10_000 })];
    for (let second = 0; second < 20; second += 1) await usage(7);
    expect((await usage(7)).tree).toEqual({ processes: 1, cpu: 0, memoryBytes: 1_000, top: null });
    expect(scans).toBe(0);
  });

  test('the tree of a Node.js worker has the child that computes, and its own figures have not', async () => {
    stats = [status(7)];
    rows = [row(7), row(8, { ppid: 7 }), row(9, { ppid: 8 })];
    hasChildren = (pid) => pid === 7;
    await usage(7);
    for (let second = 0; second < 3; second += 1) await usage(7);
    rows = [row(7), row(8, { ppid: 7, ownTicks: 5 }), row(9, { ppid: 8, ownTicks: 90 })];
    expect(await usage(7)).toMatchObject({
      cpu: 0,
      memoryBytes: 1_000,
      processes: 1,
      tree: { processes: 3, cpu: 95, memoryBytes: 3_000, top: { pid: 9, program: 'program-9', cpu: 90 } },
    });
  });

  test('a child that waits for a CPU wants more than it gets', async () => {
    stats = [status(7)];
    rows = [row(7), row(8, { ppid: 7 })];
    hasChildren = (pid) => pid === 7;
    await usage(7);
    await usage(7);
    expect((await usage(7)).tree.top).toMatchObject({ pid: 8, cpu: 0, cpuWanted: 0 });
    let last;
    for (let second = 1; second <= 40; second += 1) {
      rows = [row(7), row(8, { ppid: 7, ownTicks: 30 * second })];
      // The kernel counts a delay when it ends: here, every other second.
      if (second % 2 === 0) runDelays = { 8: 700 * second };
      last = (await usage(7)).tree.top;
    }
    expect(last.cpu).toBe(30);
    expect(last.cpuWanted).toBeGreaterThan(90);
  });

  test('the tree of another program has its busiest descendant', async () => {
    rows = [row(7), row(8, { ppid: 7 }), row(9, { ppid: 7 })];
    await tree(7);
    rows = [row(7, { ownTicks: 80 }), row(8, { ppid: 7, ownTicks: 10 }), row(9, { ppid: 7, ownTicks: 20 })];
    const { cpu, tree: whole } = await tree(7);
    expect([cpu, whole]).toMatchObject([110, { cpu: 110, processes: 3, top: { pid: 9, cpu: 20 } }]);
    rows = [row(7, { ownTicks: 80 })];
    expect((await tree(7)).tree.top).toBe(null);
  });

  test('workers with children share one table in five seconds', async () => {
    stats = [status(7), status(8)];
    rows = [row(7), row(8), row(9, { ppid: 7 })];
    hasChildren = () => true;
    const both = [
      { pid: 7, isTree: false },
      { pid: 8, isTree: false },
    ];
    for (let second = 0; second < 20; second += 1) {
      nowMono += 1_000;
      await read(both);
    }
    expect(scans).toBe(4);
  });

  test('a child that is found late does not count for the time before', async () => {
    stats = [status(7)];
    const start = (secondsAgo) => String(Math.round((uptime() - secondsAgo) * 100));
    const root = row(7, { start: start(1_000) });
    rows = [root, row(8, { ppid: 7, start: start(900) })];
    hasChildren = () => true;
    for (let second = 0; second < 4; second += 1) await usage(7);
    rows = [...rows, row(9, { ppid: 7, start: start(4), ownTicks: 400 })];
    const cpus = [];
    for (let second = 0; second < 6; second += 1) cpus.push((await usage(7)).tree.cpu);
    expect(Math.max(...cpus)).toBeGreaterThan(90);
    expect(Math.max(...cpus)).toBeLessThan(110);
  });

  test('the name of the busiest descendant is read when that changes, and at every tenth measurement', async () => {
    rows = [row(7), row(8, { ppid: 7 })];
    for (let second = 0; second < 21; second += 1) await tree(7);
    expect(names.length).toBeLessThanOrEqual(3);
    expect(names.length).toBeGreaterThanOrEqual(2);
  });

  test('children are asked for at every fifth measurement', async () => {
    let looks = 0;
    hasChildren = () => (looks++, false);
    stats = [status(7)];
    for (let second = 0; second < 20; second += 1) await usage(7);
    expect(looks).toBe(5);
  });

  test('the manager has no tree, because its children are the workers', async () => {
    hasChildren = () => true;
    stats = [status(7)];
    const looks = [];
    for (let second = 0; second < 3; second += 1)
      looks.push((await read([{ pid: 7, isTree: false, isManager: true }])).get(7)?.tree);
    expect([looks, scans]).toEqual([[null, null, null], 0]);
  });

  test('a tree is not known if the system does not report trees', async () => {
    read = reader({ hasTrees: false });
    hasChildren = () => true;
    stats = [status(7)];
    expect([(await usage(7)).tree, (await tree(7)).tree]).toEqual([null, null]);
  });
});
