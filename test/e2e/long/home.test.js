import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { runProgram } from '../../helpers/run-program.js';
import { nodeUnderTest, openSandbox, sandbox } from '../../helpers/sandbox.js';

const NOBODY = 65534;
const isRoot = process.getuid?.() === 0;

describe('the home belongs to its owner only', () => {
  test('the home has mode 0700 and its files 0600', async () => {
    const home = await sandbox();
    await home.app('http-echo', { instances: 2 });
    await home.nclust('save');
    expect(statSync(home.home).mode & 0o777).toBe(0o700);
    for (const entry of readdirSync(home.home, { recursive: true, withFileTypes: true })) {
      const path = join(entry.parentPath, entry.name);
      expect(statSync(path).mode & 0o077, path).toBe(0);
    }
  });

  test.runIf(isRoot)('another user can neither connect to it nor read it', async () => {
    const home = await sandbox();
    chmodSync(dirname(home.work), 0o755);
    const app = await home.app('http-echo');
    const script = `
      const net = require('node:net'), fs = require('node:fs');
      const tried = { connect: null, list: null, state: null, log: null };
      for (const [key, path] of [['list', ''], ['state', '/state.json'], ['log', '/logs/http-echo-out.log']]) {
        try {
          key === 'list' ? fs.readdirSync(process.argv[1]) : fs.readFileSync(process.argv[1] + path);
          tried[key] = 'OPEN';
        } catch (error) { tried[key] = error.code; }
      }
      const socket = net.connect(process.argv[1] + '/nclust.sock');
      socket.on('connect', () => { tried.connect = 'OPEN'; done(); });
      socket.on('error', (error) => { tried.connect = error.code; done(); });
      const done = () => { console.log(JSON.stringify(tried)); process.exit(); };`;
    const stranger = await runProgram(nodeUnderTest(), ['-e', script, home.home], {
      env: { PATH: process.env.PATH },
      uid: NOBODY,
      gid: NOBODY,
    }).done;
    expect(stranger.json()).toEqual({ connect: 'EACCES', list: 'EACCES', state: 'EACCES', log: 'EACCES' });
    expect(await app.get()).toMatchObject({ slot: '0' });
  });

  test.runIf(isRoot)('a home of another user is refused', async () => {
    const home = await sandbox();
    mkdirSync(home.home);
    chownSync(home.home, NOBODY, NOBODY);
    const result = await home.nclust('start', home.place('keeps-alive'));
    expect(result).toMatchObject({ exitStatus: 1, stdout: '' });
    expect(result.stderr).toMatch(/belongs to/);
  });

  test.runIf(isRoot)('root gets a warning about a HOME of another user, and no home is created there', async () => {
    const home = await sandbox();
    const foreign = join(home.work, 'foreign');
    mkdirSync(foreign);
    chownSync(foreign, NOBODY, NOBODY);
    const env = { HOME: foreign, NCLUST_HOME: undefined };
    const listed = await home.nclust('list', { env });
    expect(listed.stderr).toMatch(/^HOME is "[^"]*foreign", which belongs to user 65534, and this is root\..*sudo -H/);
    const started = await home.nclust('start', home.place('keeps-alive'), { env });
    expect(started).toMatchObject({ exitStatus: 1, stdout: '' });
    expect(started.stderr).toMatch(/"[^"]*foreign" belongs to user 65534/);
    expect(readdirSync(foreign)).toEqual([]);
  });

  test('a folder with other files in it is not used as a home', async () => {
    const home = await sandbox();
    mkdirSync(home.home);
    chmodSync(home.home, 0o755);
    writeFileSync(join(home.home, 'thesis.txt'), 'mine');
    const result = await home.nclust('start', home.place('keeps-alive'));
    expect(result).toMatchObject({ exitStatus: 1, stdout: '' });
    expect(statSync(home.home).mode & 0o777).toBe(0o755);
    expect(readdirSync(home.home)).toEqual(['thesis.txt']);
  });

  test('a home that was opened to other users is closed at the next start', async () => {
    const home = await sandbox();
    await home.app('http-echo');
    await home.nclust('kill');
    chmodSync(home.home, 0o755);
    await home.app('http-echo');
    expect(statSync(home.home).mode & 0o777).toBe(0o700);
  });
});

