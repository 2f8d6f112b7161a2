import { readdirSync, renameSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { realKeeper, temporaryHome } from '../helpers/keeper.js';
import { processesOf } from '../helpers/processes.js';
import { waitFor } from '../helpers/wait-for.js';

test('a second keeper exits and leaves the home to the first', async () => {
  const first = await realKeeper();
  const second = await realKeeper({ home: first.home, expectHeld: true });

  expect(JSON.parse(second.report())).toEqual({ held: true });
  expect(JSON.parse(first.report())).toEqual({ ok: true });
  // Looks only at keepers, because the keeper may be running mkfifo at this moment.
  expect(
    processesOf(first.home)
      .filter(({ role }) => role === 'keeper')
      .map(({ pid }) => pid),
  ).toEqual([first.pid]);
});

test('one of eight keepers that start at once after a dead one gets the home', async () => {
  const home = temporaryHome();
  const dead = await realKeeper({ home });
  await dead.kill();

  const all = await Promise.all(Array.from({ length: 8 }, () => realKeeper({ home }).catch(() => null)));
  await waitFor('one keeper', () => processesOf(home).length === 1);

  expect(all.filter((one) => one !== null)).toHaveLength(1);
  expect(
    readdirSync(join(home, 'run')).filter((name) => name.startsWith('keeper.') || name.startsWith('c.')),
  ).toHaveLength(1);
});

test('the epoch of keepers only grows, so that a slow contender cannot take an old one', async () => {
  const home = temporaryHome();
  for (const epoch of [1, 2, 3]) {
    const keeper = await realKeeper({ home });
    expect(readdirSync(join(home, 'run'))).toContain(`keeper.${epoch}.sock`);
    await keeper.call('leave').catch(() => {});
    await waitFor('the keeper to exit', () => processesOf(home).length === 0);
    expect(readdirSync(join(home, 'run'))).toEqual([`keeper.${epoch}.left`]);
  }
});

test('the lock and the pipes are private', async () => {
  const keeper = await realKeeper();
  await keeper.spawn('one', { file: '/bin/sleep', args: ['1000'] });

  const run = join(keeper.home, 'run');
  const modes = readdirSync(run).map((name) => statSync(join(run, name)).mode & 0o077);
  expect(modes.length).toBeGreaterThan(2);
  expect(new Set(modes)).toEqual(new Set([0]));
  expect(statSync(run).mode & 0o777).toBe(0o700);
});

test('a keeper whose home was removed asks control to end everything, because no client could reach it', async () => {
  const keeper = await realKeeper();
  renameSync(join(keeper.home, 'run'), join(keeper.home, 'elsewhere'));
  await waitFor('the keeper to ask for the end', () => keeper.events.some((one) => one.event === 'terminating'));
  expect((await keeper.call('snapshot')).isTerminating).toBe(true);
});
