import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { notifySocket } from '../../helpers/notify-socket.js';
import { environmentOf, isRunning, killIfThere } from '../../helpers/processes.js';
import { sandbox } from '../../helpers/sandbox.js';

/** Runs `nclust daemon` until the end of the test at the latest. */
async function inForeground(home, env = {}) {
  const running = home.follow('daemon', { env, timeoutMs: 120_000 });
  onTestFinished(() => killIfThere(running.child.pid));
  await home.waitFor('the manager in the foreground', () => /manager is keeper \d+/.test(running.stderr()));
  return running;
}

const states = async (home) =>
  Object.fromEntries((await home.list()).map(({ name, slot, status }) => [`${name}/${slot}`, status]));

describe('nclust daemon in the foreground', () => {
  test('the daemon stops the apps on SIGTERM, and restores them when it runs again', async () => {
    const home = await sandbox();
    const first = await inForeground(home);
    await home.app('http-echo', { name: 'api', instances: 2 });
    await home.app('keeps-alive', { name: 'worker', flags: ['--no-wait'] });
    await home.nclust('stop', 'worker');
    first.child.kill('SIGTERM');
    expect(await first.done).toMatchObject({ exitStatus: 0, stdout: '' });
    expect(home.processes()).toEqual([]);

    const second = await inForeground(home);
    await home.waitFor(
      'two instances to be online',
      async () => Object.values(await states(home)).filter((status) => status === 'online').length === 2,
    );
    expect(await states(home)).toEqual({ 'api/0': 'online', 'api/1': 'online', 'worker/0': 'stopped' });
    second.child.kill('SIGINT');
    expect(await second.done).toMatchObject({ exitStatus: 0 });
    expect(home.processes()).toEqual([]);
  });

  test('the daemon follows a manager that is already running', async () => {
    const home = await sandbox();
    const app = await home.app('http-echo');
    const before = await app.pids();
    const running = await inForeground(home);
    expect(await app.pids()).toEqual(before);
    expect(running.stderr()).toContain(`keeper ${(await home.daemon()).keeperPid}`);
    running.child.kill('SIGTERM');
    expect(await running.done).toMatchObject({ exitStatus: 0 });
    expect(home.processes()).toEqual([]);
  });

  test('the daemon survives a kill of the keeper, and its workers survive a kill of the daemon', async () => {
    const home = await sandbox();
    const running = await inForeground(home);
    const app = await home.app('http-echo');
    const [orphan] = await app.pids();
    process.kill((await home.daemon()).keeperPid, 'SIGKILL');
    await home.waitFor('the next keeper', () => /The next manager is keeper/.test(running.stderr()));
    // The new manager replaces the worker that the first manager has left.
    await home.waitFor('the orphan to exit', () => !isRunning(orphan));
    await home.waitFor('the app to be online', async () => (await app.instances())[0].status === 'online');
    const pids = await app.pids();

    running.child.kill('SIGKILL');
    await running.done;
    const next = await inForeground(home);
    expect(await app.pids()).toEqual(pids);
    next.child.kill('SIGTERM');
    expect(await next.done).toMatchObject({ exitStatus: 0 });
  });

  test('the daemon starts the next manager when keeper and control are killed', async () => {
    const home = await sandbox();
    const running = await inForeground(home);
    const app = await home.app('http-echo');
    const { keeperPid, controlPid } = await home.daemon();
    // Stops control first, because control would start a keeper.
    process.kill(controlPid, 'SIGSTOP');
    process.kill(keeperPid, 'SIGKILL');
    process.kill(controlPid, 'SIGKILL');
    await home.waitFor('the next keeper', () => /The next manager is keeper/.test(running.stderr()));
    await home.waitFor('the app to be online', async () => (await app.instances())[0].status === 'online');
    running.child.kill('SIGTERM');
    expect(await running.done).toMatchObject({ exitStatus: 0 });
    expect(home.processes()).toEqual([]);
  });

  test('the daemon exits 0 after "nclust kill"', async () => {
    const home = await sandbox();
    const running = await inForeground(home);
    await home.app('http-echo');
    await home.nclust('kill');
    expect(await running.done).toMatchObject({ exitStatus: 0 });
  });

  test('the daemon exits 3 when another program stops the keeper, and reports that the list is kept', async () => {
    const home = await sandbox();
    const running = await inForeground(home);
    await home.app('http-echo');
    process.kill((await home.daemon()).keeperPid, 'SIGTERM');
    const result = await running.done;
    expect(result).toMatchObject({ exitStatus: 3, stdout: '' });
    expect(result.stderr).toMatch(/was killed.*list of apps is kept/);
  });
});

