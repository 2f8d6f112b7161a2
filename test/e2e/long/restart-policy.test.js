import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { sandbox } from '../../helpers/sandbox.js';

const untilStatus = (home, status) =>
  home.waitFor(`status "${status}"`, async () => (await home.list()).find((slot) => slot.status === status));

describe('an app that crashes', () => {
  test('an app that crashes is restarted at once after a stable uptime', async () => {
    const home = await sandbox();
    const app = await home.app('http-echo', { flags: ['--min-uptime', '100'] });
    const [first] = await app.pids();
    await home.waitFor(
      'a stable uptime',
      async () => Date.now() - Number((await app.instances())[0].startedAtMs) > 300,
    );
    process.kill(first, 'SIGKILL');
    await home.waitFor('the new process', async () =>
      (await app.instances()).some((slot) => slot.isReady && slot.pid !== first),
    );
    expect(await app.instances()).toMatchObject([
      {
        status: 'online',
        restarts: 1,
        unstableRestarts: 0,
        lastDeath: { signal: 'SIGKILL', cause: 'signal', pid: first, wasReady: true },
      },
    ]);
    expect(await app.get()).toMatchObject({ slot: '0' });
  });

  test.each(['SIGKILL', 'SIGTERM'])('a %s of nclust sendSignal is not a crash, and not unstable', async (signal) => {
    const home = await sandbox();
    const app = await home.app('http-echo');
    const [first] = await app.pids();
    await home.nclust('sendSignal', signal, app.name);
    await home.waitFor('the new process', async () =>
      (await app.instances()).some((slot) => slot.isReady && slot.pid !== first),
    );
    expect(await app.instances()).toMatchObject([
      { restarts: 1, unstableRestarts: 0, lastDeath: { cause: 'signal', by: `sendSignal ${signal}`, signal } },
    ]);
    const { stdout } = await home.nclust('why', app.name);
    expect(stdout).toMatch(/^\S+ is online since [^,]*\.\n/);
    expect(stdout).toContain(`by ${signal}, which nclust sendSignal sent`);
  });

  test('an app that crashes again and again waits twice as long each time, and is finally given up', async () => {
    const home = await sandbox();
    await home.nclust(
      'start',
      home.place('crashes-at-boot'),
      '--no-wait',
      '--max-restarts',
      '4',
      '--exp-backoff-restart-delay',
      '100',
    );
    await untilStatus(home, 'errored');
    const wire = await home.wire();
    const { slots } = await wire.request('list', { detail: true });
    expect(slots).toMatchObject([{ status: 'errored', pid: 0, restarts: 4 }]);
    const deaths = slots[0].deaths.map((death) => death.atMs);
    expect(deaths).toHaveLength(5);
    const gaps = deaths.slice(1).map((atMs, i) => atMs - deaths[i]);
    gaps.forEach((gap, i) => expect(gap).toBeGreaterThanOrEqual(100 * 2 ** i));
  });

  test('an app that exits with a code in --stop-exit-codes is not restarted', async () => {
    const home = await sandbox();
    await home.nclust('start', home.place('crashes-after'), '--no-wait', '--stop-exit-codes', '0,42', {
      env: { AFTER_MS: '50', CODE: '42' },
    });
    const slot = await untilStatus(home, 'stopped');
    expect(slot).toMatchObject({ restarts: 0, lastDeath: { code: 42 } });
  });

  test('an app that exits with a code outside of --stop-exit-codes is restarted', async () => {
    const home = await sandbox();
    await home.nclust(
      'start',
      home.place('crashes-after'),
      '--no-wait',
      '--stop-exit-codes',
      '42',
      '--max-restarts',
      '1',
      { env: { AFTER_MS: '50', CODE: '41' } },
    );
    expect(await untilStatus(home, 'errored')).toMatchObject({ restarts: 1 });
  });

  test('an app with --no-autorestart is not restarted after a crash', async () => {
    const home = await sandbox();
    await home.nclust('start', home.place('crashes-after'), '--no-wait', '--no-autorestart', {
      env: { AFTER_MS: '50' },
    });
    expect(await untilStatus(home, 'stopped')).toMatchObject({ restarts: 0, lastDeath: { code: 1, cause: 'crash' } });
  });

  test('an app with --restart-delay is restarted after that delay', async () => {
    const home = await sandbox();
    const app = await home.app('http-echo', { flags: ['--min-uptime', '100', '--restart-delay', '700'] });
    const [first] = await app.pids();
    await home.waitFor(
      'a stable uptime',
      async () => Date.now() - Number((await app.instances())[0].startedAtMs) > 200,
    );
    process.kill(first, 'SIGKILL');
    const slot = await home.waitFor('the new process', async () =>
      (await app.instances()).find((one) => one.isReady && one.pid !== first),
    );
    expect(Number(slot.startedAtMs) - Number(slot.lastDeath?.atMs)).toBeGreaterThanOrEqual(690);
  });
});

