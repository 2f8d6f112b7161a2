import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { isRunning } from '../../../helpers/processes.js';
import { sandbox } from '../../../helpers/sandbox.js';
import { changed, printed, QUICK, refused } from './expected.js';

const statuses = async (home) => (await home.list()).map(({ name, status }) => `${name} ${status}`);

const pids = async (home) => (await home.list()).map(({ pid }) => pid);

test('start, stop, restart, reload, scale, reset, delete, del take names, ids, namespaces and patterns', async () => {
  const home = await sandbox();
  home.place('keeps-alive');
  expect(await home.nclust('start', 'keeps-alive.js', '--name', 'one', '-i', '2', ...QUICK)).toMatchObject(
    changed('Started "one" (2 instances).'),
  );
  expect(
    await home.nclust('start', './keeps-alive.js', '--name', 'two', '--namespace', 'jobs', ...QUICK),
  ).toMatchObject(changed('Started "two".'));
  const first = await pids(home);
  expect(first.every(isRunning)).toBe(true);
  expect(await home.nclust('start', 'keeps-alive.js', '--name', 'two', ...QUICK)).toMatchObject(
    refused(1, `"keeps-alive.js" runs already, as "two".`),
  );

  expect(await home.nclust('stop', '0', 'jobs')).toMatchObject(changed('Stopped "one", "two".'));
  expect(await statuses(home)).toEqual(['one stopped', 'one online', 'two stopped']);
  expect(first.map(isRunning)).toEqual([false, true, false]);
  expect(await home.nclust('start', 'one', 'two')).toMatchObject(changed('Started "one" (2 instances), "two".'));
  const second = await pids(home);

  expect(await home.nclust('restart', './keeps-alive.js')).toMatchObject(
    changed('Restarted "one" (2 instances), "two".'),
  );
  expect(await home.nclust('reload', '/^on/')).toMatchObject(changed('Reloaded "one" (2 instances).'));
  expect(second.some(isRunning)).toBe(false);
  expect((await home.list()).map(({ restarts }) => restarts > 0)).toEqual([true, true, true]);
  expect(await home.nclust('reset', 'all')).toMatchObject(changed('Reset the counters of "one" (2 instances), "two".'));
  expect((await home.list()).map(({ restarts }) => restarts)).toEqual([0, 0, 0]);

  expect(await home.nclust('scale', 'one', '3')).toMatchObject(changed('Scaled "one" (3 instances).'));
  expect(await home.nclust('scale', 'one', '+1')).toMatchObject(changed('Scaled "one" (4 instances).'));
  expect(await home.nclust('scale', 'one', '-3')).toMatchObject(changed('Scaled "one".'));
  expect(await statuses(home)).toEqual(['one online', 'two online']);

  expect(await home.nclust('delete', 'one')).toMatchObject(changed('Deleted "one".'));
  expect(await home.nclust('del', 'jobs')).toMatchObject(changed('Deleted "two".'));
  expect(await home.list()).toEqual([]);
});

test('sendSignal sends a signal to each instance, and pid prints the pids', async () => {
  const home = await sandbox();
  const code = 'process.on("SIGUSR2", () => say("heard it")); setInterval(() => {}, 1e6);';
  await home.nclust('start', home.place('runs-code'), '--name', 'ears', '-i', '2', ...QUICK, { env: { CODE: code } });
  expect(await home.nclust('sendSignal', 'SIGUSR2', 'ears')).toMatchObject(
    changed('Sent SIGUSR2 to "ears" (2 instances).'),
  );
  await home.waitFor('both instances to print that they got the signal', async () =>
    (await home.list()).every(({ outFile }) => readFileSync(outFile, 'utf8') === 'runs-code heard it\n'),
  );
  const [one, two] = await pids(home);
  for (const words of [[], ['ears']])
    expect(await home.nclust('pid', ...words)).toMatchObject(printed(`${one}\n${two}\n`));
  // The output is empty, because scripts understand empty output as "does not run".
  expect(await home.nclust('pid', 'mouth')).toMatchObject(printed(''));
});

