import { execFileSync } from 'node:child_process';
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { createPidFiles } from '../../../../daemon/control/status/pid-files.js';
import { isRoot, NOBODY, SECRET, userFolders } from '../../../helpers/other-user.js';
import { createRig } from '../control-rig.js';

let rig;
let folders;
let events;

async function boot() {
  await rig.boot();
  const files = createPidFiles(rig.control.registry, {
    pids: join(folders.open, 'pids'),
    managerLog: (event, fields) => events.push({ event, ...fields }),
  });
  files.sync();
  rig.control.follow(files.sync);
}

async function running(pidFile) {
  void rig.start({ cwd: folders.own, mode: 'fork', pidFile, ...NOBODY });
  await rig.turn(5_000);
}

async function stopped() {
  void rig.call('stop', { targets: ['api'] });
  await rig.turn(1_000);
}

describe.runIf(isRoot)('the pid file of an app with another user', () => {
  beforeEach(async () => {
    folders = userFolders();
    events = [];
    rig = createRig();
    await boot();
  });

  test('the pid file belongs to the user of the app, is replaced by a restart, and is removed', async () => {
    await running('run/api.pid');
    const path = join(folders.own, 'run/api-0.pid');
    expect(statSync(path)).toMatchObject({ ...NOBODY, mode: 0o100644 });
    expect(statSync(join(folders.own, 'run'))).toMatchObject(NOBODY);
    expect(readFileSync(path, 'utf8')).toBe('1000\n');
    void rig.call('restart', { targets: ['api'] });
    await rig.turn(5_000);
    expect(readFileSync(path, 'utf8')).toBe('1001\n');
    expect(readdirSync(join(folders.own, 'run'))).toEqual(['api-0.pid']);
    await stopped();
    expect(readdirSync(join(folders.own, 'run'))).toEqual([]);
    expect(events).toEqual([]);
  });

  test('the pid file of an app with another user replaces a file that root made', async () => {
    writeFileSync(join(folders.own, 'api-0.pid'), '4\n');
    await running('api.pid');
    expect(statSync(join(folders.own, 'api-0.pid'))).toMatchObject(NOBODY);
    expect(readFileSync(join(folders.own, 'api-0.pid'), 'utf8')).toBe('1000\n');
    expect(readdirSync(folders.own)).toEqual(['api-0.pid']);
  });

  test("the pid file stays root's own in a folder that only root can change", async () => {
    await running(join(folders.open, 'api.pid'));
    expect(lstatSync(join(folders.open, 'api-0.pid'))).toMatchObject({ uid: 0, gid: 0, mode: 0o100644 });
    await stopped();
    expect(existsSync(join(folders.open, 'api-0.pid'))).toBe(false);
  });

  test('the pid file may be behind a link of root in a folder that only root can change', async () => {
    symlinkSync(join(folders.open, 'other.pid'), join(folders.open, 'link-0.pid'));
    await running(join(folders.open, 'link.pid'));
    expect(readFileSync(join(folders.open, 'other.pid'), 'utf8')).toBe('1000\n');
    await stopped();
    expect(readdirSync(folders.open).sort()).toEqual(['link-0.pid']);
    expect(events).toEqual([]);
  });

  test('the pid file is written as the user if a link of root leads to a folder of the user', async () => {
    symlinkSync(join(folders.own, 'api.pid'), join(folders.open, 'link-0.pid'));
    await running(join(folders.open, 'link.pid'));
    expect(statSync(join(folders.own, 'api.pid'))).toMatchObject({ ...NOBODY, mode: 0o100644 });
    await stopped();
    expect(readdirSync(folders.own)).toEqual([]);
    expect(lstatSync(join(folders.open, 'link-0.pid')).isSymbolicLink()).toBe(true);
  });

  const LINK = 'it is a link, which the user of the app could point anywhere';
  const OTHER = 'its content is not a pid';
  test.each([
    ['a link to a pid of root', LINK, (path) => symlinkSync(join(folders.closed, 'number'), path)],
    ['a link to an empty file of root', LINK, (path) => symlinkSync(emptyFile(), path)],
    ['a link to nothing', LINK, (path) => symlinkSync(join(folders.closed, 'new'), path)],
    ['a link to a device', LINK, (path) => symlinkSync('/dev/zero', path)],
    ['a named pipe', OTHER, (path) => execFileSync('mkfifo', [path])],
    ['a folder', OTHER, (path) => mkdirSync(path)],
    ['a huge file', OTHER, (path) => (writeFileSync(path, ''), truncateSync(path, 1024 ** 3))],
  ])('the pid file of an app with another user is not written over %s', async (_, message, make) => {
    const path = folders.plant('api-0.pid', make);
    const before = [folders.closedNames(), lstatSync(path).ino];
    await running('api.pid');
    await boot();
    await rig.turn(100);
    expect(events).toMatchObject([{ event: 'pid-file-failed', path, message }, { message }]);
    expect(await rig.list()).toMatchObject([{ status: 'online' }]);
    await stopped();
    expect([folders.closedNames(), lstatSync(path).ino]).toEqual(before);
    expectUntouched();
  });

  test.each(['api.pid', 'new/api.pid'])('the pid file is not written via a link to a folder, as %s', async (name) => {
    folders.plant('run', (path) => symlinkSync(folders.closed, path));
    const before = folders.closedNames();
    await running(`run/${name}`);
    expect(events).toMatchObject([
      { event: 'pid-file-failed', message: expect.stringMatching(/^as user 65534: EACCES: permission denied/) },
    ]);
    expect(folders.closedNames()).toEqual(before);
  });

  test('the pid file is not removed from a folder that replaced its own', async () => {
    await running('run/number');
    renameSync(join(folders.own, 'run'), join(folders.own, 'away'));
    folders.plant('run', (path) => symlinkSync(folders.closed, path));
    writeFileSync(join(folders.closed, 'number'), '1000\n');
    await stopped();
    expect(readFileSync(join(folders.closed, 'number'), 'utf8')).toBe('1000\n');
  });
});

function emptyFile() {
  const path = join(folders.closed, 'nothing');
  writeFileSync(path, '', { mode: 0o600 });
  return path;
}

function expectUntouched() {
  expect(readFileSync(join(folders.closed, 'number'), 'utf8')).toBe('12345\n');
  expect(readFileSync(join(folders.closed, 'secret'), 'utf8')).toBe(`${SECRET}\n`);
  expect(readFileSync(join(folders.closed, 'nothing'), { encoding: 'utf8', flag: 'a+' })).toBe('');
}
