import { writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { takePort } from '../helpers/ports.js';
import { instancesOf } from '../helpers/processes.js';
import { runProgram } from '../helpers/run-program.js';
import { nodeUnderTest, sandbox } from '../helpers/sandbox.js';

test.each([
  ['4', 2, 4],
  ['+2', 1, 3],
  ['-1', 3, 2],
  ['1', 3, 1],
  ['50%', 3, Math.max(1, Math.round(availableParallelism() / 2))],
  ['max', 1, availableParallelism()],
])('scale %s of %d instances results in %d', async (number, from, to) => {
  const home = await sandbox();
  const app = await home.app('http-echo', { instances: from });
  const before = await app.pids();

  expect(await home.nclust('scale', app.name, number)).toMatchObject({ exitStatus: 0 });
  const slots = await app.instances();
  expect(slots.map((slot) => slot.slot)).toEqual(Array.from({ length: to }, (_, i) => i));
  expect(slots.every((slot) => slot.status === 'online')).toBe(true);
  expect(instancesOf(home.home)).toHaveLength(to);
  const kept = slots.map((slot) => slot.pid).filter((pid) => before.includes(pid));
  expect(kept).toHaveLength(Math.min(from, to));
});

test.each([
  ['max', 'the number of CPUs', (cpus) => cpus],
  ['0', 'the number of CPUs, as in PM2', (cpus) => cpus],
  ['-1', 'all CPUs but one', (cpus) => Math.max(1, cpus - 1)],
  ['50%', 'half of them', (cpus) => Math.max(1, Math.round(cpus / 2))],
])('start -i %s starts %s', async (instances, _, expected) => {
  const home = await sandbox();
  const app = await home.app('http-echo', { instances });
  const slots = await app.instances();
  expect(slots.length).toBeLessThanOrEqual(expected(availableParallelism()));
  expect(slots.length).toBeGreaterThanOrEqual(1);
  expect(slots.every((slot) => slot.mode === 'cluster')).toBe(true);
});

test('-i max counts the CPUs that this process may use, not those of the machine', async () => {
  const home = await sandbox();
  const bin = fileURLToPath(new URL('../../bin/nclust.js', import.meta.url));
  const started = await runProgram(
    'taskset',
    ['-c', '0', nodeUnderTest(), bin, 'start', home.place('http-echo'), '-i', 'max'],
    {
      env: { ...home.env, PORT: String(await takePort()) },
      cwd: home.work,
    },
  ).done;
  expect(started).toMatchObject({ exitStatus: 0 });
  expect(await home.list()).toHaveLength(1);
});

test('scaling down lets requests in flight finish', async () => {
  const home = await sandbox();
  const app = await home.app('http-echo', { instances: 3 });
  const slow = Promise.all(Array.from({ length: 12 }, () => app.get('/?delay=600')));
  await app.get('/');
  expect(await home.nclust('scale', app.name, '1')).toMatchObject({ exitStatus: 0 });
  expect(await slow).toHaveLength(12);
});

test('scale of an unknown app exits 1 and suggests a similar name', async () => {
  const home = await sandbox();
  await home.app('http-echo', { name: 'checkout' });
  const result = await home.nclust('scale', 'chekout', '3');
  expect(result).toMatchObject({ exitStatus: 1, stdout: '' });
  expect(result.stderr).toMatch(/checkout/);
});

test.each([['0'], ['-3'], ['lots']])('scale to %s is refused and changes nothing', async (number) => {
  const home = await sandbox();
  const app = await home.app('http-echo', { instances: 2 });
  const before = await app.pids();
  const result = await home.nclust('scale', app.name, number);
  expect(result).toMatchObject({ stdout: '' });
  expect([1, 2]).toContain(result.exitStatus);
  expect(await app.pids()).toEqual(before);
});

test('a reload of the config keeps a manual scale until the file has a new number, and reports both', async () => {
  const home = await sandbox();
  home.place('keeps-alive');
  const file = (instances) =>
    writeFileSync(
      join(home.work, 'ecosystem.config.js'),
      `module.exports = { apps: [{ name: 'api', script: './keeps-alive.js', instances: ${instances}, ` +
        `min_uptime: 100 }] };`,
    );
  file(2);
  await home.nclust('start');
  await home.nclust('scale', 'api', '3');
  expect(await home.nclust('startOrReload', 'ecosystem.config.js')).toMatchObject({
    exitStatus: 0,
    stderr:
      '"api" keeps the 3 instances it was scaled to, because the number in the file did not change. To use ' +
      'that one: nclust scale api 2\nReloaded "api" (3 instances).\n',
  });
  file(1);
  expect(await home.nclust('reload', 'ecosystem.config.js')).toMatchObject({
    exitStatus: 0,
    stderr: '"api": 3 -> 1 instances, from the file.\nReloaded "api".\n',
  });
});
