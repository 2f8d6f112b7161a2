import { execFileSync } from 'node:child_process';
import {
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { createPidFiles, pidFilePath } from '../../../../daemon/control/status/pid-files.js';
import { createRig } from '../control-rig.js';

let rig;
let folder;
let pids;
let events;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'nclust-pids-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  pids = join(folder, 'pids');
  events = [];
  rig = createRig();
  await boot();
});

async function boot() {
  await rig.boot();
  const files = createPidFiles(rig.control.registry, {
    pids,
    managerLog: (event, fields) => events.push({ event, ...fields }),
  });
  files.sync();
  rig.control.follow(files.sync);
}

const written = () =>
  Object.fromEntries(
    (existsSync(pids) ? readdirSync(pids) : []).map((name) => [name, Number(readFileSync(join(pids, name), 'utf8'))]),
  );

async function running(fields = {}) {
  void rig.start({ cwd: folder, instances: 2, ...fields });
  await rig.turn(5_000);
}

test('each slot has a file while an instance runs in it', async () => {
  await running();
  expect(written()).toEqual({ 'api-0.pid': 1000, 'api-1.pid': 1001 });
  void rig.call('stop', { targets: ['0'] });
  await rig.turn(1_000);
  expect(written()).toEqual({ 'api-1.pid': 1001 });
  void rig.call('delete', { targets: ['api'] });
  await rig.turn(1_000);
  expect(written()).toEqual({});
});

test('the file has the pid of the serving process during a reload, after it, and after its failure', async () => {
  await running({ instances: 1 });
  void rig.call('reload', { targets: ['api'] });
  await rig.turn(500);
  expect([rig.keeper.alive.length, written()]).toEqual([2, { 'api-0.pid': 1000 }]);
  await rig.turn(5_000);
  expect(written()).toEqual({ 'api-0.pid': 1001 });
  rig.keeper.behave = () => ({ exitsAfterMs: 50, code: 1 });
  rig.call('reload', { targets: ['api'] }).catch(() => {});
  await rig.turn(5_000);
  expect(written()).toEqual({ 'api-0.pid': 1001 });
});

test('the file has the pid of the serving process, not of the parked one', async () => {
  await running({ instances: 1, rollbackWindowMs: 60_000 });
  void rig.call('reload', { targets: ['api'] });
  await rig.turn(5_000);
  expect([rig.keeper.alive.length, written()]).toEqual([2, { 'api-0.pid': 1001 }]);
});

test('the next control keeps correct files and removes stale ones', async () => {
  await running();
  writeFileSync(join(pids, 'gone-7.pid'), '4\n');
  await boot();
  await rig.turn(100);
  expect(written()).toEqual({ 'api-0.pid': 1000, 'api-1.pid': 1001 });
});

test('an app may choose its own file', async () => {
  await running({ instances: 1, mode: 'fork', pidFile: 'run/api.pid' });
  expect(readFileSync(join(folder, 'run/api-0.pid'), 'utf8')).toBe('1000\n');
  void rig.call('stop', { targets: ['api'] });
  await rig.turn(1_000);
  expect(existsSync(join(folder, 'run/api-0.pid'))).toBe(false);
});

test.each(['missing', 'empty'])('a link stays, and only its target is made and removed (%s)', async (what) => {
  if (what === 'empty') writeFileSync(join(folder, 'target.pid'), '');
  symlinkSync('target.pid', join(folder, 'link-0.pid'));
  await running({ instances: 1, mode: 'fork', pidFile: 'link.pid' });
  expect(readFileSync(join(folder, 'target.pid'), 'utf8')).toBe('1000\n');
  void rig.call('stop', { targets: ['api'] });
  await rig.turn(1_000);
  expect([existsSync(join(folder, 'target.pid')), readlinkSync(join(folder, 'link-0.pid'))]).toEqual([
    false,
    'target.pid',
  ]);
});

test('a file with other content than a pid is not overwritten', async () => {
  writeFileSync(join(folder, 'app-0.js'), 'serve();');
  await running({ instances: 1, mode: 'fork', pidFile: 'app.js' });
  expect(readFileSync(join(folder, 'app-0.js'), 'utf8')).toBe('serve();');
  expect(events).toMatchObject([{ event: 'pid-file-failed', message: 'its content is not a pid' }]);
  expect(await rig.list()).toMatchObject([{ status: 'online' }]);
});

const OTHER = 'its content is not a pid';
const LINK = 'it is a link, but not to a file';
test.each([
  ['a named pipe', OTHER, (path) => execFileSync('mkfifo', [path])],
  ['a device that never ends', LINK, (path) => symlinkSync('/dev/zero', path)],
  ['a link to itself', LINK, (path) => symlinkSync('taken-0', path)],
  ['a huge file', OTHER, (path) => truncateSync(closed(path), 3 * 1024 ** 3)],
])('%s in its place is not read, and left alone by this control and the next', async (_, message, make) => {
  make(join(folder, 'taken-0'));
  await running({ instances: 1, mode: 'fork', pidFile: 'taken' });
  await boot();
  await rig.turn(100);
  const reported = { event: 'pid-file-failed', message };
  expect(events).toMatchObject([reported, reported]);
  expect(readdirSync(folder)).toContain('taken-0');
  expect(await rig.list()).toMatchObject([{ status: 'online' }]);
});

function closed(path) {
  closeSync(openSync(path, 'w'));
  return path;
}

test('a folder in its place is reported, and does no harm', async () => {
  mkdirSync(join(folder, 'taken-0'));
  await running({ instances: 1, mode: 'fork', pidFile: 'taken' });
  expect(events).toMatchObject([{ event: 'pid-file-failed' }]);
});

test.each([
  [{}, '/h/pids/api-3.pid'],
  [{ name: 'a b/c' }, '/h/pids/a-b-c-3.pid'],
  [{ pidFile: '/run/api.pid' }, '/run/api-3.pid'],
  [{ pidFile: 'api.pid' }, '/srv/api-3.pid'],
  [{ pidFile: '/run.d/api' }, '/run.d/api-3'],
])('the spec %j has the file %s', (fields, path) => {
  expect(pidFilePath({ name: 'api', cwd: '/srv', pidFile: '', ...fields }, 3, '/h/pids')).toBe(path);
});
