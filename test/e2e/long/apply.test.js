import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { createConfigFile } from '../../helpers/config-file.js';
import { NOTHING_LOST } from '../../helpers/ledger.js';
import { startLoad } from '../../helpers/load.js';
import { takePort } from '../../helpers/ports.js';
import { doRandomEdits } from '../../helpers/random-edits.js';
import { isRunning } from '../../helpers/processes.js';
import { sandbox } from '../../helpers/sandbox.js';
import { fetchOnce } from '../../helpers/sandbox-app.js';

const QUICK = { min_uptime: 100 };

const specOf = async (home, name) => (await home.nclust('describe', name, '--json')).json()[0].spec;

const pidsOf = async (home, name) => (await home.list()).filter((slot) => slot.name === name).map(({ pid }) => pid);

/** Each row: an attribute and its new value, the field and its new value, and the effect. */
const EDITS = [
  ['namespace', 'shop', 'namespace', 'shop', 'live'],
  ['autorestart', false, 'autorestart', false, 'live'],
  ['max_restarts', 3, 'maxRestarts', 3, 'live'],
  ['restart_delay', '50ms', 'restartDelayMs', 50, 'live'],
  ['exp_backoff_restart_delay', 200, 'backoffMs', 200, 'live'],
  ['min_uptime', 150, 'minUptimeMs', 150, 'live'],
  ['stop_exit_codes', [0, 3], 'stopExitCodes', [0, 3], 'live'],
  ['kill_timeout', '5s', 'killTimeoutMs', 5_000, 'live'],
  ['stop_signal', 'SIGTERM', 'stopSignal', 'SIGTERM', 'live'],
  ['listen_timeout', 9_000, 'listenTimeoutMs', 9_000, 'live'],
  ['treekill', false, 'treekill', false, 'live'],
  ['max_surge', 2, 'maxSurge', 2, 'live'],
  ['max_unavailable', 1, 'maxUnavailable', 1, 'live'],
  ['rollback_window', '1s', 'rollbackWindowMs', 1_000, 'live'],
  ['rollback_window', 0, 'rollbackWindowMs', 0, 'live'],
  ['shutdown_with_message', true, 'shutdownWithMessage', true, 'live'],
  ['shutdown_with_message', false, 'shutdownWithMessage', false, 'live'],
  ['log_type', 'json', 'logType', 'json', 'live'],
  ['log_date_format', 'YYYY', 'logDateFormat', 'YYYY', 'live'],
  ['log_max_size', '50M', 'logMaxSizeBytes', 50 * 1024 ** 2, 'live'],
  ['log_interval', 'daily', 'logInterval', 'daily', 'live'],
  ['log_max_files', 3, 'logMaxFiles', 3, 'live'],
  ['log_max_age', '7d', 'logMaxAgeMs', 7 * 86_400_000, 'live'],
  ['log_max_total', '1G', 'logMaxTotalBytes', 1024 ** 3, 'live'],
  ['log_compress', 'none', 'logCompress', 'none', 'live'],
  ['log_overflow', 'drop', 'logOverflow', 'drop', 'live'],
  ['log_rate_limit', '1M', 'logRateLimitBytes', 1024 ** 2, 'live'],
  ['log_ship', ['exec:cat'], 'logShip', ['exec:cat'], 'live'],
  ['log_ship', [], 'logShip', [], 'live'],
  ['merge_logs', true, 'mergeLogs', true, 'live'],
  ['log_file', 'all.log', 'logFile', 'WORK/all.log', 'live'],
  ['out_file', 'out.log', 'outFile', 'WORK/out.log', 'live'],
  ['error_file', 'err.log', 'errorFile', 'WORK/err.log', 'live'],
  ['disable_logs', true, 'disableLogs', true, 'live'],
  ['watch', ['lib'], 'watch', ['lib'], 'live'],
  ['ignore_watch', ['lib/tmp'], 'ignoreWatch', ['lib/tmp'], 'live'],
  ['watch', false, 'watch', [], 'live'],
  ['cron_restart', '0 3 * * *', 'cronRestart', '0 3 * * *', 'live'],
  ['max_memory_restart', '900M', 'maxMemoryBytes', 900 * 1024 ** 2, 'live'],
  ['autostart', false, 'autostart', false, 'live'],
  ['instances', 3, 'instances', 3, 'scale'],
  ['instances', 2, 'instances', 2, 'scale'],
  ['args', ['--fast', 'a b'], 'args', ['--fast', 'a b'], 'rollout'],
  ['node_args', '--trace-warnings', 'interpreterArgs', ['--trace-warnings'], 'rollout'],
  ['env', { PORT: 'PORT', COLOUR: 'red' }, 'env', { PORT: 'PORT', COLOUR: 'red' }, 'rollout'],
  ['env', { PORT: 'PORT' }, 'env', { PORT: 'PORT' }, 'rollout'],
  ['env_file', '.env', 'envFiles', ['.env'], 'rollout'],
  ['secrets', { TOKEN: { file: 'token' } }, 'secrets', { TOKEN: { file: 'token' } }, 'rollout'],
  ['instance_var', 'SLOT', 'instanceVar', 'SLOT', 'rollout'],
  ['increment_var', 'BASE', 'incrementVar', 'BASE', 'rollout'],
  ['filter_env', ['NOTHING'], 'filterEnv', ['NOTHING'], 'rollout'],
  ['scheduling', 'sticky', 'scheduling', 'sticky', 'rollout'],
  ['script', 'other.js', 'script', 'WORK/other.js', 'rollout'],
  ['instances', 1, 'instances', 1, 'scale'],
  ['exec_mode', 'fork', 'mode', 'fork', 'replace'],
];

