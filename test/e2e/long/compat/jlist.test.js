import { execFileSync } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { runInNewContext } from 'node:vm';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { takePort } from '../../../helpers/ports.js';
import { openSandbox } from '../../../helpers/sandbox.js';
import { printed } from './expected.js';

const isInstalled = (name) => (process.env.PATH ?? '').split(':').some((folder) => existsSync(join(folder, name)));

const hasGit = isInstalled('git');
const hasPython = isInstalled('python3') || isInstalled('python');

// These tests only read, so they share a home.
let home;
let jlist;

beforeAll(async () => {
  home = openSandbox();
  for (const fixture of ['http-echo', 'keeps-alive', 'python']) home.place(fixture);
  const [one, two, three] = [await takePort(), await takePort(), await takePort()];
  writeFileSync(join(home.work, 'package.json'), '{"version":"3.2.1"}');
  writeFileSync(
    join(home.work, 'ecosystem.config.js'),
    `module.exports = ${JSON.stringify({
      apps: [
        {
          name: 'api',
          script: './http-echo.js',
          env: { PORT: one, COLOUR: 'green' },
          env_production: { NODE_ENV: 'production' },
          args: '--x "a b"',
          node_args: '--no-warnings',
        },
        {
          name: 'web',
          script: './http-echo.js',
          instances: 2,
          port: two,
          namespace: 'front',
          max_memory_restart: '300M',
          cron_restart: '0 3 * * *',
          kill_timeout: 3000,
          listen_timeout: 4000,
          max_restarts: 5,
          min_uptime: '2s',
          restart_delay: 50,
          exp_backoff_restart_delay: 200,
          stop_exit_codes: [3],
          watch: ['lib'],
          ignore_watch: ['node_modules'],
          watch_delay: 300,
          log_type: 'json',
          log_date_format: 'HH:mm',
          log_file: 'all.log',
          shutdown_with_message: true,
          increment_var: 'SEED',
          env: { SEED: 100 },
          instance_var: 'WORKER',
          filter_env: ['AWS'],
          treekill: false,
          merge_logs: true,
          autorestart: true,
        },
        { name: 'idle', script: './keeps-alive.js', autostart: false, autorestart: false },
        ...(hasPython ? [{ name: 'py', script: './python.py', env: { PORT: three } }] : []),
      ],
    })}`,
  );
  if (hasGit)
    for (const words of [
      ['init', '-q', '-b', 'main'],
      ['remote', 'add', 'origin', 'https://deploy:hunter2@example.com/api.git'],
      ['add', '.'],
      ['-c', 'user.name=A', '-c', 'user.email=a@example.com', 'commit', '-q', '-m', 'first'],
    ])
      execFileSync('git', words, { cwd: home.work });
  const started = await home.nclust('start', '--env', 'production');
  if (started.exitStatus !== 0) throw new Error(started.stderr);
  // Git runs beside the start.
  await home.waitFor('the facts from git', async () => {
    jlist = await home.nclust('jlist');
    return !hasGit || processOf('api').pm2_env.versioning;
  });
}, 120_000);

afterAll(() => home.close());

const processOf = (name) => jlist.json().find((one) => one.name === name);

test.runIf(hasGit)('versioning shows the git facts of the checkout, without the password of its remote', () => {
  const head = execFileSync('git', ['rev-parse', 'HEAD'], { cwd: home.work, encoding: 'utf8' }).trim();
  expect(processOf('api').pm2_env.versioning).toMatchObject({
    type: 'git',
    url: 'https://example.com/api.git',
    revision: head,
    comment: 'first',
    unstaged: false,
    branch: 'main',
    remote: 'origin',
    repo_path: home.work,
  });
  expect(jlist.stdout).not.toContain('hunter2');
});

test('jlist prints one line of JSON and nothing else', () => {
  expect(jlist).toMatchObject(printed(/^\[\{.*\}\]\n$/));
  expect(jlist.stdout.trimEnd()).not.toContain('\n');
});

const LINE_UP = ['api', 'web', 'idle', ...(hasPython ? ['py'] : [])];

const text = expect.any(String);
const number = expect.any(Number);
const flag = expect.any(Boolean);
const list = expect.any(Array);