describe('a home in a folder that other users may write to', () => {
  test('an unsafe home is refused with the command that fixes it, and works after that', async () => {
    const home = await sandbox();
    const open = join(home.work, 'open');
    mkdirSync(open);
    chmodSync(open, 0o777);
    const env = { NCLUST_HOME: join(open, 'home') };
    const result = await home.nclust('start', home.place('keeps-alive'), { env });
    expect(result).toMatchObject({ exitStatus: 1, stdout: '' });
    expect(result.stderr).toContain(`"${open}" can be written to by every user (mode 0777)`);
    expect(result.stderr).toContain(`Run: chmod o-w "${open}"`);
    expect(readdirSync(open)).toEqual([]);
    chmodSync(open, 0o755);
    expect(await home.nclust('start', home.place('keeps-alive'), { env })).toMatchObject({ exitStatus: 0 });
    expect(await home.nclust('kill', { env })).toMatchObject({ exitStatus: 0 });
  });

  test('an unsafe home is refused by the next control and the next keeper, and the app keeps serving', async () => {
    const home = await sandbox();
    const app = await home.app('http-echo');
    const pids = await app.pids();
    const folder = dirname(home.home);
    const journal = () => readFileSync(join(home.home, 'nclust.log'), 'utf8');
    for (const half of ['controlPid', 'keeperPid']) {
      const before = await home.daemon();
      chmodSync(folder, 0o777);
      const linesBefore = journal().split('is not safe').length;
      process.kill(before[half], 'SIGKILL');
      await home.waitFor('the refusal', () => journal().split('is not safe').length > linesBefore);
      expect(await app.get()).toMatchObject({ slot: '0' });
      if (half === 'controlPid') expect((await home.nclust('list')).stderr).toContain(`"${folder}" can be written to`);
      chmodSync(folder, 0o755);
      await home.waitFor('the next control or keeper', async () => (await home.daemon())[half] !== before[half]);
      if (half === 'controlPid') expect(await app.pids()).toEqual(pids);
    }
  });
});

test.runIf(isRoot)('a user without an account runs an app from a folder of a container image', async () => {
  const home = await sandbox();
  chmodSync(dirname(home.work), 0o755);
  const folder = join(home.work, 'image');
  mkdirSync(folder);
  chownSync(folder, 1001, 0);
  chmodSync(folder, 0o775);
  const as = { uid: 1_000_670_000, gid: 0, env: { HOME: folder, NCLUST_HOME: undefined } };
  const started = await home.nclust('start', home.place('keeps-alive'), as);
  expect(started).toMatchObject({ exitStatus: 0, stderr: expect.not.stringContaining('HOME is') });
  expect(statSync(join(folder, '.nclust'))).toMatchObject({ uid: as.uid });
  expect(await home.nclust('kill', as)).toMatchObject({ exitStatus: 0 });
});

describe('a home that cannot be used is reported at once', () => {
  test('a home below a file is reported at once', async () => {
    const home = await sandbox();
    const file = join(home.work, 'file');
    writeFileSync(file, '');
    const result = await home.nclust('start', home.place('keeps-alive'), { env: { NCLUST_HOME: join(file, 'home') } });
    expect(result).toMatchObject({ exitStatus: 1, stdout: '' });
    expect(result.stderr).toContain(join(file, 'home'));
  });

  test('a home that is a file is reported at once', async () => {
    const home = await sandbox();
    const file = join(home.work, 'file');
    writeFileSync(file, '');
    const result = await home.nclust('start', home.place('keeps-alive'), { env: { NCLUST_HOME: file } });
    expect(result).toMatchObject({ exitStatus: 1, stdout: '' });
    expect(result.stderr).toMatch(/not a directory/);
  });

  test.runIf(isRoot)('a home that is not writable is reported at once', async () => {
    const home = await sandbox();
    const root = dirname(home.work);
    chmodSync(root, 0o755);
    const script = home.place('keeps-alive');
    for (const command of [['start', script], ['list']]) {
      const result = await home.nclust(...command, { uid: NOBODY, gid: NOBODY });
      expect(result.durationMs).toBeLessThan(5_000);
      if (command[0] === 'list') continue;
      expect(result).toMatchObject({ exitStatus: 1, stdout: '' });
      expect(result.stderr).toContain(home.home);
    }
    expect(existsSync(home.home)).toBe(false);
  });

  test('a home whose path is too long for a socket is reported at once', async () => {
    const home = await sandbox();
    const long = join(home.work, 'x'.repeat(90));
    const result = await home.nclust('start', home.place('keeps-alive'), { env: { NCLUST_HOME: long } });
    expect(result).toMatchObject({ exitStatus: 1, stdout: '' });
    expect(result.stderr).toMatch(/too long/);
    expect(existsSync(long)).toBe(false);
  });
});

test('two homes have separate apps', async () => {
  const home = await sandbox();
  const other = openSandbox();
  try {
    await home.app('http-echo', { name: 'api' });
    expect((await other.nclust('jlist')).json()).toEqual([]);
    await other.app('http-echo', { name: 'api' });
    await other.nclust('delete', 'all');
    expect(await home.list()).toMatchObject([{ name: 'api', status: 'online' }]);
  } finally {
    await other.close();
  }
});