const filledIn = (value, { work, port }) =>
  JSON.parse(
    JSON.stringify(value)
      .replaceAll('"PORT"}', `"${port}"}`)
      .replaceAll('"PORT":"PORT"', `"PORT":"${port}"`)
      .replaceAll('WORK', work),
  );

test(
  'apply changes each attribute to the value in the file, and replaces processes only if necessary',
  { timeout: 180_000 },
  async () => {
    const home = await sandbox();
    const port = await takePort();
    const script = home.place('http-echo');
    for (const [name, text] of [
      ['.env', 'BASE=7\n'],
      ['token', 'hush\n'],
      ['other.js', readFileSync(script)],
    ])
      writeFileSync(join(home.work, name), text);
    mkdirSync(join(home.work, 'lib'));
    const config = createConfigFile(home, [
      { name: 'api', script, instances: 2, ...QUICK, env: { PORT: String(port) } },
    ]);
    expect((await config.apply()).plan).toEqual([{ name: 'api', action: 'start', changes: [] }]);
    const wire = await home.wire();
    const look = async () => (await wire.request('list', { targets: ['api'], detail: true })).slots;
    let slots = await look();
    for (const [attribute, value, field, expected, action] of EDITS) {
      const before = slots.map(({ pid }) => pid);
      config.apps[0][attribute] = filledIn(value, { work: home.work, port });
      const { plan } = await config.apply();
      const where = `${attribute}: ${JSON.stringify(value)}`;
      expect([
        where,
        plan[0].action,
        [...new Set(plan[0].changes.map((change) => change.attribute.split('.')[0]))],
      ]).toEqual([where, action, [attribute]]);
      slots = await look();
      const after = slots.map(({ pid }) => pid);
      expect([where, slots[0].spec[field]]).toEqual([where, filledIn(expected, { work: home.work, port })]);
      const kept = before.filter((pid) => after.includes(pid) && isRunning(pid));
      expect([where, kept.length]).toEqual([
        where,
        action === 'live' || action === 'scale' ? Math.min(before.length, after.length) : 0,
      ]);
    }
    expect(await config.pending()).toEqual([]);
  },
);

