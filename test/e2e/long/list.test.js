import { existsSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { sandbox } from '../../helpers/sandbox.js';

describe('read-only commands without a manager start none', () => {
  test.each([
    ['list', []],
    ['ls', []],
    ['status', []],
    ['jlist', []],
    ['prettylist', []],
    ['pid', []],
    ['id', ['x']],
    ['list', ['--json']],
    ['--version', []],
    ['--help', []],
  ])('%s %s exits 0', async (command, more) => {
    const home = await sandbox();
    expect(await home.nclust(command, ...more)).toMatchObject({ exitStatus: 0 });
    expect(home.processes()).toEqual([]);
  });

  test.each([
    ['describe', ['x']],
    ['env', ['0']],
    ['logs', ['x', '--nostream']],
    ['stop', ['x']],
    ['ping', []],
  ])('%s without a manager prints no result and exits 1 or 3', async (command, more) => {
    const home = await sandbox();
    const result = await home.nclust(command, ...more);
    expect([1, 3]).toContain(result.exitStatus);
    expect(result.stdout).toBe('');
    expect(home.processes()).toEqual([]);
    expect(existsSync(`${home.home}/nclust.sock`)).toBe(false);
  });

  test('jlist of a home that was never used prints JSON only', async () => {
    const home = await sandbox();
    expect(await home.nclust('jlist')).toMatchObject({
      exitStatus: 0,
      stdout: expect.stringMatching(/^\[\]\n?$/),
      stderr: '',
    });
  });
});

test('nclust without arguments prints its usage and exits 1, as in PM2', async () => {
  const home = await sandbox();
  const result = await home.nclust();
  expect(result.exitStatus).toBe(1);
  expect(result.stdout + result.stderr).toMatch(/usage/i);
});

test('jlist has the fields that scripts read from pm2 jlist', async () => {
  const home = await sandbox();
  const app = await home.app('http-echo', {
    name: 'api',
    instances: 2,
    env: { COLOUR: 'green' },
    args: ['--flag'],
    flags: ['--max-restarts', '5', '--kill-timeout', '3000'],
  });
  const list = (await home.nclust('jlist')).json();
  const pids = await app.pids();

  expect(list).toHaveLength(2);
  expect(list[0]).toMatchObject({
    pid: pids[0],
    name: 'api',
    pm_id: 0,
    monit: { memory: expect.any(Number), cpu: expect.any(Number) },
    pm2_env: {
      name: 'api',
      namespace: 'default',
      pm_id: 0,
      unique_id: expect.any(String),
      version: expect.any(String),
      username: expect.any(String),
      instances: 2,
      instance_var: 'NODE_APP_INSTANCE',
      NODE_APP_INSTANCE: 0,
      exec_mode: 'cluster_mode',
      exec_interpreter: expect.stringContaining('node'),
      pm_exec_path: app.script,
      pm_cwd: home.work,
      pm_out_log_path: `${home.home}/logs/api-out-0.log`,
      pm_err_log_path: `${home.home}/logs/api-error-0.log`,
      status: 'online',
      pm_uptime: expect.any(Number),
      created_at: expect.any(Number),
      restart_time: 0,
      unstable_restarts: 0,
      autorestart: true,
      watch: false,
      treekill: true,
      kill_timeout: 3000,
      max_restarts: 5,
      wait_ready: false,
      merge_logs: false,
      node_args: [],
      args: ['--flag'],
      node_version: expect.stringMatching(/^\d+\.\d+\.\d+/),
      COLOUR: 'green',
      env: expect.objectContaining({ COLOUR: 'green', PORT: String(app.port) }),
    },
  });
  expect(list[0].monit.memory).toBeGreaterThan(10_000_000);
  expect(list[1]).toMatchObject({ pid: pids[1], pm_id: 1, pm2_env: { NODE_APP_INSTANCE: 1 } });

  await home.nclust('stop', '1');
  const [, stopped] = (await home.nclust('jlist')).json();
  expect(stopped).toMatchObject({ pid: 0, monit: { memory: 0, cpu: 0 }, pm2_env: { status: 'stopped' } });
});

test('the table shows every app with its pid and status', async () => {
  const home = await sandbox();
  const app = await home.app('http-echo', { name: 'checkout', instances: 2 });
  const { stdout, stderr } = await home.nclust('list');
  expect(stderr).toBe('');
  for (const pid of await app.pids()) expect(stdout).toContain(String(pid));
  expect(stdout).toMatch(/checkout/);
  expect(stdout).toMatch(/online/);
  expect(stdout).toMatch(/cluster/);
  expect(stdout).not.toMatch(/\u001b/);
});

test('pid, id, ping and env print facts of the running app', async () => {
  const home = await sandbox();
  const app = await home.app('http-echo', { name: 'api', instances: 2, env: { SECRET_SAUCE: 'tarragon' } });
  const pids = await app.pids();
  expect((await home.nclust('pid', 'api')).stdout.trim().split('\n').map(Number)).toEqual(pids);
  expect(JSON.parse((await home.nclust('id', 'api')).stdout)).toEqual([0, 1]);
  expect((await home.nclust('ping')).exitStatus).toBe(0);
  expect((await home.nclust('env', '0')).stdout).toContain('SECRET_SAUCE: tarragon');
  expect((await home.nclust('env', '0', '--json')).json()).toMatchObject({ SECRET_SAUCE: 'tarragon' });
});

test('every command with output prints only JSON on stdout with --json', async () => {
  const home = await sandbox();
  await home.app('http-echo', { name: 'api', instances: 2 });
  const commands = [
    ['list'],
    ['describe', 'api'],
    ['pid', 'api'],
    ['id', 'api'],
    ['env', '0'],
    ['ping'],
    ['reset', 'api'],
    ['save'],
    ['scale', 'api', '1'],
    ['sendSignal', 'SIGCONT', 'api'],
    ['restart', 'api'],
    ['stop', 'api'],
    ['start', 'api'],
    ['resurrect'],
    ['delete', 'api'],
    ['kill'],
  ];
  for (const words of commands) {
    const result = await home.nclust(...words, '--json');
    expect(result, words.join(' ')).toMatchObject({ exitStatus: 0, stderr: '' });
    expect(result.json(), words.join(' ')).toBeDefined();
  }
});

test('sendSignal delivers the signal to the app', async () => {
  const home = await sandbox();
  const app = await home.app('names-the-signal', { flags: ['--min-uptime', '300', '--no-autorestart'] });
  expect(await home.nclust('sendSignal', 'SIGUSR2', app.name)).toMatchObject({ exitStatus: 0 });
  await home.waitFor('the app to be listed as stopped', async () => (await app.instances())[0].status === 'stopped');
  expect((await home.nclust('logs', app.name, '--nostream', '--raw')).stdout).toContain('got SIGUSR2');
  expect(await home.nclust('sendSignal', 'SIGNONE', app.name)).toMatchObject({ exitStatus: 2 });
});

test('save and resurrect restore running apps as running and stopped apps as stopped', async () => {
  const home = await sandbox();
  const app = await home.app('http-echo', { name: 'api', instances: 2 });
  await home.app('http-echo', { name: 'idle' });
  await home.nclust('stop', 'idle');
  expect(await home.nclust('save')).toMatchObject({ exitStatus: 0 });
  await home.nclust('delete', 'all');
  expect(await home.list()).toEqual([]);

  expect(await home.nclust('resurrect')).toMatchObject({ exitStatus: 0 });
  expect(await app.instances()).toMatchObject([{ status: 'online' }, { status: 'online' }]);
  expect((await home.list()).find((slot) => slot.name === 'idle')).toMatchObject({ status: 'stopped' });
  expect(await app.get()).toMatchObject({ pid: expect.any(Number) });
});

test('an empty list is not saved without --force', async () => {
  const home = await sandbox();
  await home.app('http-echo');
  await home.nclust('save');
  await home.nclust('delete', 'all');
  expect(await home.nclust('save')).toMatchObject({ exitStatus: 1 });
  expect(await home.nclust('save', '--force')).toMatchObject({ exitStatus: 0 });
});

test('an app that list shows as online answers requests', async () => {
  const home = await sandbox();
  const app = await home.app('http-echo', { instances: 2 });
  const [first] = await app.pids();
  process.kill(first, 'SIGKILL');
  await home.waitFor('both instances to be online again', async () =>
    (await app.instances()).every((slot) => slot.status === 'online' && slot.pid !== first),
  );
  expect(await app.get()).toMatchObject({ pid: expect.any(Number) });
});
