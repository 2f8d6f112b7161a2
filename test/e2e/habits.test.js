import { expect, test } from 'vitest';
import { sandbox } from '../helpers/sandbox.js';

test('--silent prints no messages and no list, but still data and errors', async () => {
  const home = await sandbox();
  expect(
    await home.nclust('start', home.place('keeps-alive'), '--name', 'shop', '--min-uptime', '200', '-s'),
  ).toMatchObject({ exitStatus: 0, stdout: '', stderr: '' });
  expect(await home.nclust('-s', 'restart', 'shop')).toMatchObject({ exitStatus: 0, stdout: '', stderr: '' });
  expect((await home.nclust('jlist', '--silent')).json()).toMatchObject([{ name: 'shop' }]);
  expect((await home.nclust('pid', 'shop', '-s')).stdout).toMatch(/^\d+\n$/);
  expect(await home.nclust('stop', 'nothing', '-s')).toMatchObject({
    exitStatus: 1,
    stdout: '',
    stderr: expect.stringContaining('"nothing"'),
  });
});

test('PM2 options that nclust does not need are accepted with a notice', async () => {
  const home = await sandbox();
  const result = await home.nclust(
    'start',
    home.place('keeps-alive'),
    '--name',
    'shop',
    '--min-uptime',
    '200',
    '--parallel',
    '4',
    '--no-pmx',
    '--no-vizion',
  );
  expect(result).toMatchObject({ exitStatus: 0, stdout: expect.stringContaining('shop') });
  expect(result.stderr).toMatch(/--parallel is not needed: .*\n--no-pmx is not needed: .*/);
  expect((await home.nclust('jlist')).json()[0].pm2_env.vizion).toBe(false);
  expect((await home.nclust('stop', 'shop', '--no-vizion', '--no-pmx')).stderr).toMatch(
    /--no-vizion is not needed: .*\n--no-pmx is not needed: .*/,
  );
});

test('--attach follows the logs of the started app, and Ctrl-C leaves the app running', async () => {
  const home = await sandbox();
  const attached = home.follow('start', home.place('http-echo'), '--name', 'shop', '--attach', { env: { PORT: '0' } });
  await home.waitFor('the first line of the app', () =>
    attached.stdout().match(/shop +\| http-echo \d+ listens on \d+/),
  );
  attached.child.kill('SIGINT');
  await attached.done;
  expect(await home.list()).toMatchObject([{ name: 'shop', status: 'online' }]);
});

test('list --watch shows a changed status', async () => {
  const home = await sandbox();
  await home.nclust('start', home.place('keeps-alive'), '--name', 'shop', '--min-uptime', '200');
  const watching = home.follow('list', '--watch');
  await home.waitFor('the app to be listed as online', () => watching.stdout().includes('online'));
  await home.nclust('stop', 'shop');
  await home.waitFor('the app to be listed as stopped', () => watching.stdout().includes('stopped'));
  watching.child.kill('SIGINT');
  expect(await watching.done).toMatchObject({ exitStatus: 0, stderr: '' });
});

test('list --watch --json is refused and names "events --json"', async () => {
  const home = await sandbox();
  expect(await home.nclust('list', '--watch', '--json')).toMatchObject({
    exitStatus: 2,
    stdout: '',
    stderr: expect.stringContaining('nclust events --json'),
  });
});

test('conf and multiset read and change the same settings as get and set', async () => {
  const home = await sandbox();
  expect(await home.nclust('multiset', 'logs.max_size 20M logs.max_files 3')).toMatchObject({ exitStatus: 0 });
  expect((await home.nclust('conf', 'logs.max_files')).stdout).toBe('3\n');
  expect((await home.nclust('conf', 'logs.max_files', '4')).stdout).toBe('4\n');
  expect((await home.nclust('config', 'logs.max_files')).stdout).toBe('4\n');
  expect((await home.nclust('conf')).stdout).toMatch(/^logs\.max_size +20M/);
  expect(await home.nclust('multiset', 'logs.max_size 30M logs.max_files many')).toMatchObject({
    exitStatus: 2,
    stderr: expect.stringContaining('many'),
  });
  expect((await home.nclust('get', 'logs.max_size')).stdout).toBe('20M\n');
  expect(await home.nclust('multiset', 'logs.max_size')).toMatchObject({
    exitStatus: 2,
    stderr: expect.stringContaining('pairs of a key and a value'),
  });
});
