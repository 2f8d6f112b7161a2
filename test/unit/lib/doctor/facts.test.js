import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { systemdUnit } from '../../../../lib/boot/systemd.js';
import { gatherFacts } from '../../../../lib/doctor/facts.js';
import { readVersion } from '../../../../lib/shared/version.js';

let root;
let home;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'nclust-facts-'));
  home = join(root, 'home/me/.nclust');
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const gather = (env = {}, client = null) =>
  gatherFacts(
    {
      home,
      node: { file: '/usr/bin/node', version: 'v24.0.0' },
      env: { HOME: join(root, 'home/me'), ...env },
      managerOfAnyVersion: async () => client,
    },
    { root },
  );

function place(path, text) {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), text);
}

test('facts that the system does not provide are null', async () => {
  expect(await gather()).toMatchObject({
    homeStat: null,
    disk: { freeBytes: expect.any(Number) },
    group: { maxBytes: null, nowBytes: null, pidsMax: null, pidsNow: null },
    openFiles: null,
    sysctls: {},
    manager: null,
    slots: [],
    isAtBoot: null,
    pm2Pid: null,
  });
});

test('facts contain the limits of the process, of its control group and of the system', async () => {
  place(`proc/${process.pid}/limits`, 'Max open files            1024                 4096                 files\n');
  place(`proc/${process.pid}/cgroup`, '0::/app\n');
  for (const [file, text] of [
    ['pids.max', '100'],
    ['pids.current', '40'],
    ['memory.max', 'max'],
    ['memory.current', '5000'],
  ])
    place(`sys/fs/cgroup/app/${file}`, `${text}\n`);
  place('proc/sys/net/core/somaxconn', '128\n');
  expect(await gather()).toMatchObject({
    openFiles: 1024,
    group: { pidsMax: 100, pidsNow: 40, maxBytes: null, nowBytes: 5000 },
    sysctls: { 'net.core.somaxconn': 128 },
  });
});

test('isAtBoot finds a unit of any name for this home, and ignores one for another home', async () => {
  mkdirSync(join(root, 'run/systemd/system'), { recursive: true });
  const unit = (of) =>
    systemdUnit({
      name: 'shop',
      user: 'me',
      home: of,
      launcher: `${of}/boot.sh`,
      isUserUnit: false,
      waitsForIp: false,
      stopSeconds: 30,
    });
  for (const other of ['/home/you/.nclust', `${home}-test`, `/srv${home}`, `${home}/inner`]) {
    place('etc/systemd/system/other.service', unit(other));
    expect([other, await gather()]).toMatchObject([other, { isAtBoot: false }]);
  }
  place('etc/systemd/system/shop.service', unit(home));
  expect(await gather()).toMatchObject({ isAtBoot: true });
});

test('keptApps counts the apps of the saved list', async () => {
  expect(await gather()).toMatchObject({ keptApps: 0 });
  place('home/me/.nclust/state.json', '{"v":1,"apps":[{},{}]}');
  expect(await gather()).toMatchObject({ keptApps: 2 });
});

test('troubles are those of the manager, unless it has another version', async () => {
  const troubles = [{ app: 'api', kind: 'errored' }];
  const answers = { list: { slots: [], notices: [] }, troubles: { troubles }, sockets: { sockets: [] } };
  const client = (version) => ({ request: async (method) => answers[method], hello: { version } });
  expect(await gather({}, client(readVersion()))).toMatchObject({ troubles });
  expect(await gather({}, client('0.0.1'))).toMatchObject({ troubles: [] });
});

test('pm2Pid is null unless the process of PM2 runs', async () => {
  place('home/me/.pm2/pm2.pid', '77\n');
  expect(await gather()).toMatchObject({ pm2Pid: null });
  place('proc/77/cmdline', 'PM2 v7: God Daemon\0');
  expect(await gather()).toMatchObject({ pm2Pid: 77 });
});
