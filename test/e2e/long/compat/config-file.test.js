import { mkdirSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { sandbox } from '../../../helpers/sandbox.js';
import { untilTriggered, untilWatching } from '../../../helpers/triggers.js';
import { changed, QUICK, refused } from './expected.js';

const pids = async (home) => (await home.list()).map(({ pid }) => pid);

test('start, restart, reload, stop and delete take a config file, with --only and --env', async () => {
  const home = await sandbox();
  home.place('keeps-alive');
  const apps = ['api', 'worker'].map((name) => ({
    name,
    script: './keeps-alive.js',
    min_uptime: 100,
    env: { MODE: 'default' },
    env_staging: { MODE: 'staging' },
  }));
  writeFileSync(join(home.work, 'ecosystem.config.js'), `module.exports = ${JSON.stringify({ apps })};`);
  const mode = async (id) => (await home.nclust('env', String(id))).stdout.match(/^MODE: (.*)$/m)?.[1];

  expect(await home.nclust('start')).toMatchObject(changed('Started "api", "worker".'));
  const first = await pids(home);
  expect(await home.nclust('restart', 'ecosystem.config.js', '--only', 'worker', '--env', 'staging')).toMatchObject(
    changed('Restarted "worker".'),
  );
  const second = await pids(home);
  expect([second[0] === first[0], second[1] === first[1], await mode(0), await mode(1)]).toEqual([
    true,
    false,
    'default',
    'staging',
  ]);
  expect(await home.nclust('reload', 'ecosystem.config.js', '--only', 'api worker', '--env', 'staging')).toMatchObject(
    changed('Reloaded "api", "worker".'),
  );
  expect([await mode(0), await mode(1)]).toEqual(['staging', 'staging']);
  expect(await home.nclust('stop', 'ecosystem.config.js', '--only', 'api')).toMatchObject(changed('Stopped "api".'));
  expect((await home.list()).map(({ status }) => status)).toEqual(['stopped', 'online']);
  expect(await home.nclust('start', 'ecosystem.config.js', '--env', 'nowhere')).toMatchObject(
    refused(2, '--env is "nowhere"; accepted: "staging"'),
  );
  expect(await home.nclust('delete', 'ecosystem.config.js')).toMatchObject(changed('Deleted "api", "worker".'));
  for (const command of ['stop', 'delete'])
    expect(await home.nclust(command, 'ecosystem.config.js')).toMatchObject({
      exitStatus: 0,
      stderr: 'Not in the list: "api", "worker".\n',
    });
  expect(
    await home.nclust('start', '-', '--only', 'piped', {
      input:
        '{"apps": [{"name": "piped", "script": "./keeps-alive.js"}, {"name": "other", "script": "./keeps-alive.js"}]}',
    }),
  ).toMatchObject(changed('Started "piped".'));
  expect((await home.list()).map(({ name }) => name)).toEqual(['piped']);
});

test('--watch, --ignore-watch, --watch-delay and --ext select files; stop and restart take --watch too', async () => {
  const home = await sandbox();
  home.place('keeps-alive');
  mkdirSync(join(home.work, 'src'));
  const touch = (name, text = String(Math.random())) => writeFileSync(join(home.work, 'src', name), text);
  touch('a.js');
  expect(
    await home.nclust(
      'start',
      'keeps-alive.js',
      '--name',
      'one',
      '--watch',
      'src',
      '--ignore-watch',
      '*.tmp.js',
      '--watch-delay',
      '50ms',
      '--ext',
      'js,json',
      ...QUICK,
    ),
  ).toMatchObject(changed('Started "one".'));
  expect((await home.nclust('list')).stdout).toMatch(/│ one .*│ enabled +│/);
  await untilWatching(home, 'one');
  const [first] = await pids(home);
  touch('b.tmp.js');
  touch('c.css');
  utimesSync(join(home.work, 'src/a.js'), new Date(), new Date());
  touch('a.js');
  await untilTriggered(home, 'one', /^watch: .*a\.js/);
  await home.waitFor('a new process', async () => ![0, first].includes((await pids(home))[0]));

  const watching = async () => (await home.nclust('jlist')).json()[0].pm2_env.watch;
  expect(await home.nclust('stop', 'one', '--watch')).toMatchObject(changed('Stopped "one".'));
  expect(await watching()).toBe(false);
  expect(await home.nclust('restart', 'one', '--watch')).toMatchObject(changed('Restarted "one".'));
  expect(await watching()).toEqual(['src']);
  expect(await home.nclust('restart', 'one', '--watch')).toMatchObject(changed('Restarted "one".'));
  expect(await watching()).toBe(false);
  expect(await home.nclust('start', 'keeps-alive.js', '--name', 'two', '--watch', ...QUICK)).toMatchObject(
    changed('Started "two".'),
  );
  expect((await home.nclust('jlist')).json()[1].pm2_env.watch).toBe(true);
  expect(await home.nclust('start', 'one', '--watch')).toMatchObject(changed('Started "one".'));
  expect(await watching()).toBe(true);
  expect(await home.nclust('stop', 'one')).toMatchObject(changed('Stopped "one".'));
  expect(await watching()).toBe(false);
  expect(await home.nclust('start', 'one')).toMatchObject(changed('Started "one".'));
  expect(await watching()).toBe(true);
});

test('--attach follows the logs of the started app, and --silent leaves out messages', async () => {
  const home = await sandbox();
  home.place('keeps-alive');
  const attached = home.follow('start', 'keeps-alive.js', '--name', 'one', '--attach', ...QUICK);
  await home.waitFor('the first line of the app', () =>
    /│ one .*0\|one +\| keeps-alive \d+ is there\n$/s.test(attached.stdout()),
  );
  expect(attached.stderr()).toMatch(/^Started "one"\.\n/);
  attached.child.kill('SIGINT');
  await attached.done;
  expect(await home.list()).toMatchObject([{ name: 'one', status: 'online' }]);
  for (const words of [
    ['restart', 'one', '-s'],
    ['reload', 'one', '--silent'],
    ['-s', 'stop', 'one'],
  ])
    expect(await home.nclust(...words)).toMatchObject({ exitStatus: 0, stdout: '', stderr: '' });
  expect(await home.nclust('stop', 'two', '-s')).toMatchObject(refused(1, '"two"'));
  expect(await home.list()).toMatchObject([{ name: 'one', status: 'stopped' }]);
});