test.runIf(isRoot)('a full disk refuses a new app with a clear message, and running apps keep serving', () =>
  onSmallDisk(async (home, mount) => {
    const app = await home.app('http-echo');
    const before = await home.list();
    fill(mount);
    rmSync(join(mount, 'home/state.reserve'));
    fill(mount);

    const refused = await home.nclust('start', home.place('keeps-alive'));
    expect(refused).toMatchObject({ exitStatus: 1, stdout: '' });
    expect(refused.stderr).toMatch(/ENOSPC|no space|disk is full/i);
    expect(await home.list()).toMatchObject([{ pid: before[0].pid, status: 'online' }]);
    expect(await app.get()).toMatchObject({ pid: before[0].pid });

    rmSync(join(mount, 'ballast'));
    expect(await home.nclust('start', home.place('keeps-alive'), '--min-uptime', '200')).toMatchObject({
      exitStatus: 0,
    });
  }),
);

test.runIf(isRoot)(
  'apps can be stopped, started and deleted on a full disk, because a reserve file is kept for it',
  () =>
    onSmallDisk(async (home, mount) => {
      const app = await home.app('http-echo');
      fill(mount);
      for (const round of [1, 2, 3]) {
        expect([round, await home.nclust('stop', app.name)]).toMatchObject([round, { exitStatus: 0 }]);
        expect(await home.list()).toMatchObject([{ status: 'stopped' }]);
        expect([round, await home.nclust('start', app.name)]).toMatchObject([round, { exitStatus: 0 }]);
      }
      expect(await home.nclust('delete', app.name)).toMatchObject({ exitStatus: 0 });
      expect(await home.list()).toEqual([]);
    }),
);

test.runIf(isRoot)('apps can be stopped and deleted on a full disk even if the reserve file is gone', () =>
  onSmallDisk(async (home, mount) => {
    await home.app('keeps-alive', { name: 'one' });
    await home.app('keeps-alive', { name: 'two' });
    const takeAll = () => {
      rmSync(join(mount, 'home/state.reserve'), { force: true });
      fill(mount);
    };
    const endings = [
      ['stop', 'one'],
      ['delete', 'one'],
      ['stop', 'two'],
      ['delete', 'two'],
    ];
    for (const ending of endings) {
      takeAll();
      expect([ending, await home.nclust(...ending)]).toMatchObject([ending, { exitStatus: 0 }]);
    }
    expect(await home.list()).toEqual([]);
  }),
);

test.runIf(isRoot)('kill on a full disk ends everything and saves the list', () =>
  onSmallDisk(async (home, mount) => {
    await home.app('http-echo', { name: 'api' });
    rmSync(join(mount, 'home/state.reserve'));
    fill(mount);
    expect(await home.nclust('kill')).toMatchObject({ exitStatus: 0 });
    rmSync(join(mount, 'ballast'));
    expect(await home.nclust('start', home.place('keeps-alive'))).toMatchObject({ exitStatus: 0 });
    expect(await home.list()).toMatchObject([{ name: 'keeps-alive' }]);
    expect(await home.nclust('resurrect')).toMatchObject({ exitStatus: 0 });
    expect((await home.list()).map(({ name }) => name).sort()).toEqual(['api', 'keeps-alive']);
  }),
);

test.runIf(isRoot)('a manager that cannot start on a full disk reports why and exits', () =>
  onSmallDisk(async (home) => {
    const refused = await home.nclust('start', home.place('keeps-alive'));
    expect(refused).toMatchObject({ exitStatus: 1, stdout: '' });
    expect(refused.stderr).toMatch(/ENOSPC.*mkdir/);
    expect(await home.nclust('kill')).toMatchObject({
      exitStatus: 0,
      stderr: expect.stringContaining('nothing to stop'),
    });
  }, 'nr_inodes=8'),
);

/**
 * @param {(home: ReturnType<typeof openSandbox>, mount: string) => Promise<void>} body
 * @param {string} [limit]  A mount option of tmpfs.
 */
async function onSmallDisk(body, limit = 'size=1m') {
  const root = await sandbox();
  const mount = join(root.work, 'disk');
  mkdirSync(mount, { mode: 0o700 });
  execFileSync('mount', ['-t', 'tmpfs', '-o', `${limit},mode=0700`, 'tmpfs', mount]);
  const home = openSandbox({ home: join(mount, 'home') });
  try {
    await body(home, mount);
  } finally {
    try {
      await home.close();
    } finally {
      execFileSync('umount', ['--lazy', mount]);
    }
  }
}

function fill(folder) {
  for (const chunk of [64 * 1024, 4096, 512]) {
    try {
      for (;;) writeFileSync(join(folder, 'ballast'), Buffer.alloc(chunk, 'x'), { flag: 'a' });
    } catch {
      // Continues with the next size, because the disk has no space left for a chunk of this size.
    }
  }
}
