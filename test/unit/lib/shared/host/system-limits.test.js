import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { systemLimits } from '../../../../../lib/shared/host/system-limits.js';

/** @param {Record<string, string>} files  Contents by path below a new root. */
function machine(files) {
  const root = mkdtempSync(join(tmpdir(), 'limits-'));
  onTestFinished(() => rmSync(root, { recursive: true }));
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, name)), { recursive: true });
    writeFileSync(join(root, name), text);
  }
  return root;
}

const NONE = { files: Infinity, tasks: Infinity, tasksFile: '' };

test.each([
  ['nothing that can be read', {}, NONE],
  [
    'no limit',
    {
      'proc/7/limits': 'Max open files            unlimited            unlimited            files     \n',
      'proc/7/cgroup': '0::/a\n',
      'sys/fs/cgroup/a/pids.max': 'max\n',
    },
    NONE,
  ],
  [
    'open files',
    {
      'proc/7/limits':
        'Max processes             10                   20                   processes \nMax open files     ' +
        '       1024                 4096                 files     \n',
    },
    { ...NONE, files: 1024 },
  ],
  [
    'cgroup v2: the least of all parents',
    { 'proc/7/cgroup': '0::/a/b\n', 'sys/fs/cgroup/a/pids.max': '100\n', 'sys/fs/cgroup/a/b/pids.max': '200\n' },
    { ...NONE, tasks: 100, tasksFile: '/sys/fs/cgroup/a/pids.max' },
  ],
  [
    "a container, where the path is the host's",
    { 'proc/7/cgroup': '0::/docker/x\n', 'sys/fs/cgroup/pids.max': '50\n' },
    { ...NONE, tasks: 50, tasksFile: '/sys/fs/cgroup/pids.max' },
  ],
  [
    'cgroup v1',
    { 'proc/7/cgroup': '8:pids:/x\n4:memory:/x\n0::/\n', 'sys/fs/cgroup/pids/x/pids.max': '60\n' },
    { ...NONE, tasks: 60, tasksFile: '/sys/fs/cgroup/pids/x/pids.max' },
  ],
])('%s', (_what, files, limits) => {
  expect(systemLimits(7, { root: machine(files) })).toEqual(limits);
});

test.runIf(process.platform === 'linux')('a real process has a limit of open files', () => {
  expect(systemLimits(process.pid).files).toBeGreaterThan(10);
});