describe('changes that apply makes to running processes', () => {
  test('a new out_file gets the output from then on, with no line lost or repeated', async () => {
    const home = await sandbox();
    const config = createConfigFile(home, [
      { name: 'ticks', script: home.place('ticks'), exec_mode: 'fork', out_file: 'a.log', ...QUICK },
    ]);
    await config.apply();
    const [pid] = await pidsOf(home, 'ticks');
    const lines = (file) => readFileSync(join(home.work, file), 'utf8').trimEnd().split('\n');
    await home.waitFor('lines in a.log', () => lines('a.log').length > 3);
    config.apps[0].out_file = 'b.log';
    await config.apply();
    await home.waitFor('lines in b.log', () => existsSync(join(home.work, 'b.log')) && lines('b.log').length > 3);
    const all = [...lines('a.log'), ...lines('b.log')];
    expect(new Set(all).size).toBe(all.length);
    expect(await pidsOf(home, 'ticks')).toEqual([pid]);
    expect((await home.nclust('logs', 'ticks', '--nostream', '--raw', '--lines', '2')).stdout).toContain(
      lines('b.log')[0].slice(0, 4),
    );
  });

  test('a new pid_file gets the pid, and the old file is removed', async () => {
    const home = await sandbox();
    const config = createConfigFile(home, [
      { name: 'quiet', script: home.place('keeps-alive'), exec_mode: 'fork', ...QUICK },
    ]);
    await config.apply();
    const [pid] = await pidsOf(home, 'quiet');
    config.apps[0].pid_file = 'quiet.pid';
    await config.apply();
    await home.waitFor(
      'the pid in its file',
      () => readFileSync(join(home.work, 'quiet-0.pid'), 'utf8') === `${pid}\n`,
    );
    expect([existsSync(join(home.home, 'pids', 'quiet-0.pid')), await pidsOf(home, 'quiet')]).toEqual([false, [pid]]);
  });

  test('a new kill_timeout holds for the running process', async () => {
    const home = await sandbox();
    const config = createConfigFile(home, [
      { name: 'stubborn', script: home.place('ignores-sigterm'), kill_timeout: '1h', stop_signal: 'SIGTERM', ...QUICK },
    ]);
    await config.apply();
    config.apps[0].kill_timeout = 200;
    await config.apply();
    expect(await home.nclust('stop', 'stubborn')).toMatchObject({ exitStatus: 0 });
  });
});

test('apply after a start with the same file does nothing, not even from another shell', async () => {
  const home = await sandbox();
  const port = await takePort();
  const config = createConfigFile(home, [
    { name: 'api', script: home.place('http-echo'), instances: 2, ...QUICK, env: { PORT: port } },
    { name: 'worker', script: home.place('keeps-alive'), args: 'a "b c"', time: true, ...QUICK },
  ]);
  expect(await home.nclust('start', config.path)).toMatchObject({ exitStatus: 0 });
  const before = (await home.list()).map(({ pid }) => pid);
  const result = await home.nclust('apply', config.path, { env: { COLOUR: 'blue' } });
  expect(result).toMatchObject({ exitStatus: 0, stderr: 'Nothing to do: 2 apps match the file.\n' });
  expect((await home.list()).map(({ pid }) => pid)).toEqual(before);
  expect(await home.nclust('diff', config.path, '--update-env', { env: { COLOUR: 'blue' } })).toMatchObject({
    exitStatus: 2,
    stdout: expect.stringContaining('shell.COLOUR: (not set) → blue'),
  });
});

test('apply prints its plan first; --dry-run and diff only print it, exit 0 or 2, and start no manager', async () => {
  const home = await sandbox();
  const config = createConfigFile(home, [
    { name: 'api', script: home.place('keeps-alive'), ...QUICK },
    { name: 'worker', script: home.place('keeps-alive'), ...QUICK, env: { API_TOKEN: 'one' } },
  ]);
  expect(await home.nclust('apply', '--dry-run')).toMatchObject({
    exitStatus: 2,
    stdout: `Plan for ${config.path}:\n  + api     start\n  + worker  start\n`,
    stderr: '',
  });
  expect(home.processes()).toEqual([]);
  expect(await home.nclust('apply')).toMatchObject({
    exitStatus: 0,
    stderr: `Plan for ${config.path}:\n  + api     start\n  + worker  start\nChanged "api", "worker".\n`,
    stdout: expect.stringMatching(/api.*online[^]*worker.*online/),
  });
  expect(await home.nclust('apply', '--dry-run')).toMatchObject({
    exitStatus: 0,
    stdout: 'Nothing to do: 2 apps match the file.\n',
  });
  Object.assign(config.apps[1], { env: { API_TOKEN: 'two' }, kill_timeout: 1_500 });
  config.write();
  expect(await home.nclust('diff')).toMatchObject({
    exitStatus: 2,
    stdout:
      `Plan for ${config.path}:\n  ~ worker  rollout\n      kill_timeout: 10s → 1.5s\n      ` +
      `env.API_TOKEN: *** → ***\n  1 app matches the file.\n`,
  });
  expect(await home.nclust('apply', '--dry-run', '--only', 'api')).toMatchObject({ exitStatus: 0 });
  expect(await home.nclust('apply', '--only', 'api', '--prune')).toMatchObject({
    exitStatus: 2,
    stderr: expect.stringContaining('--only and --prune'),
  });
  expect((await home.nclust('diff', '--json')).json()).toMatchObject({
    plan: [
      { name: 'api', action: 'none' },
      { name: 'worker', action: 'rollout' },
    ],
    left: [],
  });
});

