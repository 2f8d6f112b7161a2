import { readFileSync } from 'node:fs';
import { Agent, get } from 'node:http';
import { describe, expect, test } from 'vitest';
import { instancesOf, isRunning, processesOf } from '../helpers/processes.js';
import { sandbox } from '../helpers/sandbox.js';

const appProcesses = (home) => processesOf(home).filter((one) => one.role === 'app');

describe('stop ends the whole process tree', () => {
  test('stop ends children and grandchildren that ignore the signal', async () => {
    const home = await sandbox();
    await home.app('child-spawner', { flags: ['--min-uptime', '300', '--kill-timeout', '600'] });
    await home.waitFor('the tree to be complete', () => appProcesses(home.home).length === 3);

    expect(await home.nclust('stop', 'child-spawner')).toMatchObject({ exitStatus: 0 });
    expect(appProcesses(home.home)).toEqual([]);
    expect(await home.list()).toMatchObject([
      { status: 'stopped', pid: 0, lastDeath: { cause: 'stop', signal: 'SIGKILL' } },
    ]);
  });

  test('stop ends a grandchild in its own session that has lost its parent', async () => {
    const home = await sandbox();
    await home.app('double-forks', { flags: ['--min-uptime', '300', '--kill-timeout', '2000'] });
    const left = await home.waitFor('the grandchild', () =>
      appProcesses(home.home).find((one) => one.command === 'sleep 98765'),
    );
    expect(instancesOf(home.home)).toHaveLength(1);

    expect(await home.nclust('stop', 'all')).toMatchObject({ exitStatus: 0 });
    expect(isRunning(left.pid)).toBe(false);
    expect(appProcesses(home.home)).toEqual([]);
  });

  test('a crash also ends the grandchildren that the dead process leaves', async () => {
    const home = await sandbox();
    const app = await home.app('double-forks', { flags: ['--min-uptime', '300'] });
    const left = await home.waitFor('the grandchild', () =>
      appProcesses(home.home).find((one) => one.command === 'sleep 98765'),
    );
    const [pid] = await app.pids();
    process.kill(pid, 'SIGKILL');
    await home.waitFor('the new process', async () => ![0, pid].includes((await app.pids())[0]));
    await home.waitFor('the old grandchild to exit', () => !isRunning(left.pid));
  });
});

test('a stopping app is listed as stopping until its last process exits', async () => {
  const home = await sandbox();
  const app = await home.app('ignores-sigterm', { flags: ['--min-uptime', '300', '--kill-timeout', '1500'] });
  const [pid] = await app.pids();
  const stopping = home.follow('stop', 'ignores-sigterm');

  await home.waitFor('the app to be listed as stopping', async () => (await home.list())[0].status === 'stopping');
  expect((await home.list())[0]).toMatchObject({ status: 'stopping', pid });
  expect(isRunning(pid)).toBe(true);
  expect(await stopping.done).toMatchObject({ exitStatus: 0 });
  expect(isRunning(pid)).toBe(false);
  expect(await home.list()).toMatchObject([{ status: 'stopped', pid: 0 }]);
});

test.each([
  ['SIGTERM when the app has a handler for it', 'SIGTERM,SIGINT', [], 'SIGTERM'],
  ['SIGINT when the app has no handler for SIGTERM', 'SIGINT', [], 'SIGINT'],
  ['the one that --stop-signal names', 'SIGTERM,SIGINT,SIGUSR2', ['--stop-signal', 'SIGUSR2'], 'SIGUSR2'],
])('the stop signal is %s', async (_, handles, flags, signal) => {
  const home = await sandbox();
  const app = await home.app('names-the-signal', {
    env: { HANDLES: handles },
    flags: ['--min-uptime', '300', ...flags],
  });
  const [{ outFile }] = await app.instances();
  expect(await home.nclust('stop', app.name)).toMatchObject({ exitStatus: 0 });
  expect(readFileSync(outFile, 'utf8')).toContain(`got ${signal}`);
});

test('stop lets the request in flight finish', async () => {
  const home = await sandbox();
  const app = await home.app('http-echo');
  const slow = app.get('/?delay=800');
  await app.get('/');
  expect(await home.nclust('stop', app.name)).toMatchObject({ exitStatus: 0 });
  expect(await slow).toMatchObject({ slot: '0' });
});

test('an idle keep-alive connection does not delay a stop', async () => {
  const home = await sandbox();
  const app = await home.app('http-echo', { flags: ['--kill-timeout', '20000'] });
  const agent = new Agent({ keepAlive: true });
  await new Promise((resolve, reject) =>
    get(app.url, { agent }, (response) => response.resume().on('end', resolve)).on('error', reject),
  );
  const result = await home.nclust('stop', app.name);
  agent.destroy();
  expect(result).toMatchObject({ exitStatus: 0 });
  expect(result.durationMs).toBeLessThan(5_000);
});

test('a stopped app stays stopped and listed, and delete removes it and frees its port', async () => {
  const home = await sandbox();
  const app = await home.app('http-echo', { instances: 2 });
  expect(await home.nclust('stop', app.name)).toMatchObject({ exitStatus: 0 });
  expect(await home.list()).toMatchObject([{ status: 'stopped' }, { status: 'stopped' }]);
  await expect(app.get()).rejects.toMatchObject({ code: 'ECONNREFUSED' });

  expect(await home.nclust('delete', app.name)).toMatchObject({ exitStatus: 0 });
  expect(await home.list()).toEqual([]);
  const again = await home.nclust('stop', app.name);
  expect(again).toMatchObject({ exitStatus: 1, stdout: '' });
  expect(again.stderr).toMatch(/http-echo/);
});

test('a stop during the back-off cancels the waiting restart', async () => {
  const home = await sandbox();
  await home.nclust('start', home.place('crashes-at-boot'), '--no-wait', '--exp-backoff-restart-delay', '5000');
  await home.waitFor(
    'the app to wait for its restart',
    async () => (await home.list())[0].status === 'waiting restart',
  );
  expect(await home.nclust('stop', 'crashes-at-boot')).toMatchObject({ exitStatus: 0 });
  expect(await home.list()).toMatchObject([{ status: 'stopped', pid: 0 }]);
});

test('kill ends every app and the manager, and the next command finds an empty list', async () => {
  const home = await sandbox();
  await home.app('http-echo', { instances: 2 });
  await home.app('double-forks', { flags: ['--min-uptime', '200'] });
  expect(await home.nclust('kill')).toMatchObject({ exitStatus: 0 });
  expect(home.processes()).toEqual([]);
  expect((await home.nclust('jlist')).json()).toEqual([]);
  expect(home.processes()).toEqual([]);
});

test('SIGTERM to the keeper stops the apps, and the next launch starts them again', async () => {
  const home = await sandbox();
  const app = await home.app('http-echo', { instances: 2 });
  const { keeperPid } = await home.daemon();
  process.kill(keeperPid, 'SIGTERM');
  await home.waitFor('all processes to exit', () => home.processes().length === 0);

  expect(await home.nclust('resurrect')).toMatchObject({ exitStatus: 0 });
  await home.waitFor('the app to be online', async () =>
    (await app.instances()).every((slot) => slot.status === 'online'),
  );
  expect(await app.instances()).toHaveLength(2);
  expect(await app.get()).toMatchObject({ pid: expect.any(Number) });
});
