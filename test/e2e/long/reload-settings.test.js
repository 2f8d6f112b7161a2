import { readlinkSync } from 'node:fs';
import { expect, test } from 'vitest';
import { startLoad } from '../../helpers/load.js';
import { isRunning } from '../../helpers/processes.js';
import { differentNode } from '../../helpers/reloads.js';
import { sandbox } from '../../helpers/sandbox.js';

const different = differentNode();
const LOST_NOTHING = { refused: 0, reset: 0, hung: 0, truncated: 0, wrong: 0, status: 0 };

const detailOf = async (home, name) => (await home.nclust('describe', name, '--json')).json()[0];

test.runIf(different)(
  '--interpreter moves the workers to that Node.js, shows its version, and fails no request',
  async () => {
    const { major, path } = different;
    const home = await sandbox();
    const app = await home.app('http-echo', { instances: 2, flags: ['--node-args', '--trace-warnings'] });
    const load = startLoad(app.url, { connections: 4, timeoutMs: 4_000 });

    const result = await home.nclust('reload', app.name, '--interpreter', path);

    expect(result).toMatchObject({ exitStatus: 0, stderr: 'Reloaded "http-echo" (2 instances).\n' });
    expect(await load.stop()).toMatchObject(LOST_NOTHING);
    for (const { pid, nodeVersion, interpreterArgs } of await app.instances()) {
      expect(readlinkSync(`/proc/${pid}/exe`)).toBe(path);
      expect(nodeVersion).toMatch(new RegExp(`^v?${major}\\.`));
      expect(interpreterArgs).toEqual(['--trace-warnings']);
    }
    await home.nclust('restart', app.name);
    for (const pid of await app.pids()) expect(readlinkSync(`/proc/${pid}/exe`)).toBe(path);
  },
);

test.each([['reload'], ['restart']])(
  '%s with a new name keeps the port, even beside a new app with the old name, and fails no request',
  async (method) => {
    const home = await sandbox();
    const app = await home.app('http-echo', { instances: 2, name: 'old' });
    const load = startLoad(app.url, { connections: 4, timeoutMs: 4_000 });
    expect(await home.nclust(method, 'old', '--name', 'new')).toMatchObject({ exitStatus: 0 });
    await home.nclust('start', home.place('keeps-alive'), '--name', 'old', '-i', '1', '--min-uptime', '50');
    expect(await home.nclust('reload', 'new')).toMatchObject({ exitStatus: 0 });
    expect(await load.stop()).toMatchObject(LOST_NOTHING);
    expect((await home.list()).map(({ name, slot, status }) => `${name}/${slot} ${status}`)).toEqual([
      'new/0 online',
      'new/1 online',
      'old/0 online',
    ]);

    await home.nclust('delete', 'new');
    await expect(fetch(app.url)).rejects.toThrow();
  },
);

test('settings that a reload changes stay changed', async () => {
  const home = await sandbox();
  const app = await home.app('http-echo', { instances: 1, flags: ['--max-surge', '2'], env: { COLOUR: 'red' } });
  await home.nclust('reload', app.name, '--scheduling', 'sticky', '--max-unavailable', '1', '--update-env', {
    env: { COLOUR: 'blue', PORT: String(app.port) },
  });
  const set = {
    spec: {
      scheduling: 'sticky',
      maxSurge: 2,
      maxUnavailable: 1,
      rollbackWindowMs: 0,
      shellEnv: { COLOUR: 'blue' },
      env: {},
    },
    effectiveEnv: { COLOUR: 'blue' },
  };
  expect(await detailOf(home, app.name)).toMatchObject(set);
  await home.nclust('reload', app.name);
  expect(await detailOf(home, app.name)).toMatchObject(set);
});

test('Ctrl-C ends the command, and the reload continues to its end', async () => {
  const home = await sandbox();
  const app = await home.app('http-echo', { instances: 2, flags: ['--min-uptime', '1500'] });
  const old = await app.pids();
  const command = home.follow('reload', app.name);
  await home.waitFor(
    'the first new worker',
    async () => home.processes().filter((one) => one.role === 'app').length > 2,
  );

  command.child.kill('SIGINT');

  expect(await command.done).toMatchObject({
    exitStatus: 130,
    stdout: '',
    stderr: 'nclust: Reloading http-echo goes on in the manager; "nclust list" shows its progress.\n',
  });
  await home.waitFor('the old workers to exit', () => !old.some(isRunning), { deadlineMs: 20_000 });
  await home.waitFor('two new workers to be online', async () =>
    (await app.instances()).every((slot) => slot.status === 'online' && !old.includes(slot.pid)),
  );
});
