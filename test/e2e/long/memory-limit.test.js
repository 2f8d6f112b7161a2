import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { sandbox } from '../../helpers/sandbox.js';
import { detailOf, triggered, untilTriggered } from '../../helpers/triggers.js';

const QUICK = ['--min-uptime', '100'];

describe('max_memory_restart', () => {
  test.each([
    ['in its own process', 'take'],
    ['in a child process', 'child'],
  ])('an instance that takes too much memory %s is replaced, and no other instance', async (_, how) => {
    const home = await sandbox();
    const app = await home.app('takes-memory', { instances: 2, flags: [...QUICK, '--max-memory-restart', '150M'] });
    await home.waitFor('both instances to listen', async () =>
      (await app.instances()).every(({ addresses }) => addresses.length > 0),
    );
    const before = await app.pids();
    const guilty = Number(await app.get(`/?${how}=200`));
    const slot = before.indexOf(guilty);
    await home.waitFor('the instance to be replaced', async () => (await app.instances())[slot].lastDeath, {
      deadlineMs: 20_000,
    });
    const after = await app.instances();
    expect(after[1 - slot].pid).toBe(before[1 - slot]);
    expect(after[slot].lastDeath).toMatchObject({
      cause: 'reload',
      by: expect.stringMatching(/^memory: [12]\d\d MB above 150 MB$/),
    });
    expect((await home.nclust('describe', String(after[slot].id))).stdout).toMatch(
      /max memory restart +│ 150\.0mb, now \d+\.\dmb.*memory: [12]\d\d MB above 150 MB/s,
    );
  });

  test('an app that always exceeds its limit is replaced after longer and longer waits', async () => {
    const home = await sandbox();
    // Sets the back-off, because the waits grow as in a crash loop.
    const app = await home.app('keeps-alive', {
      flags: ['--min-uptime', '500', '--exp-backoff-restart-delay', '1000', '--max-memory-restart', '5M'],
    });
    await home.waitFor('three replacements', () => triggered(home).length >= 3, { deadlineMs: 30_000 });
    const deaths = (await detailOf(home, app.name)).deaths ?? [];
    expect(deaths[1].uptimeMs).toBeGreaterThanOrEqual(2_000);
    expect((await home.nclust('describe', app.name)).stdout).toMatch(
      /above the limit right after the start, 3 times in a row|right after the start, 4 times/,
    );
  });

  test('a reload can set the limit', async () => {
    const home = await sandbox();
    const app = await home.app('takes-memory', { flags: QUICK });
    expect(await home.nclust('reload', app.name, '--max-memory-restart', '150M')).toMatchObject({ exitStatus: 0 });
    await app.get('/?take=200');
    await untilTriggered(home, app.name, /^memory: /);
    expect(JSON.parse((await home.nclust('jlist')).stdout)[0].pm2_env.max_memory_restart).toBe(150 * 1024 ** 2);
  });
});

describe('pid files', () => {
  test('each running slot has one in the folder that PM2 users expect', async () => {
    const home = await sandbox();
    const app = await home.app('http-echo', { instances: 2, flags: QUICK });
    const pids = join(home.home, 'pids');
    const read = (name) => Number(readFileSync(join(pids, name), 'utf8'));
    expect([read('http-echo-0.pid'), read('http-echo-1.pid')]).toEqual(await app.pids());
    await home.nclust('reload', app.name);
    expect([read('http-echo-0.pid'), read('http-echo-1.pid')]).toEqual(await app.pids());
    expect(JSON.parse((await home.nclust('jlist')).stdout)[0].pm2_env.pm_pid_path).toBe(join(pids, 'http-echo-0.pid'));
    await home.nclust('delete', 'all');
    expect(readdirSync(pids)).toEqual([]);
  });

  test('the app can have one of its own, which stop removes', async () => {
    const home = await sandbox();
    const app = await home.app('keeps-alive', { flags: [...QUICK, '-p', 'run/app.pid'] });
    const file = join(home.work, 'run/app-0.pid');
    expect([Number(readFileSync(file, 'utf8'))]).toEqual(await app.pids());
    await home.nclust('stop', app.name);
    expect(existsSync(file)).toBe(false);
  });
});

test('--no-autostart adds an app as stopped, start starts it, and resurrect restores the saved state', async () => {
  const home = await sandbox();
  home.place('keeps-alive');
  expect(await home.nclust('start', 'keeps-alive.js', '--no-autostart', '-i', '2')).toMatchObject({
    exitStatus: 0,
    stdout: expect.stringContaining('stopped'),
    stderr: expect.stringContaining('Added, but not started: "keeps-alive" (2 instances).'),
  });
  expect(await home.list()).toMatchObject([{ status: 'stopped', restarts: 0 }, { status: 'stopped' }]);
  expect(await home.nclust('start', 'keeps-alive')).toMatchObject({ exitStatus: 0 });
  await home.nclust('save');
  await home.nclust('delete', 'all');
  expect(await home.nclust('resurrect')).toMatchObject({ exitStatus: 0 });
  expect(await home.list()).toMatchObject([{ status: 'online' }, { status: 'online' }]);
});