test('apply reports an app that left the file, and --prune deletes only that app, even after resurrect', async () => {
  const home = await sandbox();
  const config = createConfigFile(home, [
    { name: 'api', script: home.place('keeps-alive'), ...QUICK },
    { name: 'old', script: home.place('keeps-alive'), ...QUICK },
  ]);
  await config.apply();
  await home.app('exits-by-itself', { name: 'mine', flags: ['--min-uptime', '100'] }).catch(() => {});
  config.apps.pop();
  config.write();
  expect(await home.nclust('apply')).toMatchObject({
    exitStatus: 0,
    stderr: expect.stringContaining('"old" came from this file, but is no longer in it; it stays.'),
  });
  await home.nclust('kill');
  await home.nclust('resurrect');
  expect(await home.nclust('apply', '--prune')).toMatchObject({
    exitStatus: 0,
    stderr: expect.stringMatching(/- old {2}delete[^]*Changed "old"\./),
  });
  expect((await home.list()).map(({ name }) => name)).toEqual(['api', 'mine']);
});

test('apply changes the other apps when one app fails, and exits 1', async () => {
  const home = await sandbox();
  const port = await takePort();
  const config = createConfigFile(home, [
    // Uses 10 s, because an app older than min_uptime is up even if it does not listen yet.
    { name: 'api', script: home.place('http-echo'), instances: 2, min_uptime: '10s', env: { PORT: String(port) } },
    { name: 'worker', script: home.place('keeps-alive'), ...QUICK },
  ]);
  await config.apply();
  const load = startLoad(`http://127.0.0.1:${port}`, { connections: 2, pauseMs: 10 });
  config.apps[0].script = home.place('crashes-at-boot');
  Object.assign(config.apps[1], { args: ['new'] });
  config.write();
  const result = await home.nclust('apply', config.path);
  expect(result.exitStatus).toBe(1);
  expect(result.stderr).toMatch(
    /1 of 2 apps failed\.\n {2}worker {2}done, 1 instance\n {2}api {5}failed: .*; the old instances still serve: gen/,
  );
  expect((await specOf(home, 'worker')).args).toEqual(['new']);
  expect(await load.stop()).toMatchObject(NOTHING_LOST);
  expect(await config.pending()).toMatchObject([{ name: 'api', action: 'rollout' }]);
});

test('apply moves the port between fork and cluster mode', async () => {
  const home = await sandbox();
  const port = await takePort();
  const config = createConfigFile(home, [
    { name: 'api', script: home.place('http-echo'), ...QUICK, min_uptime: '10s', env: { PORT: String(port) } },
  ]);
  await config.apply();
  for (const [mode, instances] of [
    ['cluster', 3],
    ['fork', 1],
  ]) {
    Object.assign(config.apps[0], { exec_mode: mode, instances });
    expect((await config.apply()).plan[0].action).toBe('replace');
    expect((await home.list()).map((slot) => [slot.mode, slot.status])).toEqual(
      Array(instances).fill([mode, 'online']),
    );
    expect(await fetchOnce(`http://127.0.0.1:${port}/`)).toMatchObject({ argv: [] });
  }
});

test.each([[20261]])(
  'apply follows random edits of a file of ten apps, and unedited apps lose no request (seed %d)',
  { timeout: 180_000 },
  async (seed) => {
    const home = await sandbox();
    const done = await doRandomEdits(home, { edits: 12, seed });
    expect(Object.values(done).reduce((sum, count) => sum + count, 0)).toBe(12);
  },
);
