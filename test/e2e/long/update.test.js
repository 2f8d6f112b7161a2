import { readlinkSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { install } from '../../helpers/installation.js';
import { startLoad } from '../../helpers/load.js';
import { pattern } from '../../helpers/pattern.js';
import { takePort } from '../../helpers/ports.js';
import { isRunning, killIfThere } from '../../helpers/processes.js';
import { differentNode, EVERY_REQUEST, loseNothing, serve, untilNothingIsLeftOver } from '../../helpers/reloads.js';
import { runProgram } from '../../helpers/run-program.js';
import { sandbox } from '../../helpers/sandbox.js';

const different = differentNode();
const NEW_KEEPER = { 'daemon/keeper/keeper-socket.js': '\n// Another version.\n' };
/** Long enough that a request of every kind is unfinished when the keeper exits. */
const LONG_REQUESTS = { slowMs: [1_000, 2_000], transferMs: 1_000, timeoutMs: 8_000 };
const LOST_NOTHING = { refused: 0, reset: 0, hung: 0, truncated: 0, wrong: 0, status: 0 };

async function untilEveryKindIsAnswered(home, ledger) {
  const answers = () => Object.keys(EVERY_REQUEST).map((kind) => ledger.kinds.get(kind)?.ok ?? 0);
  const before = answers();
  await home.waitFor('one more answer of every kind', () => answers().every((ok, n) => ok > before[n]));
}

describe('update with an unchanged keeper replaces only control', () => {
  test('an update with an unchanged keeper restarts no worker', async () => {
    const home = await sandbox();
    const app = await home.app('http-echo', { instances: 2 });
    await home.nclust('restart', app.name);
    const [old, slots] = [await home.daemon(), await app.instances()];
    const load = startLoad(app.url, { connections: 4, timeoutMs: 4_000 });

    const result = await install(home, '1.2.3').nclust('update');

    expect(result).toMatchObject({ exitStatus: 0, stdout: '' });
    expect(result.stderr).toMatch(/^nclust \S+ was replaced by 1\.2\.3: only control; the workers keep running\.\n$/);
    expect(await load.stop()).toMatchObject(LOST_NOTHING);
    expect(await home.daemon()).toMatchObject({ version: '1.2.3', keeperPid: old.keeperPid });
    expect((await home.daemon()).controlPid).not.toBe(old.controlPid);
    expect((await app.instances()).map(({ pid, restarts, generation }) => ({ pid, restarts, generation }))).toEqual(
      slots.map(({ pid, restarts, generation }) => ({ pid, restarts, generation })),
    );
  });

  test('new processes use the new folder after an update, so that the old one can be deleted', async () => {
    const home = await sandbox();
    const old = install(home, '1.0.0');
    await old.nclust('start', home.place('http-echo.js'), { env: { PORT: String(await takePort()) } });
    expect((await install(home, '1.0.1').nclust('update')).exitStatus).toBe(0);
    rmSync(old.root, { recursive: true });

    const { controlPid } = await home.daemon();
    process.kill(controlPid, 'SIGKILL');
    expect(await home.nclust('restart', 'all')).toMatchObject({ exitStatus: 0 });
    expect(await home.list()).toMatchObject([
      { status: 'online', unstableRestarts: 0, addresses: [expect.any(Object)] },
    ]);
    expect(await home.daemon()).toMatchObject({ version: '1.0.1' });
  });

  test('an update goes back to the old control if the new one does not get ready', async () => {
    const home = await sandbox();
    const app = await home.app('http-echo');
    const [pids, before] = [await app.pids(), await home.daemon()];
    const bad = install(home, '1.2.3', {
      'daemon/control/api/server.js': '\nApiServer.prototype.listen = () => process.exit(7);\n',
    });

    const result = await bad.nclust('update');

    expect(result.exitStatus).toBe(1);
    expect(result.stderr).toContain('did not become ready, so the previous manager keeps running.');
    expect(await home.daemon()).toMatchObject({ version: before.version, keeperPid: before.keeperPid });
    expect(await app.pids()).toEqual(pids);
  });
});

describe('two updates at once', () => {
  test.each([
    ['control only', {}],
    ['keeper and control', NEW_KEEPER],
  ])('two updates both succeed if they go to the same installation (%s)', async (_, edits) => {
    const home = await sandbox();
    await home.app('http-echo', { instances: 2 });
    const next = install(home, '2.0.0', edits);
    const results = await Promise.all([next.nclust('update'), next.nclust('update')]);
    expect(results.map(({ exitStatus, stderr }) => [exitStatus, stderr])).toEqual(
      [0, 1].map(() => [0, expect.stringContaining('was replaced by 2.0.0')]),
    );
    expect(await home.daemon()).toMatchObject({ version: '2.0.0' });
  });

  test('two updates to two installations each succeed or name the other, and one of them runs at the end', async () => {
    const home = await sandbox();
    await home.app('http-echo', { instances: 2 });
    const both = [install(home, '2.0.0', NEW_KEEPER), install(home, '3.0.0')];
    const results = await Promise.all(both.map((one) => one.nclust('update')));
    for (const { exitStatus, stderr } of results)
      expect([exitStatus, stderr]).toEqual(
        exitStatus === 0
          ? [0, expect.any(String)]
          : [
              1,
              expect.stringMatching(
                /Another update, to ".*", is under way\.|A later update, to ".*", replaced this one\./,
              ),
            ],
      );
    expect(results.map(({ exitStatus }) => exitStatus)).toContain(0);
    expect(['2.0.0', '3.0.0']).toContain((await home.daemon()).version);
  });
});

describe.each([
  ['cluster mode', 3],
  ['fork mode', undefined],
])('update with a new keeper, in %s', (_, instances) => {
  test('an update with a new keeper replaces every worker and fails no request', async () => {
    const home = await sandbox();
    const app = await home.app('http-echo', { instances });
    const idle = await home.app('keeps-alive', { flags: ['--min-uptime', '100'] });
    await home.nclust('stop', idle.name);
    await home.nclust('restart', app.name);
    const [pids, before, [{ restarts }]] = [await app.pids(), await home.daemon(), await app.instances()];
    const loads = [
      startLoad(app.url, { connections: 4, timeoutMs: 4_000 }),
      startLoad(app.url, { connections: 4, timeoutMs: 4_000, keepAlive: true }),
    ];

    const result = await install(home, '2.0.0', NEW_KEEPER).nclust('update');

    for (const load of loads) expect(await load.stop()).toMatchObject(LOST_NOTHING);
    expect(result.stderr).toMatch(
      /was replaced by 2\.0\.0: keeper and control; (3 workers were replaced one by one|one worker was replaced)\.\n$/,
    );
    expect(result.exitStatus).toBe(0);
    const after = await home.daemon();
    expect(after).toMatchObject({ version: '2.0.0', keeperVersion: '2.0.0' });
    expect([before.keeperPid, before.controlPid, ...pids].filter(isRunning)).toEqual([]);
    expect(await app.instances()).toHaveLength(instances ?? 1);
    for (const slot of await app.instances()) expect(slot).toMatchObject({ status: 'online', name: app.name });
    expect((await app.instances())[0].restarts).toBeGreaterThanOrEqual(restarts);
    expect(await idle.instances()).toMatchObject([{ status: 'stopped', pid: 0 }]);
  });

  test('an update with a new keeper completes even if control is killed during it', async () => {
    const home = await sandbox();
    const app = await home.app('http-echo', { instances });
    const [pids, { keeperPid, controlPid }] = [await app.pids(), await home.daemon()];
    const next = install(home, '2.0.0', NEW_KEEPER).follow('update');
    await home.waitFor('the old keeper to exit', () => !isRunning(keeperPid));
    killIfThere(controlPid);

    const result = await next.done;
    expect([result.stderr, result.exitStatus]).toEqual([expect.stringContaining('was replaced by 2.0.0'), 0]);
    expect(await home.daemon()).toMatchObject({ version: '2.0.0', keeperVersion: '2.0.0' });
    await home.waitFor('the old workers to exit', () => !pids.some(isRunning));
    expect(await app.get()).toMatchObject({ pid: expect.any(Number) });
  });
});

describe.each([
  ['control only', {}, 'only control; the workers keep running'],
  ['keeper and control', NEW_KEEPER, 'keeper and control; '],
])('update of %s with every kind of request', (_, edits, said) => {
  test.each([
    ['cluster mode', 3, 'tcp'],
    ['fork mode', undefined, 'tcp'],
    ['cluster mode on a Unix socket', 2, 'unix'],
  ])('an update loses no request in %s', async (_mode, instances, kind) => {
    const home = await sandbox();
    const socketPath = join(home.work, 'app.sock');
    const app = await serve(home, 'serves-all', {
      instances,
      flags: ['--min-uptime', '100'],
      env: kind === 'unix' ? { SOCKET: socketPath } : {},
    });
    const [{ keeperPid }, pids] = [await home.daemon(), await app.pids()];

    await loseNothing(
      kind === 'unix' ? { socketPath } : app,
      EVERY_REQUEST,
      async ({ ledger }) => {
        await untilEveryKindIsAnswered(home, ledger);
        expect(await install(home, '2.0.0', edits).nclust('update')).toMatchObject({
          exitStatus: 0,
          stderr: expect.stringContaining(`was replaced by 2.0.0: ${said}`),
        });
        await untilEveryKindIsAnswered(home, ledger);
      },
      LONG_REQUESTS,
    );

    expect(await home.daemon()).toMatchObject({ version: '2.0.0' });
    expect([keeperPid, ...pids].filter(isRunning)).toEqual(edits === NEW_KEEPER ? [] : [keeperPid, ...pids]);
    await untilNothingIsLeftOver(home);
  });
});

test('update after files were overwritten in place runs the new code from the same folder', async () => {
  const home = await sandbox();
  const nclust = install(home, '1.0.0');
  const script = home.place('keeps-alive.js');
  await nclust.nclust('start', script, '--min-uptime', '100');
  const before = await home.daemon();

  nclust.overwrite('1.0.1');
  expect((await nclust.nclust('update')).stderr).toBe(
    'nclust 1.0.0 was replaced by 1.0.1: only control; the workers keep running.\n',
  );
  expect(await home.daemon()).toMatchObject({ version: '1.0.1', keeperPid: before.keeperPid });
  nclust.overwrite('1.1.0', NEW_KEEPER);
  expect((await nclust.nclust('update')).stderr).toBe(
    'nclust 1.0.1 was replaced by 1.1.0: keeper and control; one worker was replaced.\n',
  );
  expect(await home.daemon()).toMatchObject({ version: '1.1.0', keeperVersion: '1.1.0' });
});

test('update replaces the old keeper even if control has already started from the overwritten files', async () => {
  const home = await sandbox();
  const nclust = install(home, '1.0.0');
  await nclust.nclust('start', home.place('http-echo.js'), { env: { PORT: String(await takePort()) } });
  nclust.overwrite('1.1.0', NEW_KEEPER);
  process.kill((await home.daemon()).controlPid, 'SIGKILL');

  expect((await nclust.nclust('update')).stderr).toBe(
    'nclust 1.0.0 was replaced by 1.1.0: keeper and control; one worker was replaced.\n',
  );
  expect(await home.daemon()).toMatchObject({ version: '1.1.0', keeperVersion: '1.1.0' });
});

test('update with a new keeper fails no request even if the old folder is deleted', async () => {
  const home = await sandbox();
  const old = install(home, '1.0.0');
  const port = await takePort();
  await old.nclust('start', home.place('http-echo.js'), '--name', 'echo', '-i', '2', { env: { PORT: String(port) } });
  const pids = (await home.list()).map((slot) => slot.pid);
  const load = startLoad(`http://127.0.0.1:${port}`, { connections: 4, timeoutMs: 4_000, keepAlive: true });
  rmSync(old.root, { recursive: true });

  expect(await install(home, '2.0.0', NEW_KEEPER).nclust('update')).toMatchObject({
    exitStatus: 0,
    stderr: expect.stringContaining('2 workers were replaced'),
  });

  expect(await load.stop()).toMatchObject(LOST_NOTHING);
  expect(pids.filter(isRunning)).toEqual([]);
  expect((await home.list()).map(({ status, deaths = [] }) => ({ status, deaths }))).toEqual([
    { status: 'online', deaths: [] },
    { status: 'online', deaths: [] },
  ]);
});

test.runIf(different)('update with another Node.js moves the manager to that Node.js', async () => {
  const { major, path } = different;
  const home = await sandbox();
  const app = await home.app('http-echo', { instances: 2 });
  const load = startLoad(app.url, { connections: 4, timeoutMs: 4_000 });
  const { done } = runProgram(path, [join(install(home, '1.2.3').root, 'bin/nclust.js'), 'update'], {
    cwd: home.work,
    env: home.env,
  });

  expect(await done).toMatchObject({
    exitStatus: 0,
    stderr: expect.stringContaining('keeper and control; 2 workers were replaced'),
  });

  expect(await load.stop()).toMatchObject(LOST_NOTHING);
  const { nodeVersion, keeperPid, controlPid } = await home.daemon();
  expect(nodeVersion).toMatch(new RegExp(`^${major}\\.`));
  for (const pid of [keeperPid, controlPid]) expect(readlinkSync(`/proc/${pid}/exe`)).toBe(path);
});

test('update to a new keeper reports an app that no longer starts, and its old workers keep serving', async () => {
  const home = await sandbox();
  const app = await home.app('http-echo', { instances: 2 });
  const pids = await app.pids();
  const load = startLoad(app.url, { connections: 4, timeoutMs: 4_000 });
  app.replaceWith('crashes-at-boot.js');

  const result = await install(home, '2.0.0', NEW_KEEPER).nclust('update');

  expect(result.exitStatus).toBe(1);
  expect(result.stderr).toMatch(
    pattern(
      /^nclust: The manager was replaced, but not every worker\. [^]*/,
      /\| Error: crashes-at-boot[^]*/,
      /next: Fix the app, then: nclust reload http-echo\n$/,
    ),
  );
  expect(await home.daemon()).toMatchObject({ version: '2.0.0', keeperVersion: '2.0.0' });
  expect(pids.every(isRunning)).toBe(true);
  app.replaceWith('http-echo.js');
  expect((await home.nclust('reload', app.name)).exitStatus).toBe(0);
  expect(pids.filter(isRunning)).toEqual([]);
  expect(await load.stop()).toMatchObject(LOST_NOTHING);
});

test('update to the running version reports that there is nothing to do, and changes nothing', async () => {
  const home = await sandbox();
  const app = await home.app('http-echo');
  const next = install(home, '2.0.0', NEW_KEEPER);
  await next.nclust('update');
  const [pids, daemon] = [await app.pids(), await home.daemon()];

  const again = await next.nclust('update');

  expect(again).toMatchObject({ exitStatus: 0, stderr: 'nclust 2.0.0 runs already; nothing was replaced.\n' });
  expect((await next.nclust('update', '--json')).json()).toMatchObject({
    replaced: [],
    workers: 0,
    after: { version: '2.0.0' },
  });
  expect(await home.daemon()).toEqual(daemon);
  expect(await app.pids()).toEqual(pids);
});

test('update without a manager reports that none is running, and starts none', async () => {
  const home = await sandbox();
  const result = await home.nclust('update');
  expect(result).toMatchObject({
    exitStatus: 0,
    stdout: '',
    stderr: `No nclust runs in ${home.home}. Start an app with: nclust start app.js\n`,
  });
  expect((await home.nclust('update', '--json')).json()).toEqual({
    before: null,
    after: null,
    replaced: [],
    workers: 0,
  });
  expect(home.processes()).toEqual([]);
});

test('update to files that cannot run changes nothing', async () => {
  const home = await sandbox();
  const app = await home.app('http-echo');
  const [pids, daemon] = [await app.pids(), await home.daemon()];
  const broken = install(home, '2.0.0', {
    'daemon/control/host/clock.js': '\nthrow new Error("half an installation");\n',
  });

  const result = await broken.nclust('update');

  expect(result.exitStatus).toBe(1);
  expect(result.stderr).toMatch(
    /Nothing was replaced: ".*daemon\/control\/main\.js" failed \(1\)\.[^]*half an installation/,
  );
  expect(await home.daemon()).toEqual(daemon);
  expect(await app.pids()).toEqual(pids);
});
