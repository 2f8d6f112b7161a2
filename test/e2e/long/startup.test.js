import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  statSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, onTestFinished, test } from 'vitest';
import { killIfThere } from '../../helpers/processes.js';
import { runProgram } from '../../helpers/run-program.js';
import { nodeUnderTest, sandbox } from '../../helpers/sandbox.js';

const BIN = fileURLToPath(new URL('../../../bin/nclust.js', import.meta.url));
const NOBODY = 65534;
const isRoot = process.getuid?.() === 0;

/** @param {string} [says]  The fake systemctl prints this to stderr and fails. */
async function withSystemctl(says) {
  const home = await sandbox();
  const folder = join(home.work, 'bin');
  mkdirSync(folder);
  const calls = join(home.work, 'systemctl.calls');
  writeFileSync(
    join(folder, 'systemctl'),
    `#!/bin/sh\necho "$@" >> ${calls}\n${says === undefined ? '' : `echo "${says}" >&2; exit 1`}\n`,
  );
  chmodSync(join(folder, 'systemctl'), 0o755);
  home.env.PATH = `${folder}:${home.env.PATH}`;
  home.env.XDG_CONFIG_HOME = join(home.work, 'config');
  return {
    home,
    calls: () => (existsSync(calls) ? readFileSync(calls, 'utf8').trim().split('\n') : []),
    unit: join(home.work, 'config/systemd/user', 'nclust.service'),
  };
}

