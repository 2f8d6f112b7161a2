import { execFileSync } from 'node:child_process';
import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { findOrphans } from '../../../../daemon/control/recovery/find-orphans.js';
import { homeMark } from '../../../../lib/shared/daemon/home-processes.js';
import { isRoot } from '../../../helpers/other-user.js';

const OWN = process.getuid?.() ?? 0;
const APP = OWN + 1;
const FORMER = OWN + 2;
const STRANGER = OWN + 3;

let proc;
let run;

beforeEach(() => {
  const root = mkdtempSync(join(tmpdir(), 'nclust-proc-'));
  proc = join(root, 'proc');
  run = join(root, 'run');
  mkdirSync(proc);
  mkdirSync(run);
  execFileSync('mkfifo', [join(run, 'p-1-1')]);
  writeFileSync(join(proc, 'stat'), 'cpu 1 2 3\nbtime 1000\n');
  for (const [name, mode] of [
    ['app', 0o755],
    ['sudo', 0o4755],
  ]) {
    writeFileSync(join(root, name), '');
    chmodSync(join(root, name), mode);
  }
});
afterEach(() => rmSync(join(proc, '..'), { recursive: true, force: true }));

function addProcess(
  pid,
  { ppid = 1, startTicks = '500', state = 'S', uid = OWN, owner = OWN, exe = 'app', env = {}, fds = {} },
) {
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
  writeFileSync(join(folder, 'status'), `Name:\ta\nUid:\t${uid}\t0\t0\t0\n`);
  symlinkSync(join(proc, '..', exe), join(folder, 'exe'));
  for (const [fd, target] of Object.entries(fds)) symlinkSync(target, join(folder, 'fd', fd));
  if (owner !== OWN) chownSync(folder, owner, owner);
}

const env = (instance, more = {}) => ({
  NCLUST_HOME: '/home/n',
  NCLUST_INSTANCE: instance,
  name: 'api',
  pm_id: '3',
  ...more,
});
/**
 * Returns the users of a slot. Slot 3 ran as other users before. Slot 5 does not exist. The
 * instance "other" is of another slot than 6.
 */
const uidsOf = (id, instanceId) =>
  id === 6 && instanceId === 'other' ? [] : ({ 3: [null, APP, FORMER], 4: [null], 6: [APP] }[id] ?? null);
const uids = new Set([APP, FORMER, null]);
const find = (more = {}) => findOrphans({ home: '/home/n', run, mark: '.ours', uidsOf, uids, proc, ...more });

test('an orphan is found by its marker, with its slot, its pipes and its identity', () => {
  addProcess(10, { env: env('i1', { A: 'x=y' }), fds: { 1: join(run, 'p-1-1'), 2: '/dev/null' } });
  expect(find()).toEqual([
    {
      instanceId: 'i1',
      pid: 10,
      startTicks: '500',
      startedAtMs: 1_005_000,
      name: 'api',
      id: 3,
      outPipe: join(run, 'p-1-1'),
      errPipe: null,
    },
  ]);
});

test('children of an orphan are not orphans, even if their parent has exited', () => {
  addProcess(10, { env: env('i1') });
  addProcess(11, { ppid: 10, startTicks: '600', env: env('i1') });
  addProcess(12, { ppid: 1, startTicks: '700', env: env('i1') });
  expect(find().map(({ pid }) => pid)).toEqual([10]);
});

test('processes of other homes, without a marker, and zombies are left alone', () => {
  addProcess(10, { env: env('i1', { NCLUST_HOME: '/home/other' }) });
  addProcess(11, { env: { NCLUST_HOME: '/home/n' } });
  addProcess(12, { env: env('i2'), state: 'Z' });
  expect(find()).toEqual([]);
});

describe('a process belongs to this home', () => {
  test.each([
    ['if its id has the mark of the home', 'i1.ours', '/home/n', [10]],
    ['if a manager without marks started it', 'i1', '/home/n', [10]],
    ['if its path leads to the home through a link', 'i1.ours', 'link', [10]],
    ['if its path leads to the home through a link, and its id has no mark', 'i1', 'link', [10]],
    ['not if it is a command for this home that an app of another home runs', 'i1.theirs', '/home/n', []],
    ['not if it is a command for another home that an app of this home runs', 'i1.ours', '/home/other', []],
    ['not if it is the keeper', 'nclust.keeper', '/home/n', []],
    ['not if its id is empty', '', '/home/n', []],
  ])('a process belongs to this home: %s', (_, id, path, pids) => {
    const root = join(proc, '..');
    mkdirSync(join(root, 'real'));
    symlinkSync(join(root, 'real'), join(root, 'link'));
    const isLinked = path === 'link';
    addProcess(10, { env: env(id, { NCLUST_HOME: isLinked ? join(root, 'link') : path }) });
    expect(find(isLinked ? { home: join(root, 'real') } : {}).map(({ pid }) => pid)).toEqual(pids);
  });

  test('the mark of a home is the same by every path, and another one for another folder', () => {
    const root = join(proc, '..');
    mkdirSync(join(root, 'real'));
    mkdirSync(join(root, 'other'));
    symlinkSync('real', join(root, 'link'));
    const mark = homeMark(join(root, 'real'));
    expect(homeMark(join(root, 'link'))).toBe(mark);
    expect(homeMark(`${root}/./real/`)).toBe(mark);
    expect(homeMark(join(root, 'other'))).not.toBe(mark);
  });
});

