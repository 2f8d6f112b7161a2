import { expect, test } from 'vitest';
import { findings } from '../../../../lib/doctor/findings.js';

const GB = 1024 ** 3;

const slot = (o) => ({
  name: 'api',
  status: 'online',
  mode: 'fork',
  watching: false,
  logLost: null,
  memoryBytes: 50e6,
  interpreter: '/usr/bin/node',
  ...o,
});

const NOW_MS = 1_700_000_000_000;

const receiver = (o) => ({
  receiver: 'https://example.com/…',
  names: ['ops', 'api'],
  waiting: 2,
  waitingSinceMs: NOW_MS - 301_000,
  problem: 'it answers with status 500',
  ...o,
});

const healthy = {
  version: '1.2.0',
  node: { version: 'v24.1.0', file: '/usr/bin/node' },
  system: 'linux',
  uid: 1000,
  sudoUser: null,
  nodeOptions: null,
  home: '/home/me/.nclust',
  homeStat: { mode: 0o700, uid: 1000 },
  disk: { freeBytes: 50 * GB, totalBytes: 100 * GB, freeInodes: 1e6, inodes: 2e6, isMemory: false, isRemote: false },
  cpus: 4,
  memory: { freeBytes: 8 * GB, totalBytes: 16 * GB },
  group: { maxBytes: 4 * GB, nowBytes: GB, pidsMax: 1000, pidsNow: 100 },
  openFiles: 65_536,
  sysctls: { 'net.core.somaxconn': 4096, 'fs.inotify.max_user_watches': 524_288 },
  manager: { version: '1.2.0', keeperVersion: '1.2.0' },
  silence: null,
  keptApps: 1,
  slots: [slot()],
  troubles: [],
  receivers: [],
  nowMs: NOW_MS,
  sockets: [],
  notices: [],
  isAtBoot: true,
  pm2Pid: null,
  logsMaxTotalBytes: 5 * GB,
};

test('findings are empty for a healthy machine', () => {
  expect(findings(healthy)).toEqual([]);
});

test('findings are empty if no facts are known', () => {
  const unknown = { maxBytes: null, nowBytes: null, pidsMax: null, pidsNow: null };
  expect(
    findings({
      ...healthy,
      disk: null,
      homeStat: null,
      group: unknown,
      openFiles: null,
      sysctls: {},
      manager: null,
      keptApps: 0,
      slots: [],
      isAtBoot: null,
    }),
  ).toEqual([]);
});

