import { expect, test } from 'vitest';
import { renderJlist, renderPrettylist, toPm2 } from '../../../../lib/render/jlist.js';
import { checkSpec } from '../../../../lib/app-spec/check.js';
import { death, slotStatus } from '../slots.js';

const spec = checkSpec({
  name: 'api',
  kind: 'node',
  mode: 'cluster',
  instances: 2,
  instancesGiven: true,
  file: '/usr/bin/node',
  script: '/srv/app.js',
  cwd: '/srv',
  env: { PORT: '80' },
  stopExitCodes: [3],
  maxRestarts: 5,
});

const slot = slotStatus({
  mode: 'cluster',
  spec,
  effectiveEnv: { PORT: '80', status: 'mine', name: 'api' },
  args: ['--flag'],
  interpreterArgs: ['--title=x'],
  cpu: 1.26,
  restarts: 2,
  unstableRestarts: 1,
});

test('a process has the shape that readers of pm2 jlist expect', () => {
  expect(toPm2(slot)).toEqual({
    pid: 4711,
    name: 'api',
    pm_id: 0,
    monit: { memory: 47_300_000, cpu: 1.3 },
    pm2_env: {
      PORT: '80',
      env: { PORT: '80', status: 'mine', name: 'api', unique_id: 'i-0' },
      name: 'api',
      namespace: 'default',
      pm_id: 0,
      unique_id: 'i-0',
      version: '1.2.3',
      username: 'root',
      instances: 2,
      instance_var: 'NODE_APP_INSTANCE',
      NODE_APP_INSTANCE: 0,
      pm_exec_path: '/srv/app.js',
      pm_cwd: '/srv',
      cwd: '/srv',
      pm_out_log_path: '/l/api-out.log',
      pm_err_log_path: '/l/api-error.log',
      pm_pid_path: '/h/pids/api-0.pid',
      exec_interpreter: 'node',
      exec_mode: 'cluster_mode',
      node_args: ['--title=x'],
      args: ['--flag'],
      status: 'online',
      pm_uptime: 1_000_000,
      created_at: 900_000,
      restart_time: 2,
      unstable_restarts: 1,
      node_version: '20.11.0',
      vizion_running: false,
      autostart: true,
      autorestart: true,
      watch: false,
      vizion: true,
      pmx: false,
      automation: false,
      km_link: false,
      windowsHide: true,
      kill_retry_time: 100,
      merge_logs: false,
      treekill: true,
      kill_timeout: 10_000,
      wait_ready: false,
      listen_timeout: 10_000,
      min_uptime: 1_000,
      max_restarts: 5,
      restart_delay: 0,
      exp_backoff_restart_delay: 100,
      stop_exit_codes: [3],
      axm_actions: [],
      axm_monitor: {},
      axm_options: {},
      axm_dynamic: {},
    },
  });
});

test('log attributes that were set have the names of PM2', () => {
  const given = {
    ...spec,
    logDateFormat: 'HH:mm',
    logType: 'json',
    disableLogs: true,
    mergeLogs: true,
  };
  expect(toPm2({ ...slot, spec: given, logFile: '/l/api.log' }).pm2_env).toMatchObject({
    pm_log_path: '/l/api.log',
    log_date_format: 'HH:mm',
    log_type: 'json',
    disable_logs: true,
    merge_logs: true,
  });
});

test('settings of variables and of the stop have the names of PM2, and are missing if not set', () => {
  const given = { ...spec, shutdownWithMessage: true, incrementVar: 'PORT', filterEnv: ['AWS'] };
  expect(toPm2({ ...slot, spec: given }).pm2_env).toMatchObject({
    shutdown_with_message: true,
    increment_var: 'PORT',
    filter_env: ['AWS'],
  });
  for (const name of ['shutdown_with_message', 'increment_var', 'filter_env'])
    expect(toPm2(slot).pm2_env).not.toHaveProperty(name);
});

test('a log file that is off is /dev/null', () => {
  expect(toPm2({ ...slot, outFile: '', errorFile: '' }).pm2_env).toMatchObject({
    pm_out_log_path: '/dev/null',
    pm_err_log_path: '/dev/null',
  });
});