describe('nclust daemon under systemd', () => {
  test('the daemon sends READY=1 once the apps are up, then a watchdog ping again and again', async () => {
    const home = await sandbox();
    const app = await home.app('listens-late', { env: { LATE_MS: '1500' } });
    const { keeperPid } = await home.daemon();
    process.kill(keeperPid, 'SIGTERM');
    await home.waitFor('all processes to exit', () => home.processes().length === 0);

    const systemd = await notifySocket(home.work);
    const running = await inForeground(home, {
      NOTIFY_SOCKET: systemd.path,
      WATCHDOG_USEC: '1000000',
      WATCHDOG_PID: '1',
    });
    await home.waitFor('READY=1', () => systemd.count('READY=1') === 1);
    expect((await app.instances())[0].status).toBe('online');
    const [first] = systemd.received();
    expect(first).toContain('STATUS=0 of 1 instances are up');
    expect(first).toContain('EXTEND_TIMEOUT_USEC=60000000');
    expect(systemd.received().find((fields) => fields.includes('READY=1'))).toContain('STATUS=1 of 1 instances are up');
    await home.waitFor('three pings', () => systemd.count('WATCHDOG=1') >= 3);
    await home.nclust('stop', 'all');
    await home.waitFor(
      'the status of the stopped app',
      () => systemd.count('STATUS=0 of 0 instances are up, 1 stopped') === 1,
    );

    running.child.kill('SIGTERM');
    expect(await running.done).toMatchObject({ exitStatus: 0 });
    expect(systemd.received().at(-1)).toEqual(['STOPPING=1', 'EXTEND_TIMEOUT_USEC=40000000']);
    expect(systemd.count('READY=1')).toBe(1);
  });

  test('the daemon sends READY=1 even if an app cannot start', async () => {
    const home = await sandbox();
    await home.nclust('start', home.place('crashes-at-boot'));
    process.kill((await home.daemon()).keeperPid, 'SIGTERM');
    await home.waitFor('all processes to exit', () => home.processes().length === 0);
    const systemd = await notifySocket(home.work);
    const running = await inForeground(home, { NOTIFY_SOCKET: systemd.path });
    await home.waitFor('READY=1', () => systemd.count('READY=1') === 1);
    // Expects no pings, because WATCHDOG_USEC does not request them.
    expect(systemd.count('WATCHDOG=1')).toBe(0);
    running.child.kill('SIGTERM');
    expect(await running.done).toMatchObject({ exitStatus: 0 });
  });

  test('the daemon sends no ping while neither keeper nor control answers', async () => {
    const home = await sandbox();
    const systemd = await notifySocket(home.work);
    const running = await inForeground(home, { NOTIFY_SOCKET: systemd.path, WATCHDOG_USEC: '400000' });
    const { keeperPid, controlPid } = await home.daemon();
    await home.waitFor('two pings', () => systemd.count('WATCHDOG=1') >= 2);
    for (const pid of [controlPid, keeperPid]) process.kill(pid, 'SIGSTOP');
    // A check may have started before SIGSTOP, and may still send a ping. After this ping, the
    // socket must stay quiet for longer than four checks take.
    let [last, quietSince] = [-1, 0];
    await home.waitFor('two seconds without a ping', () => {
      const count = systemd.count('WATCHDOG=1');
      if (count !== last) [last, quietSince] = [count, performance.now()];
      return performance.now() - quietSince > 2_000;
    });
    expect(isRunning(keeperPid) && isRunning(controlPid)).toBe(true);
    for (const pid of [keeperPid, controlPid]) process.kill(pid, 'SIGCONT');
    await home.waitFor('pings again', () => systemd.count('WATCHDOG=1') > last);
    running.child.kill('SIGTERM');
    expect(await running.done).toMatchObject({ exitStatus: 0 });
  });

  test.each([
    ['control', 'controlPid'],
    ['keeper', 'keeperPid'],
  ])('the daemon replaces a %s that hangs, and the app is still there', async (what, key) => {
    const home = await sandbox();
    const systemd = await notifySocket(home.work);
    const running = await inForeground(home, { NOTIFY_SOCKET: systemd.path, WATCHDOG_USEC: '4000000' });
    const app = await home.app('http-echo');
    const pids = await app.pids();
    const pid = (await home.daemon())[key];
    process.kill(pid, 'SIGSTOP');
    await home.waitFor('the hanging process to exit', () => !isRunning(pid), { deadlineMs: 20_000 });
    expect(running.stderr()).toContain(`The ${what} (pid ${pid}) does not answer and is replaced.`);
    await home.waitFor('the app to be online', async () => (await app.instances())[0].status === 'online');
    if (what === 'control') expect(await app.pids()).toEqual(pids);
    const count = systemd.count('WATCHDOG=1');
    await home.waitFor('pings again', () => systemd.count('WATCHDOG=1') > count);
    running.child.kill('SIGTERM');
    expect(await running.done).toMatchObject({ exitStatus: 0 });
  });

  test('the daemon sends RELOADING=1 and READY=1 around a reload by SIGHUP', async () => {
    const home = await sandbox();
    const systemd = await notifySocket(home.work);
    const running = await inForeground(home, { NOTIFY_SOCKET: systemd.path });
    const app = await home.app('http-echo');
    const before = await app.pids();
    running.child.kill('SIGHUP');
    await home.waitFor('the reload to end', () => systemd.count('READY=1') === 2);
    expect(systemd.received().find(([field]) => field === 'RELOADING=1')?.[1]).toMatch(/^MONOTONIC_USEC=\d+$/);
    expect(await app.pids()).not.toEqual(before);
    running.child.kill('SIGTERM');
    expect(await running.done).toMatchObject({ exitStatus: 0 });
  });

  test('the daemon hides the variables of systemd from apps, keeper and control', async () => {
    const home = await sandbox();
    const systemd = await notifySocket(home.work);
    const watched = { NOTIFY_SOCKET: systemd.path, WATCHDOG_USEC: '4000000', WATCHDOG_PID: '1' };
    const running = await inForeground(home, watched);
    await home.nclust('start', home.place('http-echo'), { env: { ...watched, PORT: '0' } });
    for (const { pid, role } of home.processes().filter((one) => one.role !== 'other')) {
      expect(
        Object.keys(environmentOf(pid)).filter((name) => /NOTIFY|WATCHDOG/.test(name)),
        role,
      ).toEqual([]);
    }
    expect(
      home
        .processes()
        .map(({ role }) => role)
        .sort(),
    ).toEqual(['app', 'control', 'keeper', 'other']);
    running.child.kill('SIGTERM');
    expect(await running.done).toMatchObject({ exitStatus: 0 });
  });

  test('the daemon runs on with a warning if systemd cannot be reached', async () => {
    const home = await sandbox();
    const running = await inForeground(home, { NOTIFY_SOCKET: join(home.work, 'nobody') });
    await home.waitFor('the warning', () => /systemd was not notified/.test(running.stderr()));
    running.child.kill('SIGTERM');
    expect(await running.done).toMatchObject({ exitStatus: 0 });
  });
});