test.each([
  [
    'apps that no manager runs',
    { manager: null, keptApps: 4, slots: [] },
    'bad',
    /^No nclust runs here, but 4 apps are kept in its list\.$/,
    /^nclust resurrect$/,
  ],
  [
    'a manager that does not answer',
    { manager: null, slots: [], silence: { message: 'The keeper (pid 7) does not answer.', hint: 'kill -9 7' } },
    'bad',
    /^The keeper \(pid 7\) does not answer\.$/,
    /^kill -9 7$/,
  ],
  [
    'a manager of another version',
    { manager: { version: '1.1.0', keeperVersion: '1.1.0' } },
    'warn',
    /running manager is version 1\.1\.0/,
    /nclust update/,
  ],
  [
    'an older keeper',
    { manager: { version: '1.2.0', keeperVersion: '1.1.0' } },
    'note',
    /keeper is still version 1\.1\.0/,
    /Nothing/,
  ],
  ['an odd Node.js', { node: { version: 'v23.1.0' } }, 'note', /not a long-term version/, /even version/],
  ['an old Node.js', { node: { version: 'v20.1.0' } }, 'note', /no longer gets security fixes/, /--interpreter/],
  ['a full disk', { disk: { ...healthy.disk, freeBytes: 1e6 } }, 'bad', /has 97\d\.\dkb left/, /nclust flush/],
  [
    'logs that may grow beyond the disk',
    { disk: { ...healthy.disk, freeBytes: 2 * GB } },
    'note',
    /Logs may take 5\.0gb/,
    /logs\.max_total/,
  ],
  ['a disk without inodes', { disk: { ...healthy.disk, freeInodes: 3 } }, 'bad', /3 more files/, /df -i/],
  ['a network disk', { disk: { ...healthy.disk, isRemote: true } }, 'warn', /network file system/, /local disk/],
  ['a home in memory', { disk: { ...healthy.disk, isMemory: true } }, 'note', /after a reboot/, /NCLUST_HOME/],
  ['a home of another user', { homeStat: { mode: 0o700, uid: 0 } }, 'bad', /belongs to user id 0/, /its owner/],
  ['sudo', { sudoUser: 'me', uid: 0, homeStat: { mode: 0o700, uid: 0 } }, 'note', /not that of me/, /leave sudo out/],
  ['few open files', { openFiles: 1024 }, 'warn', /may open only 1024 files/, /LimitNOFILE/],
  ['a short listen queue', { sysctls: { 'net.core.somaxconn': 128 } }, 'warn', /128 connections wait/, /sysctl -w/],
  [
    'few watches',
    { sysctls: { 'fs.inotify.max_user_watches': 8192 }, slots: [slot({ watching: true })] },
    'warn',
    /watch only 8192 files/,
    /sysctl -w/,
  ],
  [
    'little memory left in the group',
    { group: { ...healthy.group, nowBytes: 3.9 * GB } },
    'bad',
    /3\.9gb of 4\.0gb/,
    /scale/,
  ],
  ['few processes left in the group', { group: { ...healthy.group, pidsNow: 950 } }, 'bad', /950 of 1000/, /pids\.max/],
  [
    'little memory left',
    { memory: { freeBytes: 0.1 * GB, totalBytes: 16 * GB } },
    'warn',
    /of memory is free/,
    /--sort memory/,
  ],
  [
    'more instances than CPUs',
    { slots: Array.from({ length: 9 }, () => slot({ mode: 'cluster' })) },
    'note',
    /more than two instances/,
    /scale api max/,
  ],
  ['options for every Node.js', { nodeOptions: '--inspect' }, 'note', /NODE_OPTIONS is "--inspect"/, /unset/],
  ['nothing at boot', { isAtBoot: false }, 'warn', /after a reboot/, /nclust startup/],
  ['PM2', { pm2Pid: 77 }, 'note', /pid 77/, /import pm2/],
  [
    'a trouble of an app',
    {
      troubles: [
        {
          app: 'api',
          kind: 'loop-blocked',
          level: 'bad',
          slots: [0],
          times: 1,
          evidence: { forMs: 34_200, longestMs: 34_200, doing: null },
        },
      ],
    },
    'bad',
    /^"api" does not answer: its event loop has been blocked for 34s\.$/,
    /^nclust stack api$/,
  ],
  [
    'a socket without a user',
    { sockets: [{ app: 'gone', address: '::', port: 80, users: [] }] },
    'bad',
    /holds port 80 for "gone", which is not in the list/,
    /nclust kill/,
  ],
  [
    'messages that do not arrive',
    { receivers: [receiver(), receiver({ waitingSinceMs: NOW_MS - 299_000 }), receiver({ waitingSinceMs: null })] },
    'warn',
    /^2 messages about troubles wait for "https:\/\/example\.com\/…", because it answers with status 500\.$/,
    /^nclust notify test ops api$/,
  ],
  ['a large heap', { slots: [slot({ memoryBytes: 3 * GB })] }, 'note', /more than 2 GB/, /max-old-space-size/],
  [
    'log lines lost on a full disk',
    {
      notices: [
        '5 lines (90 bytes) could not be written to the log file "/h/logs/api-out.log" (ENOSPC) and are lost; ' +
          'nclust keeps trying.',
      ],
    },
    'warn',
    /^5 lines/,
    /^Free space, or empty log files: nclust flush <app>\. Then set a smaller limit: nclust set logs\.max_size 1M$/,
  ],
  ['a notice of the manager', { notices: ['The state was lost.'] }, 'warn', /The state was lost/, /nclust\.log/],
])('findings report %s', (_, facts, level, what, remedy) => {
  expect(findings({ ...healthy, ...facts })).toEqual([
    { level, what: expect.stringMatching(what), remedy: expect.stringMatching(remedy) },
  ]);
});

test('findings begin with the worst', () => {
  expect(
    findings({ ...healthy, pm2Pid: 77, openFiles: 10, disk: { ...healthy.disk, freeInodes: 0 } }).map(
      ({ level }) => level,
    ),
  ).toEqual(['bad', 'warn', 'note']);
});

test('findings do not report an unused socket of an app in the list', () => {
  const sockets = [{ app: 'api', address: '::', port: 80, users: [] }];
  expect(findings({ ...healthy, sockets })).toEqual([]);
});
