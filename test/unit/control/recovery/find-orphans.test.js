import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { findOrphans } from '../../../../daemon/control/recovery/find-orphans.js';

let proc;

beforeEach(() => {
  proc = mkdtempSync(join(tmpdir(), 'nclust-proc-'));
  writeFileSync(join(proc, 'stat'), 'cpu 1 2 3\nbtime 1000\n');
});
afterEach(() => rmSync(proc, { recursive: true, force: true }));

function addProcess(pid, { ppid = 1, startTicks = '500', state = 'S', env = {}, fds = {} }) {
  const folder = join(proc, String(pid));
  mkdirSync(join(folder, 'fd'), { recursive: true });
  writeFileSync(
    join(folder, 'environ'),
    Object.entries(env)
      .map(([key, value]) => `${key}=${value}\0`)
      .join(''),
  );
  writeFileSync(
    join(folder, 'stat'),
    `${pid} (a) b (c) ${state} ${ppid} 0 0 0 -1 0 0 0 0 0 1 2 0 0 20 0 1 0 ${startTicks} 100 200\n`,
  );
  for (const [fd, target] of Object.entries(fds)) symlinkSync(target, join(folder, 'fd', fd));
}

const env = (instance, more = {}) => ({
  NCLUST_HOME: '/home/n',
  NCLUST_INSTANCE: instance,
  name: 'api',
  pm_id: '3',
  ...more,
});
const find = () => findOrphans({ home: '/home/n', run: '/home/n/run', proc });

test('an orphan is found by its marker, with its slot, its pipes and its identity', () => {
  addProcess(10, { env: env('i1', { A: 'x=y' }), fds: { 1: '/home/n/run/p-1-1', 2: '/dev/null' } });
  expect(find()).toEqual([
    {
      instanceId: 'i1',
      pid: 10,
      startTicks: '500',
      startedAtMs: 1_005_000,
      name: 'api',
      id: 3,
      outPipe: '/home/n/run/p-1-1',
      errPipe: null,
    },
  ]);
});

test('its children are not orphans of their own, even when their parent is gone', () => {
  addProcess(10, { env: env('i1') });
  addProcess(11, { ppid: 10, startTicks: '600', env: env('i1') });
  addProcess(12, { ppid: 1, startTicks: '700', env: env('i1') });
  expect(find().map(({ pid }) => pid)).toEqual([10]);
});

test('processes of other homes, without marker, and zombies are left alone', () => {
  addProcess(10, { env: env('i1', { NCLUST_HOME: '/home/other' }) });
  addProcess(11, { env: { NCLUST_HOME: '/home/n' } });
  addProcess(12, { env: env('i2'), state: 'Z' });
  expect(find()).toEqual([]);
});

test('a machine without /proc has none', () => {
  expect(findOrphans({ home: '/h', run: '/h/run', proc: join(proc, 'missing') })).toEqual([]);
});