describe('describe shows why an app died', () => {
  test('describe shows the exit code and the last lines of stderr after an exit', async () => {
    const home = await sandbox();
    await home.nclust('start', home.place('crashes-after'), '--no-wait', '--no-autorestart', {
      env: { AFTER_MS: '100', CODE: '7' },
    });
    await untilStatus(home, 'stopped');
    const { stdout } = await home.nclust('describe', 'crashes-after');
    expect(stdout).toMatch(/code 7/);
    expect(stdout).toMatch(/crashes-after \d+ crashes now/);
  });

  test('describe names the signal that ended the app', async () => {
    const home = await sandbox();
    await home.nclust('start', home.place('crashes-after'), '--no-wait', '--no-autorestart', {
      env: { AFTER_MS: '100', SIGNAL: 'SIGSEGV' },
    });
    await untilStatus(home, 'stopped');
    expect((await home.nclust('describe', 'crashes-after')).stdout).toMatch(/SIGSEGV/);
  });

  test('describe shows that the app ran out of memory', async () => {
    const home = await sandbox();
    await home.nclust(
      'start',
      home.place('heap-oom'),
      '--no-wait',
      '--no-autorestart',
      '--node-args',
      '--max-old-space-size=24',
    );
    const slot = await home.waitFor(
      'the app to be listed as stopped',
      async () => (await home.list()).find((one) => one.status === 'stopped' && one.lastDeath),
      { deadlineMs: 30_000 },
    );
    expect(slot.lastDeath).toMatchObject({ cause: 'out-of-memory' });
    expect((await home.nclust('describe', 'heap-oom')).stdout).toMatch(/out of memory/i);
  });

  test('describe shows which command ended the app', async () => {
    const home = await sandbox();
    const app = await home.app('http-echo');
    await home.nclust('restart', app.name);
    await home.nclust('stop', app.name);
    const { stdout } = await home.nclust('describe', app.name);
    expect(stdout).toMatch(/restart/);
    expect(stdout).toMatch(/stop/);
    expect((await app.instances())[0].lastDeath).toMatchObject({ cause: 'stop', by: expect.stringMatching(/stop/) });
  });
});

test('reset zeroes the counters', async () => {
  const home = await sandbox();
  const app = await home.app('http-echo');
  await home.nclust('restart', app.name);
  expect(await app.instances()).toMatchObject([{ restarts: 1 }]);
  expect(await home.nclust('reset', app.name)).toMatchObject({ exitStatus: 0 });
  expect(await app.instances()).toMatchObject([{ restarts: 0, unstableRestarts: 0 }]);
});

test('restart of an app that was given up resets its restart counter', async () => {
  const home = await sandbox();
  const script = home.place('crashes-at-boot');
  await home.nclust('start', script, '--name', 'api', '--no-wait', '--max-restarts', '1');
  await untilStatus(home, 'errored');
  home.place('keeps-alive', 'crashes-at-boot.js');
  expect(await home.nclust('restart', 'api')).toMatchObject({ exitStatus: 0 });
  expect(await home.list()).toMatchObject([{ status: 'online' }]);
});

test('restart exits 1 with the last error lines if the new process crashes', async () => {
  const home = await sandbox();
  const app = await home.app('http-echo', { flags: ['--max-restarts', '1'] });
  app.replaceWith('crashes-at-boot');
  const result = await home.nclust('restart', app.name);
  expect(result.exitStatus).toBe(1);
  expect(result.stderr).toContain('crashes-at-boot: the database is not there');
});

test.each([
  ['fork mode', undefined],
  ['cluster mode', 2],
])('an app whose directory is deleted fails with the reason and can still be stopped: %s', async (_, instances) => {
  const home = await sandbox();
  const folder = join(home.work, 'release-1');
  mkdirSync(folder);
  const app = await home.app('http-echo', { instances, flags: ['--cwd', folder, '--max-restarts', '1'] });
  rmSync(folder, { recursive: true });
  const result = await home.nclust('restart', app.name);
  expect(result.exitStatus).toBe(1);
  expect(result.stderr).toContain('release-1');
  expect(await home.nclust('stop', app.name)).toMatchObject({ exitStatus: 0 });
  expect(await app.pids()).toEqual(Array.from({ length: instances ?? 1 }, () => 0));
});

test('a restart of a cluster keeps at least half of its instances serving', async () => {
  const home = await sandbox();
  const app = await home.app('http-echo', { instances: 4 });
  const before = await app.pids();
  const restarting = home.follow('restart', app.name);
  let fewest = 4;
  let isDone = false;
  void restarting.done.then(() => (isDone = true));
  await home.waitFor('the restart to end', async () => {
    fewest = Math.min(fewest, (await app.instances()).filter((slot) => slot.status === 'online').length);
    return isDone;
  });
  expect(await restarting.done).toMatchObject({ exitStatus: 0 });
  expect(fewest).toBeGreaterThanOrEqual(2);
  const after = await app.pids();
  expect(after.filter((pid) => before.includes(pid))).toEqual([]);
  expect(await app.instances()).toMatchObject(Array.from({ length: 4 }, () => ({ status: 'online', restarts: 1 })));
});