describe('a process with the marker', () => {
  test.each([
    ['an orphan of an app of the manager', { uid: OWN }, [10]],
    ['an orphan of an app of another user', { uid: APP }, [10]],
    ['an orphan of a generation that had another user', { uid: FORMER }, [10]],
    ['a stranger, when its user is neither', { uid: STRANGER }, []],
    [
      'a stranger, when it runs as the manager, and its slot is of another user',
      { env: env('i1', { pm_id: '6' }) },
      [],
    ],
    ['a stranger, when its id belongs to another slot', { uid: APP, env: env('other', { pm_id: '6' }) }, []],
    ['a stranger, when its id is long', { env: env(`${'i'.repeat(200)}.ours`) }, []],
    ['a stranger, when its slot is of another user', { uid: APP, env: env('i1', { pm_id: '4' }) }, []],
    ['a stranger, when it is root only because its program is set-uid', { exe: 'sudo' }, []],
  ])('a process with the marker is %s', (_, given, pids) => {
    addProcess(10, { env: env('i1'), ...given });
    expect(find().map(({ pid }) => pid)).toEqual(pids);
  });

  test('a process with the marker is an orphan if it has changed its user and still has a pipe of ours', () => {
    addProcess(10, { env: env('i1'), uid: STRANGER, fds: { 0: '/dev/null', 2: join(run, 'p-1-1') } });
    expect(find().map(({ pid }) => pid)).toEqual([10]);
  });

  test('a process with the pipe of an app of the manager is a stranger if its slot is of another user', () => {
    addProcess(10, { env: env('i1', { pm_id: '6' }), uid: APP, fds: { 1: join(run, 'p-1-1') } });
    expect(find()).toEqual([]);
  });

  test.runIf(isRoot).each([
    ['an orphan, when its pipe belongs to the user of its slot', APP, '3', [10]],
    ['an orphan, when it has a pipe and its slot is not in the list any more', APP, '5', [10]],
    ['a stranger, when it has the pipe of an app with another user than its slot', APP, '4', []],
  ])('a process with a pipe is %s', (_, owner, pm_id, pids) => {
    chownSync(join(run, 'p-1-1'), owner, owner);
    addProcess(10, { env: env('i1', { pm_id }), uid: STRANGER, fds: { 1: join(run, 'p-1-1') } });
    expect(find().map(({ pid }) => pid)).toEqual(pids);
  });

  test('a process with the marker is a stranger if it has no pipe but another file in the folder of our pipes', () => {
    writeFileSync(join(run, 'file'), '');
    addProcess(10, { env: env('i1'), uid: STRANGER, fds: { 1: join(run, 'file') } });
    expect(find()).toEqual([]);
  });

  test('a stranger that claims an earlier start is ignored', () => {
    addProcess(9, { env: env('i1'), uid: STRANGER, startTicks: '400' });
    addProcess(10, { env: env('i1') });
    expect(find().map(({ pid }) => pid)).toEqual([10]);
  });
});

test('a machine without /proc has no orphans', () => {
  expect(findOrphans({ home: '/h', run: '/h/run', mark: '.h', uidsOf, uids, proc: join(proc, 'missing') })).toEqual([]);
});

test.runIf(isRoot)('the environment of a stranger is not read, except with a pipe of the keeper', () => {
  // Without the check of the owner, this process would pass as one of slot 3.
  addProcess(10, { uid: APP, owner: STRANGER, env: env('i1') });
  addProcess(11, { uid: APP, owner: APP, env: env('i2') });
  chownSync(join(run, 'p-1-1'), APP, APP);
  addProcess(12, { uid: STRANGER, owner: STRANGER, env: env('i3'), fds: { 1: join(run, 'p-1-1') } });
  expect(find().map(({ pid }) => pid)).toEqual([11, 12]);
});

test('an environment is read up to 256 KiB', () => {
  addProcess(10, { env: { A: 'x'.repeat(256 * 1024), ...env('i1') } });
  addProcess(11, { env: { ...env('i2'), A: 'x'.repeat(256 * 1024) } });
  expect(find().map(({ pid }) => pid)).toEqual([11]);
});