describe.each(LINE_UP)('the entry of %s', (name) => {
  test('the entry has every field that is always present, with its type', () => {
    expect(processOf(name)).toEqual({
      pid: number,
      name,
      pm_id: number,
      monit: { memory: number, cpu: number },
      pm2_env: expect.any(Object),
    });
    expect(processOf(name).pm2_env).toMatchObject({
      name,
      namespace: text,
      pm_id: number,
      unique_id: text,
      version: '3.2.1',
      username: text,
      instances: number,
      instance_var: text,
      [name === 'web' ? 'WORKER' : 'NODE_APP_INSTANCE']: number,
      pm_exec_path: expect.stringMatching(/^\//),
      pm_cwd: home.work,
      pm_out_log_path: expect.stringMatching(/^\//),
      pm_err_log_path: expect.stringMatching(/^\//),
      pm_pid_path: expect.stringMatching(/^\/.*\.pid$/),
      exec_interpreter: text,
      exec_mode: expect.stringMatching(/^(fork|cluster)_mode$/),
      node_args: list,
      args: list,
      status: text,
      pm_uptime: number,
      created_at: number,
      restart_time: 0,
      unstable_restarts: 0,
      vizion_running: false,
      autostart: flag,
      autorestart: flag,
      watch: expect.anything(),
      vizion: flag,
      pmx: flag,
      automation: flag,
      windowsHide: flag,
      km_link: flag,
      merge_logs: flag,
      treekill: flag,
      kill_timeout: number,
      kill_retry_time: number,
      wait_ready: flag,
      listen_timeout: number,
      min_uptime: number,
      max_restarts: number,
      restart_delay: number,
      exp_backoff_restart_delay: number,
      stop_exit_codes: list,
      env: expect.objectContaining({ PATH: text, name }),
      axm_actions: list,
      axm_monitor: expect.any(Object),
      axm_options: expect.any(Object),
      axm_dynamic: {},
    });
  });

  test('the entry has the variables of the app beside the attributes, and attributes take precedence', () => {
    const { env, ...attributes } = processOf(name).pm2_env;
    const hidden = ['name', 'pm_id', attributes.instance_var];
    for (const [key, value] of Object.entries(env)) if (!hidden.includes(key)) expect(attributes[key], key).toBe(value);
  });
});

test('a running app has a pid and a memory figure, and a stopped app has neither', () => {
  expect(processOf('api')).toMatchObject({
    pid: expect.any(Number),
    monit: { memory: expect.any(Number) },
    pm2_env: {
      status: 'online',
      node_version: process.version.slice(1),
      unique_id: expect.stringMatching(/^[\da-f-]{36}$/),
    },
  });
  expect(processOf('api').monit.memory).toBeGreaterThan(10e6);
  expect(Math.abs(Date.now() - processOf('api').pm2_env.pm_uptime)).toBeLessThan(600_000);
  expect(processOf('idle')).toMatchObject({
    pid: 0,
    monit: { memory: 0, cpu: 0 },
    pm2_env: { status: 'stopped', autostart: false, autorestart: false },
  });
});

test('settings have the values from the config file', () => {
  expect(processOf('api').pm2_env).toMatchObject({
    exec_mode: 'fork_mode',
    exec_interpreter: 'node',
    instances: 1,
    args: ['--x', 'a b'],
    node_args: ['--no-warnings'],
    COLOUR: 'green',
    NODE_ENV: 'production',
    env: { COLOUR: 'green', NODE_ENV: 'production' },
  });
  expect(processOf('web').pm2_env).toMatchObject({
    exec_mode: 'cluster_mode',
    instances: 2,
    namespace: 'front',
    max_memory_restart: 300 * 1024 ** 2,
    cron_restart: '0 3 * * *',
    kill_timeout: 3000,
    listen_timeout: 4000,
    max_restarts: 5,
    min_uptime: 2000,
    restart_delay: 50,
    exp_backoff_restart_delay: 200,
    stop_exit_codes: [3],
    watch: ['lib'],
    ignore_watch: ['node_modules'],
    watch_delay: 300,
    log_type: 'json',
    log_date_format: 'HH:mm',
    pm_log_path: join(home.work, 'all.log'),
    shutdown_with_message: true,
    increment_var: 'SEED',
    SEED: 100,
    instance_var: 'WORKER',
    WORKER: 0,
    filter_env: ['AWS'],
    treekill: false,
    merge_logs: true,
  });
  const absent = [
    'max_memory_restart',
    'cron_restart',
    'ignore_watch',
    'watch_delay',
    'log_type',
    'log_date_format',
    'pm_log_path',
    'shutdown_with_message',
    'increment_var',
    'filter_env',
    'exit_code',
    'WORKER',
  ];
  expect(processOf('web').pm2_env).not.toHaveProperty('NODE_APP_INSTANCE');
  for (const name of absent) expect(processOf('api').pm2_env, name).not.toHaveProperty(name);
});

test.runIf(hasPython)('a Python app has the same fields as other apps', () => {
  expect(processOf('py')).toMatchObject({
    pid: expect.any(Number),
    pm2_env: {
      exec_mode: 'fork_mode',
      exec_interpreter: expect.stringMatching(/^python3?$/),
      PYTHONUNBUFFERED: '1',
      status: 'online',
    },
  });
});

test('prettylist has the same fields and values, but is not JSON', async () => {
  const result = await home.nclust('prettylist');
  expect(result).toMatchObject(printed(/^\[\n/));
  expect(() => JSON.parse(result.stdout)).toThrow();
  const shown = runInNewContext(`(${result.stdout})`);
  const settled = (processes) => processes.map(({ monit: _, ...rest }) => rest);
  expect(JSON.parse(JSON.stringify(settled(shown)))).toEqual(settled(jlist.json()));
});

/** Each row: a jq filter, the same filter in JavaScript, and a check of the result. */
const ONE_LINERS = [
  ['[.[].name]', (all) => all.map(({ name }) => name), (found) => [...new Set(found)].join() === LINE_UP.join()],
  [
    '[.[] | select(.pm2_env.status != "online") | .name]',
    (all) => all.filter(({ pm2_env: env }) => env.status !== 'online').map(({ name }) => name),
    (found) => found.join() === 'idle',
  ],
  [
    '[.[] | select(.pm2_env.status == "online")] | length',
    (all) => all.filter(({ pm2_env: env }) => env.status === 'online').length,
    (found) => found === LINE_UP.length,
  ],
  [
    '[.[] | select(.name == "web") | .pid]',
    (all) => all.filter(({ name }) => name === 'web').map(({ pid }) => pid),
    (found) => found.length === 2 && found.every((pid) => pid > 0),
  ],
  ['map(.monit.memory) | add', (all) => all.reduce((sum, { monit }) => sum + monit.memory, 0), (found) => found > 30e6],
  [
    'map(.monit.cpu) | add | . >= 0',
    (all) => all.reduce((sum, { monit }) => sum + monit.cpu, 0) >= 0,
    (found) => found,
  ],
  [
    'map(.pm2_env.restart_time) | max',
    (all) => Math.max(...all.map(({ pm2_env: env }) => env.restart_time)),
    (found) => found === 0,
  ],
  [
    '[.[] | select(.pid > 0) | (now * 1000 - .pm2_env.pm_uptime) / 1000 | . > 0 and . < 600] | all',
    (all) =>
      all
        .filter(({ pid }) => pid > 0)
        .every(({ pm2_env: env }) => Date.now() - env.pm_uptime > 0 && Date.now() - env.pm_uptime < 600_000),
    (found) => found,
  ],
  [
    '[.[] | .pm2_env.created_at > 1.5e12] | all',
    (all) => all.every(({ pm2_env: env }) => env.created_at > 1.5e12),
    (found) => found,
  ],
  [
    '[.[] | select(.pm2_env.exec_mode == "cluster_mode") | .pm_id]',
    (all) => all.filter(({ pm2_env: env }) => env.exec_mode === 'cluster_mode').map(({ pm_id: id }) => id),
    (found) => found.join() === '1,2',
  ],
  ['.[0].pm2_env.env.COLOUR', (all) => all[0].pm2_env.env.COLOUR, (found) => found === 'green'],
  [
    'group_by(.name) | map({(.[0].name): length}) | add',
    (all) => all.reduce((counts, { name }) => ({ ...counts, [name]: (counts[name] ?? 0) + 1 }), {}),
    (found) => found.web === 2 && found.api === 1,
  ],
  [
    '[.[] | "\\(.pm_id)|\\(.name)|\\(.pm2_env.pm_out_log_path)"]',
    (all) => all.map(({ pm_id: id, name, pm2_env: env }) => `${id}|${name}|${env.pm_out_log_path}`),
    (found) => found[0] === `0|api|${home.home}/logs/api-out.log`,
  ],
  [
    'any(.[]; .name == "api" and .pm2_env.status == "online")',
    (all) => all.some(({ name, pm2_env: env }) => name === 'api' && env.status === 'online'),
    (found) => found,
  ],
];

test.each(ONE_LINERS)('a script that reads %s gets the right answer', (filter, code, isWanted) => {
  const found = code(jlist.json());
  expect(isWanted(found), JSON.stringify(found)).toBe(true);
  if (isInstalled('jq'))
    expect(JSON.parse(execFileSync('jq', ['-c', filter], { input: jlist.stdout, encoding: 'utf8' }))).toEqual(found);
});
