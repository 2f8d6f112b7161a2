import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { sandbox } from '../helpers/sandbox.js';

async function settings(home) {
  const slots = JSON.parse((await home.nclust('jlist')).stdout);
  return slots.map(({ name, pm2_env: env }) => [
    name,
    env.exec_mode,
    env.status,
    env.kill_timeout,
    env.COLOUR,
    env.args,
  ]);
}

const SET = ['-i', '2', '--kill-timeout', '3000', '--', '--fast'];
const BLUE = ['app', 'cluster_mode', 'online', 3000, 'blue', ['--fast']];

test('start of the script of a stopped app starts it with all its settings', async () => {
  const home = await sandbox();
  const script = home.place('keeps-alive', 'app.js');
  await home.nclust('start', script, ...SET, { env: { COLOUR: 'blue' } });
  await home.nclust('stop', 'app');
  const again = await home.nclust('start', 'app.js', { env: { COLOUR: 'red' } });
  expect(again).toMatchObject({ exitStatus: 0, stderr: expect.stringContaining('Started "app" (2 instances)') });
  expect(await settings(home)).toEqual([BLUE, BLUE]);

  const twice = await home.nclust('start', 'app.js');
  expect(twice).toMatchObject({ exitStatus: 1, stderr: expect.stringContaining('runs already, as "app"') });
  const other = await home.nclust('start', 'app.js', '--name', 'other');
  expect(other).toMatchObject({ exitStatus: 0 });
  expect((await settings(home)).map(([name]) => name)).toEqual(['app', 'app', 'other']);
});

test('start of a listed app with an option changes that option and keeps the others', async () => {
  const home = await sandbox();
  const script = home.place('keeps-alive', 'app.js');
  await home.nclust('start', script, ...SET, { env: { COLOUR: 'blue' } });
  const [before] = await home.list();
  expect(await home.nclust('start', 'app', '--kill-timeout', '4000')).toMatchObject({ exitStatus: 0 });
  const changed = BLUE.with(3, 4000);
  expect(await settings(home)).toEqual([changed, changed]);
  expect((await home.list())[0].pid).not.toBe(before.pid);

  await home.nclust('stop', '0');
  expect(await home.nclust('start', 'app.js', '-i', '3', '--', '--slow')).toMatchObject({ exitStatus: 0 });
  expect(await settings(home)).toEqual(Array(3).fill(changed.with(5, ['--slow'])));
});

test('start of a listed app with an option for new apps is refused, and changes nothing', async () => {
  const home = await sandbox();
  await home.nclust('start', home.place('keeps-alive', 'app.js'));
  const [{ pid }] = await home.list();
  const refused = await home.nclust('start', 'app', '--no-autostart');
  expect(refused).toMatchObject({ exitStatus: 2, stderr: expect.stringContaining('is for a new app') });
  expect((await home.list())[0].pid).toBe(pid);
});

test('a listed app that fails to start with a new option is reported like a failed start', async () => {
  const home = await sandbox();
  await home.nclust('start', home.place('keeps-alive', 'app.js'));
  home.place('crashes-at-boot', 'app.js');
  const failed = await home.nclust('start', 'app', '--kill-timeout', '4000');
  expect(failed).toMatchObject({ exitStatus: 1, stderr: expect.stringMatching(/^nclust: The start of "app" failed/) });
});

test('start of a script whose default name another app has is refused, and keeps that app', async () => {
  const home = await sandbox();
  await home.nclust('start', home.place('keeps-alive', 'app.js'), ...SET, { env: { COLOUR: 'blue' } });
  await home.nclust('stop', 'app');
  mkdirSync(join(home.work, 'other'));
  const refused = await home.nclust('start', home.place('ticks', 'other/app.js'));
  expect(refused).toMatchObject({ exitStatus: 1, stderr: expect.stringContaining('was started from') });
  expect((await settings(home)).map(([, mode]) => mode)).toEqual(['cluster_mode', 'cluster_mode']);
});

test('start of a script starts a new app beside a stopped app of another name, as PM2 does', async () => {
  const home = await sandbox();
  const script = home.place('keeps-alive', 'app.js');
  await home.nclust('start', script, '--name', 'other');
  await home.nclust('stop', 'other');
  expect(await home.nclust('start', 'app.js')).toMatchObject({ exitStatus: 0 });
  expect((await settings(home)).map(([name, , status]) => [name, status])).toEqual([
    ['other', 'stopped'],
    ['app', 'online'],
  ]);
});

test('start of a stopped program from PATH starts it with its settings', async () => {
  const home = await sandbox();
  const first = ['start', 'sleep', '--kill-timeout', '3000', '--', '600'];
  expect(await home.nclust(...first)).toMatchObject({ exitStatus: 0 });
  await home.nclust('stop', 'sleep');
  expect(await home.nclust('start', 'sleep')).toMatchObject({ exitStatus: 0 });
  expect(await settings(home)).toMatchObject([['sleep', 'fork_mode', 'online', 3000, undefined, ['600']]]);
});

test('--name for a listed app is refused, and the error names the command that renames', async () => {
  const home = await sandbox();
  await home.nclust('start', home.place('keeps-alive', 'app.js'));
  const refused = await home.nclust('start', '0', '--name', 'web');
  expect(refused).toMatchObject({ exitStatus: 2, stderr: expect.stringContaining('nclust restart 0 --name web') });
});
