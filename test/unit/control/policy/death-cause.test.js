import { expect, test } from 'vitest';
import { watchOomKills } from '../../../../daemon/control/host/oom-kills.js';
import { findCause } from '../../../../daemon/control/policy/death-cause.js';

const plain = {
  code: null,
  signal: null,
  asked: null,
  signalledBy: null,
  isOrphan: false,
  lastLines: [],
  hasOomKillGrown: () => false,
};
const heap = [
  '<--- Last few GCs --->',
  'FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory',
];

test.each([
  ['exit code 1', { code: 1 }, { cause: 'crash', by: null }],
  ['exit code 0', { code: 0 }, { cause: 'crash', by: null }],
  ['a segmentation fault', { signal: 'SIGSEGV' }, { cause: 'crash', by: null }],
  ['an abort', { signal: 'SIGABRT' }, { cause: 'crash', by: null }],
  ['the heap limit', { signal: 'SIGABRT', lastLines: heap }, { cause: 'out-of-memory', by: 'the heap limit of V8' }],
  [
    'the heap limit behind a shell',
    { code: 134, lastLines: heap },
    { cause: 'out-of-memory', by: 'the heap limit of V8' },
  ],
  [
    'the kernel for memory',
    { signal: 'SIGKILL', hasOomKillGrown: () => true },
    { cause: 'out-of-memory', by: 'the kernel' },
  ],
  ['a SIGTERM from outside behind a shell', { code: 143 }, { cause: 'signal', by: null }],
  ['a kill from outside', { signal: 'SIGKILL' }, { cause: 'signal', by: null }],
  [
    'a SIGTERM while something else ran out of memory',
    { signal: 'SIGTERM', hasOomKillGrown: () => true },
    { cause: 'signal', by: null },
  ],
  [
    'a signal by command',
    { signal: 'SIGUSR2', signalledBy: 'sendSignal SIGUSR2' },
    { cause: 'signal', by: 'sendSignal SIGUSR2' },
  ],
  [
    'a handled signal by command',
    { code: 0, signalledBy: 'sendSignal SIGTERM' },
    { cause: 'signal', by: 'sendSignal SIGTERM' },
  ],
  [
    'a handled signal by command, with the code of a shell',
    { code: 130, signalledBy: 'sendSignal SIGINT' },
    { cause: 'signal', by: 'sendSignal SIGINT' },
  ],
  ['a crash after a signal by command', { code: 1, signalledBy: 'sendSignal SIGTERM' }, { cause: 'crash', by: null }],
  ['an exit after a signal to inform', { code: 0, signalledBy: 'sendSignal SIGUSR2' }, { cause: 'crash', by: null }],
  [
    'a kill from outside after another signal by command',
    { signal: 'SIGKILL', signalledBy: 'sendSignal SIGUSR2' },
    { cause: 'signal', by: null },
  ],
  [
    'a stop',
    { signal: 'SIGKILL', asked: { cause: 'stop', by: 'stop' }, hasOomKillGrown: () => true },
    { cause: 'stop', by: 'stop' },
  ],
  ['an end that its keeper did not live to see', { isOrphan: true }, { cause: 'orphan', by: null }],
])('%s has its own cause of death', (_what, circumstances, cause) => {
  expect(findCause({ ...plain, ...circumstances })).toEqual(cause);
});

test('kills for memory are counted in the cgroup of v2, of v1, and in the machine', () => {
  const files = {
    '/proc/self/cgroup': '4:memory:/box\n0::/unit\n',
    '/proc/vmstat': 'nr_free 1\noom_kill 3\n',
    '/sys/fs/cgroup/unit/memory.events': 'low 0\noom_kill 0\n',
    '/sys/fs/cgroup/memory/box/memory.oom_control': 'oom_kill_disable 0\noom_kill 0\n',
  };
  const watch = watchOomKills({ read: (file) => files[file] ?? '' });
  expect(watch.hasGrown()).toBe(false);
  files['/sys/fs/cgroup/unit/memory.events'] = 'oom_kill 1\n';
  expect([watch.hasGrown(), watch.hasGrown()]).toEqual([true, false]);
  files['/sys/fs/cgroup/memory/box/memory.oom_control'] = 'oom_kill 1\n';
  expect(watch.hasGrown()).toBe(true);
  files['/proc/vmstat'] = 'oom_kill 4\n';
  watch.refresh();
  expect(watch.hasGrown()).toBe(false);
});