describe('startup --print', () => {
  test('startup --print shows the unit and the commands, and changes nothing', async () => {
    const { home, calls } = await withSystemctl();
    for (const flag of ['--print', '--dry-run']) {
      const result = await home.nclust('startup', 'systemd', '--service-name', 'nclust', flag);
      expect(result).toMatchObject({ exitStatus: 0, stderr: '' });
      expect(result.stdout).toMatch(/^# \/etc\/systemd\/system\/nclust\.service\n\[Unit\]$/m);
      expect(result.stdout).toMatch(/^# systemctl enable --now nclust$/m);
    }
    expect(calls()).toEqual([]);
    expect(existsSync(home.home)).toBe(false);
  });

  test('startup --print shows a unit that waits for the network with --wait-ip', async () => {
    const { home } = await withSystemctl();
    expect((await home.nclust('startup', 'ubuntu', '--print')).stdout).not.toContain('network-online');
    expect((await home.nclust('startup', 'ubuntu', '--print', '--wait-ip')).stdout).toMatch(
      /^After=network-online\.target$/m,
    );
  });

  test('startup --print shows the home of another user with --hp, and any home with --home', async () => {
    const { home } = await withSystemctl();
    expect((await home.nclust('startup', 'systemd', '--print', '--hp', '/home/deploy')).stdout).toContain(
      'ExecStart=/bin/sh /home/deploy/.nclust/launcher.sh daemon',
    );
    expect((await home.nclust('startup', 'systemd', '--print', '--home', '/srv/nclust')).stdout).toContain(
      'ExecStart=/bin/sh /srv/nclust/launcher.sh daemon',
    );
  });

  test.each(['macos', 'openrc', 'freebsd', 'openbsd'])('startup --print shows the service for %s', async (platform) => {
    const { home } = await withSystemctl();
    expect(await home.nclust('startup', platform, '--print')).toMatchObject({
      exitStatus: 0,
      stderr: '',
      stdout: expect.stringContaining('launcher.sh'),
    });
  });

  test('startup --print names an alternative if the platform has no service', async () => {
    const { home } = await withSystemctl();
    const result = await home.nclust('startup', 'upstart');
    expect(result).toMatchObject({ exitStatus: 1, stdout: '' });
    expect(result.stderr).toMatch(/no service for upstart.*@reboot \S+ \S+nclust\.js resurrect/s);
  });

  test('startup --print prints the same as JSON with --json', async () => {
    const { home } = await withSystemctl();
    const data = (await home.nclust('startup', 'systemd', '--print', '--json')).json();
    expect(data).toMatchObject({
      platform: 'systemd',
      done: 'shown',
      files: [{ path: join(home.home, 'launcher.sh') }, { path: expect.stringMatching(/^\/etc\/systemd\/system\//) }],
    });
  });
});

describe.runIf(isRoot)('a user other than root', () => {
  test.each(['startup', 'unstartup'])('a plain user gets the root command for %s, as in PM2', async (command) => {
    const { home, calls } = await withSystemctl();
    for (const folder of [dirname(home.work), home.work, join(home.work, 'bin')]) chmodSync(folder, 0o755);
    const result = await home.nclust(command, '--service-name', 'web', {
      uid: NOBODY,
      gid: NOBODY,
      env: { NCLUST_HOME: '/srv/web' },
    });
    expect(result.exitStatus).toBe(1);
    expect(result.stdout).toMatch(
      new RegExp(
        `^sudo env PATH="\\$PATH":${dirname(nodeUnderTest())} ${nodeUnderTest()} \\S+/bin/nclust\\.js ` +
          `${command} systemd -u nobody --hp ${dirname(home.work)} --home /srv/web --service-name web\n$`,
      ),
    );
    expect(result.stderr).toMatch(/[Rr]oot has to/);
    expect(calls()).toEqual([]);
  });
});

describe('a user service', () => {
  test('a user service is installed without root, kept by a second install, and removed by unstartup', async () => {
    const { home, calls, unit } = await withSystemctl();
    const install = () => home.nclust('startup', 'systemd', '--user-unit', '--service-name', 'nclust');
    const first = await install();
    expect(first).toMatchObject({ exitStatus: 0, stdout: '' });
    expect(first.stderr).toMatch(/loginctl enable-linger/);
    const text = readFileSync(unit, 'utf8');
    expect(await install()).toMatchObject({ exitStatus: 0 });
    expect(readFileSync(unit, 'utf8')).toBe(text);
    expect(calls()).toEqual(Array(2).fill(['--user daemon-reload', '--user enable --now nclust']).flat());
    expect(statSync(home.home).mode & 0o777).toBe(0o700);
    expect(statSync(join(home.home, 'launcher.sh')).mode & 0o777).toBe(0o600);

    const removed = await home.nclust('unstartup', 'systemd', '--user-unit', '--service-name', 'nclust');
    expect(removed).toMatchObject({ exitStatus: 0, stdout: '' });
    expect([existsSync(unit), existsSync(join(home.home, 'launcher.sh'))]).toEqual([false, false]);
    expect(calls().slice(4)).toEqual(['--user disable nclust', '--user daemon-reload']);
  });

  test('a user service that systemd refuses is reported with the message of systemd', async () => {
    const { home } = await withSystemctl('Failed to connect to bus');
    const result = await home.nclust('startup', 'systemd', '--user-unit');
    expect(result).toMatchObject({ exitStatus: 1, stdout: '' });
    expect(result.stderr).toMatch(/systemctl --user daemon-reload" failed: Failed to connect to bus/);
  });

  test('a user service cannot wait for the network, and does not exist for openrc', async () => {
    const { home } = await withSystemctl();
    expect(await home.nclust('startup', 'systemd', '--user-unit', '--wait-ip')).toMatchObject({
      exitStatus: 2,
      stdout: '',
    });
    expect(await home.nclust('startup', 'openrc', '--user-unit')).toMatchObject({ exitStatus: 2, stdout: '' });
  });

  test('a user service restores the apps after a reboot, on a newer Node.js if the old one is gone', async () => {
    const { home } = await withSystemctl();
    // The folder of a version manager, with two versions of Node.js.
    const versions = join(dirname(home.work), '.nvm/versions/node');
    const [old, next] = ['v20.0.0', 'v22.0.0'].map((version) => join(versions, version, 'bin/node'));
    for (const file of [old, next]) mkdirSync(dirname(file), { recursive: true });
    symlinkSync(nodeUnderTest(), old);
    const api = await home.app('http-echo', { name: 'api', instances: 2 });
    await home.app('keeps-alive', { name: 'worker', flags: ['--no-wait'] });
    await home.nclust('stop', 'worker');
    await home.nclust('startup', 'systemd', '--user-unit');
    process.kill((await home.daemon()).keeperPid, 'SIGTERM');
    await home.waitFor('all processes to exit', () => home.processes().length === 0);

    const launcher = join(home.home, 'launcher.sh');
    writeFileSync(launcher, readFileSync(launcher, 'utf8').replace(/^node=.*$/m, `node=${old}`));
    unlinkSync(old);
    symlinkSync(nodeUnderTest(), next);
    const booted = runProgram('/bin/sh', [launcher, 'daemon'], {
      cwd: '/',
      env: { PATH: '/usr/bin:/bin', HOME: dirname(home.work) },
      timeoutMs: 120_000,
    });
    onTestFinished(() => killIfThere(booted.child.pid));
    await home.waitFor('the app to be online', async () =>
      (await api.instances()).every(({ status }) => status === 'online'),
    );
    expect(await api.get()).toMatchObject({ slot: expect.any(String) });
    expect((await home.list()).map(({ name, status }) => `${name} ${status}`)).toEqual([
      'api online',
      'api online',
      'worker stopped',
    ]);
    booted.child.kill('SIGTERM');
    expect(await booted.done).toMatchObject({ exitStatus: 0 });
    expect(home.processes()).toEqual([]);
  });
});

test('an app starts on the Node.js of the manager if its own Node.js is gone', async () => {
  const home = await sandbox();
  const old = join(home.work, 'old/node');
  mkdirSync(dirname(old));
  copyFileSync(nodeUnderTest(), old);
  const script = home.place('http-echo');
  const started = await runProgram(old, [BIN, 'start', script, '--name', 'api'], {
    cwd: home.work,
    env: { ...home.env, PORT: '0' },
  }).done;
  expect(started, started.stderr).toMatchObject({ exitStatus: 0 });
  const pid = (await home.list())[0].pid;
  expect(readlinkSync(`/proc/${pid}/exe`)).toBe(old);
  process.kill((await home.daemon()).keeperPid, 'SIGTERM');
  await home.waitFor('all processes to exit', () => home.processes().length === 0);
  unlinkSync(old);
  await home.nclust('resurrect');
  const slot = await home.waitFor('the app to be online', async () =>
    (await home.list()).find(({ status }) => status === 'online'),
  );
  expect(readlinkSync(`/proc/${slot.pid}/exe`)).toBe(realpathSync(nodeUnderTest()));
  expect(await home.nclust('reload', 'api')).toMatchObject({ exitStatus: 0 });
});

describe('the saved list', () => {
  test('the saved list is emptied by cleardump, and running apps run on', async () => {
    const home = await sandbox();
    const app = await home.app('http-echo');
    const pids = await app.pids();
    await home.nclust('save');
    const cleared = await home.nclust('cleardump');
    expect(cleared).toMatchObject({ exitStatus: 0, stdout: `${join(home.home, 'dump.json')}\n` });
    expect(JSON.parse(readFileSync(join(home.home, 'dump.json'), 'utf8')).apps).toEqual([]);
    expect(JSON.parse(readFileSync(join(home.home, 'dump.json.bak'), 'utf8')).apps).toHaveLength(1);
    expect(await app.pids()).toEqual(pids);
    await home.nclust('delete', 'all');
    expect(await home.nclust('resurrect')).toMatchObject({ exitStatus: 0 });
    expect(await home.list()).toEqual([]);
  });

  test('the saved list restores a stopped app as stopped, and leaves listed apps alone', async () => {
    const home = await sandbox();
    await home.app('http-echo', { name: 'api' });
    await home.app('keeps-alive', { name: 'worker', flags: ['--no-wait'] });
    await home.nclust('stop', 'worker');
    await home.nclust('dump');
    await home.nclust('delete', 'worker');
    const [{ pid }] = await home.list();
    expect(await home.nclust('resurrect')).toMatchObject({ exitStatus: 0 });
    expect(await home.list()).toMatchObject([
      { name: 'api', pid, status: 'online' },
      { name: 'worker', status: 'stopped' },
    ]);
  });

  test('the saved list is not overwritten with an empty list without --force', async () => {
    const home = await sandbox();
    await home.app('http-echo');
    await home.nclust('save');
    await home.nclust('delete', 'all');
    expect(await home.nclust('save')).toMatchObject({ exitStatus: 1, stdout: '' });
    expect(await home.nclust('save', '--force')).toMatchObject({ exitStatus: 0 });
  });
});