test('startOrRestart, startOrReload and startOrGracefulReload take --only, --env and --update-env', async () => {
  const home = await sandbox();
  home.place('keeps-alive');
  const apps = ['api', 'worker'].map((name) => ({
    name,
    script: './keeps-alive.js',
    min_uptime: 100,
    env: { MODE: 'default' },
    env_production: { MODE: 'production' },
  }));
  writeFileSync(join(home.work, 'ecosystem.config.js'), `module.exports = ${JSON.stringify({ apps })}`);
  const mode = async (id) => (await home.nclust('env', String(id))).stdout.match(/^MODE: (.*)$/m)?.[1];
  expect(await home.nclust('startOrRestart', 'ecosystem.config.js', '--only', 'api')).toMatchObject(
    changed('Restarted "api".'),
  );
  expect(await mode(0)).toBe('default');
  const [first] = await pids(home);
  expect(await home.nclust('startOrRestart', 'ecosystem.config.js', '--env', 'production')).toMatchObject(
    changed('Restarted "api", "worker".'),
  );
  expect([await mode(0), await mode(1)]).toEqual(['production', 'production']);
  for (const command of ['startOrReload', 'startOrGracefulReload']) {
    const before = await pids(home);
    expect(await home.nclust(command, 'ecosystem.config.js', '--only', 'worker', '--update-env')).toMatchObject(
      changed('Reloaded "worker".'),
    );
    const after = await pids(home);
    expect([after[0] === before[0], after[1] === before[1]]).toEqual([true, false]);
  }
  expect(isRunning(first)).toBe(false);
  expect(await home.nclust('startOrReload', 'nowhere.config.js')).toMatchObject(refused(1, 'There is no file'));
});

test('each command with an unknown target exits 1, names the target, and changes nothing', async () => {
  const home = await sandbox();
  await home.nclust('start', home.place('keeps-alive'), '--name', 'one', ...QUICK);
  const [pid] = await pids(home);
  const commands = [
    ['stop', 'oen'],
    ['restart', 'oen'],
    ['reload', 'oen'],
    ['delete', 'oen'],
    ['reset', 'oen'],
    ['scale', 'oen', '2'],
    ['sendSignal', 'SIGUSR2', 'oen'],
    ['describe', 'oen'],
    ['env', '7'],
    ['logs', 'oen', '--nostream'],
    ['flush', 'oen'],
  ];
  const results = await Promise.all(commands.map((words) => home.nclust(...words)));
  for (const [at, result] of results.entries())
    expect(result, commands[at].join(' ')).toMatchObject(
      refused(1, /^nclust: There is no app.* in the list\..*\nnext: /),
    );
  expect(await pids(home)).toEqual([pid]);
  expect(await home.nclust('scale', 'one', '0')).toMatchObject(
    refused(2, 'Scaling by "0" from 1 would leave 0 instances'),
  );
});

test('commands accept --force, --parallel and the other PM2 flags that nclust does not need', async () => {
  const home = await sandbox();
  home.place('keeps-alive');
  const start = (...flags) => home.nclust('start', 'keeps-alive.js', '--name', 'one', ...QUICK, ...flags);
  expect(await start('--parallel', '4')).toMatchObject(
    changed('--parallel is not needed: nclust starts as many processes at once as the machine allows.\nStarted "one".'),
  );
  expect(await start('-f')).toMatchObject(changed('Started "one".'));
  expect(await statuses(home)).toEqual(['one online', 'one online']);
  const notices =
    '--parallel is not needed: nclust starts as many processes at once as the machine allows.\n--force is not ' +
    'needed: it is done anyway.\n';
  for (const [command, sentence] of [
    ['restart', 'Restarted'],
    ['reload', 'Reloaded'],
    ['stop', 'Stopped'],
    ['delete', 'Deleted'],
  ]) {
    expect(await home.nclust(command, 'one', '--force', '--parallel', '2')).toMatchObject(
      changed(`${notices}${sentence} "one" (2 instances).`),
    );
  }
});

test('options of restart and reload become settings of the app', async () => {
  const home = await sandbox();
  await home.nclust('start', home.place('keeps-alive'), '--name', 'one', '-i', '2', ...QUICK);
  const settings = async () => (await home.nclust('jlist')).json()[0].pm2_env;
  const flags = ['--kill-timeout', '3333', '--max-restarts', '7', '--no-autorestart', '--stop-exit-codes', '3,4'];
  expect(await home.nclust('restart', 'one', ...flags)).toMatchObject(changed('Restarted "one" (2 instances).'));
  expect(await settings()).toMatchObject({
    kill_timeout: 3333,
    max_restarts: 7,
    autorestart: false,
    stop_exit_codes: [3, 4],
    listen_timeout: 10_000,
  });
  expect(
    await home.nclust(
      'reload',
      'one',
      '-k',
      '4444',
      '--listen-timeout',
      '5000',
      '--max-memory-restart',
      '200M',
      '--no-treekill',
      '--namespace',
      'web',
    ),
  ).toMatchObject(changed('Reloaded "one" (2 instances).'));
  expect(await settings()).toMatchObject({
    kill_timeout: 4444,
    max_restarts: 7,
    listen_timeout: 5000,
    max_memory_restart: 200 * 1024 ** 2,
    treekill: false,
    namespace: 'web',
  });
  expect(await home.nclust('restart', 'one', '--kill-timeout', 'soon')).toMatchObject(
    refused(2, '--kill-timeout is "soon"; accepted: '),
  );
});