test('versioning is present if git has data and vizion is on', () => {
  const versioning = {
    type: 'git',
    url: null,
    revision: 'abc',
    comment: 'x',
    unstaged: false,
    branch: 'main',
    remotes: [],
    remote: null,
    branch_exists_on_remote: false,
    ahead: false,
    next_rev: null,
    prev_rev: null,
    update_time: '2026-01-01T00:00:00.000Z',
    repo_path: '/srv',
  };
  expect(toPm2({ ...slot, spec: { ...spec, versioning } }).pm2_env.versioning).toEqual(versioning);
  expect(toPm2({ ...slot, spec: { ...spec, versioning, vizion: false } }).pm2_env).not.toHaveProperty('versioning');
  expect(toPm2(slot).pm2_env).not.toHaveProperty('versioning');
});

test('the number of the instance is in the variable of instance_var, and only there', () => {
  const other = toPm2({ ...slot, slot: 1, spec: { ...spec, instanceVar: 'WORKER' } }).pm2_env;
  expect(other).toMatchObject({ instance_var: 'WORKER', WORKER: 1 });
  expect(other).not.toHaveProperty('NODE_APP_INSTANCE');
  const env = { NODE_APP_INSTANCE: '' };
  expect(toPm2({ ...slot, spec: { ...spec, env }, effectiveEnv: env }).pm2_env).toMatchObject(env);
});

test('watch is false while nothing is watched, as in PM2', () => {
  const given = { ...spec, watch: ['src'] };
  const shown = (watching) => toPm2({ ...slot, spec: given, watching }).pm2_env.watch;
  expect([shown(true), shown(false)]).toEqual([['src'], false]);
  expect(toPm2({ ...slot, spec: { ...spec, watch: ['.'] }, watching: true }).pm2_env.watch).toBe(true);
});

test('an attribute wins over a variable of the same name', () => {
  expect(toPm2(slot).pm2_env.status).toBe('online');
});

test.each([
  [death({ code: 3 }), 3],
  [death({ code: null, signal: 'SIGKILL' }), 0],
])('the exit code of %j is %d', (lastDeath, exitCode) => {
  expect(toPm2({ ...slot, lastDeath }).pm2_env.exit_code).toBe(exitCode);
});

test('a stopped process has a start time', () => {
  expect(toPm2({ ...slot, pid: 0, startedAtMs: null, instanceId: null }).pm2_env).toMatchObject({
    pm_uptime: 900_000,
    unique_id: '',
  });
});

test.each([
  ['was given', { interpreterGiven: '/opt/node24/bin/node' }, '/opt/node24/bin/node'],
  ['was given by its name', { kind: 'exec', mode: 'fork', interpreterGiven: 'python3' }, 'python3'],
  ['was found for a Node program', {}, 'node'],
  ['was found for another program', { kind: 'exec', mode: 'fork' }, 'ruby'],
])('jlist shows an interpreter that %s as PM2 does', (_what, fields, shown) => {
  expect(toPm2({ ...slot, interpreter: '/usr/bin/ruby', spec: { ...spec, ...fields } }).pm2_env.exec_interpreter).toBe(
    shown,
  );
});

test('jlist is one line of JSON, and [] for an empty list', () => {
  expect(renderJlist({ slots: [] })).toBe('[]\n');
  const text = renderJlist({ slots: [slot, slot] });
  expect(text.trimEnd()).not.toContain('\n');
  expect(JSON.parse(text)).toHaveLength(2);
});

test('prettylist shows the same data at any depth', () => {
  expect(renderPrettylist({ slots: [slot] })).toContain("exec_mode: 'cluster_mode'");
  expect(renderPrettylist({ slots: [] })).toBe('[]\n');
});

test('numbers in env stay numbers, unless a secret or nclust has replaced them', () => {
  const given = { ...spec, env: { PORT: '80', TOKEN: '0', name: '5', ON: 'true' } };
  const { env } = toPm2({
    ...slot,
    spec: { ...given, envUnquoted: ['PORT', 'TOKEN', 'name', 'ON'] },
    effectiveEnv: { ...given.env, TOKEN: '***', name: 'api' },
  }).pm2_env;
  expect(env).toMatchObject({ PORT: 80, TOKEN: '***', name: 'api', ON: true });
});
