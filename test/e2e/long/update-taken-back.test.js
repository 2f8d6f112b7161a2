import { rmSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { install } from '../../helpers/installation.js';
import { startLoad } from '../../helpers/load.js';
import { isRunning } from '../../helpers/processes.js';
import { sandbox } from '../../helpers/sandbox.js';

const NEW_KEEPER = { 'daemon/keeper/keeper-socket.js': '\n// Another version.\n' };
const LOST_NOTHING = { refused: 0, reset: 0, hung: 0, truncated: 0, wrong: 0, status: 0 };

describe('update to a control that fails soon after it is ready', () => {
  test.each([
    ['crashes', 'setTimeout(() => process.exit(7), 100);', 'kept exiting soon after it was ready'],
    ['hangs', 'for (;;);', 'stopped answering soon after it was ready'],
  ])('a control that %s is replaced by the previous one, and the command reports it', async (_, code, text) => {
    const home = await sandbox();
    const app = await home.app('http-echo', { instances: 2 });
    const [pids, before] = [await app.pids(), await home.daemon()];
    const load = startLoad(app.url, { connections: 4, timeoutMs: 4_000 });
    const bad = install(home, '1.2.3', { 'daemon/control/main.js': `\n${code}\n` });

    const result = await bad.nclust('update');

    const message = `The manager of "${bad.root}" ${text}, so the previous manager keeps running.`;
    expect([result.exitStatus, result.stderr]).toEqual([1, expect.stringContaining(message)]);
    expect(await home.daemon()).toMatchObject({ version: before.version, keeperPid: before.keeperPid });
    expect((await home.nclust('list')).stderr).toBe(`${message}\n`);
    expect(await app.pids()).toEqual(pids);
    expect(await load.stop()).toMatchObject(LOST_NOTHING);
    // Removes the folder of the refused version, because the manager must work without this folder.
    rmSync(bad.root, { recursive: true });
    expect(await home.nclust('restart', app.name)).toMatchObject({ exitStatus: 0 });
  });

  test('a control that hangs after the end of the command is replaced, and the list reports it', async () => {
    const home = await sandbox();
    await home.app('http-echo');
    const before = await home.daemon();
    const bad = install(home, '1.2.3', {
      'daemon/control/main.js': '\nprocess.once("SIGCONT", () => { for (;;); });\n',
    });
    expect(await bad.nclust('update')).toMatchObject({
      exitStatus: 0,
      stderr: expect.stringContaining('only control'),
    });
    const { controlPid } = await home.daemon();

    process.kill(controlPid, 'SIGCONT');
    await home.waitFor('the hanging control to exit', () => !isRunning(controlPid), { deadlineMs: 15_000 });

    expect((await home.nclust('list')).stderr).toContain(
      `The manager of "${bad.root}" stopped answering soon after it was ready`,
    );
    expect(await home.daemon()).toMatchObject({ version: before.version, keeperPid: before.keeperPid });
  });

  test('a control that crashes under a new keeper is replaced by the previous one, which works with it', async () => {
    const home = await sandbox();
    const app = await home.app('http-echo', { instances: 2 });
    const [pids, before] = [await app.pids(), await home.daemon()];
    const load = startLoad(app.url, { connections: 4, timeoutMs: 4_000 });
    const bad = install(home, '2.0.0', { ...NEW_KEEPER, 'daemon/control/main.js': '\nprocess.exit(7);\n' });

    const result = await bad.nclust('update');

    expect([result.exitStatus, result.stderr]).toEqual([
      1,
      expect.stringContaining('kept exiting soon after it was ready'),
    ]);
    expect(await home.daemon()).toMatchObject({ version: before.version, keeperVersion: '2.0.0' });
    await home.waitFor('the old workers to exit', () => !pids.some(isRunning));
    expect(await app.instances()).toMatchObject([{ status: 'online' }, { status: 'online' }]);
    expect(await load.stop()).toMatchObject(LOST_NOTHING);
    // Workers get the agent of the same version as the keeper.
    expect(await home.nclust('restart', app.name)).toMatchObject({ exitStatus: 0 });
    for (const { command } of home.processes().filter(({ role }) => role === 'app'))
      expect(command).toContain(`${bad.root}/daemon/agent`);
  });

  test('a control that crashes is replaced by the previous one even if that one is still on probation', async () => {
    const home = await sandbox();
    await install(home, '1.0.0').nclust('start', home.place('keeps-alive.js'), '--min-uptime', '100');
    expect(await install(home, '1.0.1').nclust('update')).toMatchObject({ exitStatus: 0 });

    const result = await install(home, '1.0.2', { 'daemon/control/main.js': '\nprocess.exit(7);\n' }).nclust('update');

    expect([result.exitStatus, result.stderr]).toEqual([1, expect.stringContaining('kept exiting')]);
    expect(await home.daemon()).toMatchObject({ version: '1.0.1' });
  });

  test('a control that crashes without a previous one on disk is started again and again', async () => {
    const home = await sandbox();
    const old = install(home, '1.0.0');
    await old.nclust('start', home.place('keeps-alive.js'), '--min-uptime', '100');
    expect(await install(home, '1.2.3').nclust('update')).toMatchObject({ exitStatus: 0 });
    rmSync(old.root, { recursive: true });
    for (let time = 0; time < 4; time++) {
      const { controlPid } = await home.daemon();
      process.kill(controlPid, 'SIGKILL');
      await home.waitFor('the next control', async () => (await home.daemon()).controlPid !== controlPid);
    }
    expect(await home.daemon()).toMatchObject({ version: '1.2.3' });
    expect(await home.list()).toMatchObject([{ status: 'online', restarts: 0 }]);
  });
});

test('update to a keeper that fails to start goes back to the previous version, and no request fails', async () => {
  const home = await sandbox();
  const app = await home.app('http-echo', { instances: 2 });
  const before = await home.daemon();
  const load = startLoad(app.url, { connections: 4, timeoutMs: 4_000 });
  const bad = install(home, '2.0.0', {
    'daemon/keeper/keeper-socket.js': '\nif (process.argv[2] !== "--probe") process.exit(7);\n',
  });

  const result = await bad.nclust('update');

  expect(result.exitStatus).toBe(1);
  expect(result.stderr).toContain('did not become ready, so the previous manager keeps running.');
  await home.waitFor('two workers of the next keeper', async () =>
    (await app.instances()).every((slot) => slot.status === 'online' && isRunning(slot.pid)),
  );
  expect(await load.stop()).toMatchObject(LOST_NOTHING);
  expect(await home.daemon()).toMatchObject({
    version: before.version,
    keeperVersion: before.version,
    controlPid: before.controlPid,
  });
});

test.each([
  ['before it listens', 'daemon/keeper/keeper-socket.js'],
  ['when it is ready', 'daemon/keeper/main.js'],
])('update to a keeper that hangs %s goes back to the previous version', async (_, file) => {
  const home = await sandbox();
  const app = await home.app('http-echo', { instances: 2 });
  const before = await home.daemon();
  const load = startLoad(app.url, { connections: 4, timeoutMs: 4_000 });
  const bad = install(home, '2.0.0', { [file]: '\nif (process.argv[2] !== "--probe") for (;;);\n' });

  const result = await bad.nclust('update');

  expect([result.exitStatus, result.stderr]).toEqual([
    1,
    expect.stringContaining('did not become ready, so the previous manager keeps running.'),
  ]);
  await home.waitFor('two workers of the next keeper', async () =>
    (await app.instances()).every((slot) => slot.status === 'online' && isRunning(slot.pid)),
  );
  expect(await load.stop()).toMatchObject(LOST_NOTHING);
  expect(await home.daemon()).toMatchObject({
    version: before.version,
    keeperVersion: before.version,
    controlPid: before.controlPid,
  });
});
