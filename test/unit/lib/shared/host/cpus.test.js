import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { availableCpus, resolveInstances, resolveScale } from '../../../../../lib/shared/host/cpus.js';

function fakeRoot(files) {
  const root = mkdtempSync(join(tmpdir(), 'nclust-cpus-'));
  onTestFinished(() => rmSync(root, { recursive: true }));
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  return root;
}

const v2 = (path) => ({ 'proc/self/cgroup': `0::${path}\n` });
const v1 = (path, controllers = 'cpu,cpuacct') => ({
  'proc/self/cgroup': `12:pids:${path}\n4:${controllers}:${path}\n1:name=systemd:/\n`,
});

describe('availableCpus', () => {
  test.each([
    ['nothing is limited', {}, 8],
    ['v2 has no quota', { ...v2('/'), 'sys/fs/cgroup/cpu.max': 'max 100000\n' }, 8],
    ['v2 allows two', { ...v2('/app'), 'sys/fs/cgroup/app/cpu.max': '200000 100000\n' }, 2],
    ['v2 allows two and a half', { ...v2('/app'), 'sys/fs/cgroup/app/cpu.max': '250000 100000\n' }, 2],
    ['v2 allows half of one', { ...v2('/app'), 'sys/fs/cgroup/app/cpu.max': '50000 100000\n' }, 1],
    [
      'a v2 parent allows less than the group',
      {
        ...v2('/slice/app'),
        'sys/fs/cgroup/slice/cpu.max': '300000 100000',
        'sys/fs/cgroup/slice/app/cpu.max': '600000 100000',
      },
      3,
    ],
    [
      'v2 in a container shows the path of the host',
      { ...v2('/docker/abc'), 'sys/fs/cgroup/cpu.max': '400000 100000' },
      4,
    ],
    [
      'v1 has no quota',
      {
        ...v1('/'),
        'sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us': '-1\n',
        'sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us': '100000\n',
      },
      8,
    ],
    [
      'v1 allows three',
      {
        ...v1('/app'),
        'sys/fs/cgroup/cpu,cpuacct/app/cpu.cfs_quota_us': '300000\n',
        'sys/fs/cgroup/cpu,cpuacct/app/cpu.cfs_period_us': '100000\n',
      },
      3,
    ],
    [
      'v1 has cpu on its own',
      {
        ...v1('/app', 'cpu'),
        'sys/fs/cgroup/cpu/app/cpu.cfs_quota_us': '100000',
        'sys/fs/cgroup/cpu/app/cpu.cfs_period_us': '50000',
      },
      2,
    ],
    [
      'v1 names the controllers the other way round',
      {
        ...v1('/app', 'cpuacct,cpu'),
        'sys/fs/cgroup/cpu/app/cpu.cfs_quota_us': '500000',
        'sys/fs/cgroup/cpu/app/cpu.cfs_period_us': '100000',
      },
      5,
    ],
    [
      'v1 in a container shows the path of the host',
      {
        ...v1('/docker/abc'),
        'sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us': '150000',
        'sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us': '100000',
      },
      1,
    ],
    ['the cpuset has one', { 'proc/self/status': 'Name:\tnode\nCpus_allowed_list:\t3\n' }, 1],
    ['the cpuset has ranges', { 'proc/self/status': 'Cpus_allowed:\tff\nCpus_allowed_list:\t0-1,4,6-7\n' }, 5],
    [
      'both a cpuset and a quota limit',
      { ...v2('/'), 'proc/self/status': 'Cpus_allowed_list:\t0-3\n', 'sys/fs/cgroup/cpu.max': '200000 100000' },
      2,
    ],
    ['the files hold garbage', { ...v2('/'), 'proc/self/status': 'what?', 'sys/fs/cgroup/cpu.max': 'lots of it' }, 8],
  ])('availableCpus returns the right number if %s', (_, files, expected) => {
    expect(availableCpus({ root: fakeRoot(files), affinity: 8 })).toBe(expected);
  });

  test('availableCpus counts only CPUs of the affinity mask', () => {
    expect(availableCpus({ root: fakeRoot({ 'proc/self/status': 'Cpus_allowed_list:\t0-63\n' }), affinity: 2 })).toBe(
      2,
    );
  });
});

test.each([
  [1, 1],
  [12, 12],
  ['3', 3],
  ['max', 4],
  [0, 4],
  ['0', 4],
  ['-1', 3],
  ['-9', 1],
  ['50%', 2],
  ['10%', 1],
  ['100%', 4],
  ['200%', 8],
  ['62.5%', 3],
])('"%j" on 4 CPUs is %d instances', (instances, expected) => {
  expect(resolveInstances(instances, 4)).toBe(expected);
});

test.each([['lots'], ['+2'], ['1.5'], [''], ['0%'], ['%'], [Number.NaN]])(
  '%j is refused as a number of instances',
  (instances) => {
    expect(() => resolveInstances(instances, 4)).toThrow(
      expect.objectContaining({
        code: 'ERR_NCLUST_BAD_INSTANCES',
        message: expect.stringContaining(String(instances)),
      }),
    );
  },
);

test.each([
  ['4', 4],
  ['+2', 5],
  ['-1', 2],
  ['-2', 1],
  ['max', 8],
  ['50%', 4],
])('scaling 3 instances by %j on 8 CPUs results in %d', (instances, expected) => {
  expect(resolveScale(instances, 3, 8)).toBe(expected);
});

test.each([['0'], ['-3'], ['-9'], ['x']])('scaling 3 instances by %j is refused', (instances) => {
  expect(() => resolveScale(instances, 3, 8)).toThrow(
    expect.objectContaining({ code: 'ERR_NCLUST_BAD_INSTANCES', exitStatus: 2 }),
  );
});
