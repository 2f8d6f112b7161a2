import { mkdirSync, readdirSync, renameSync, rmSync, statSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { findManagerProcesses } from '../../lib/shared/daemon/keeper-process.js';
import { realKeeper, temporaryHome } from '../helpers/keeper.js';
import { processesOf } from '../helpers/processes.js';
import { waitFor } from '../helpers/wait-for.js';

const namesIn = (home) => readdirSync(join(home, 'run'));

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
  // The lock, and the private name of its socket.
  const [lock, own] = ['keeper.', 'c.'].map((start) => namesIn(home).filter((name) => name.startsWith(start)));
  expect([lock.length, own.length]).toEqual([1, 1]);
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

describe('a living keeper whose lock was removed', () => {
  const isSocket = (/** @type {string} */ name) => /^(keeper|c)\./.test(name);
  test.each([
    ['the lock', (run, name) => name.startsWith('keeper.')],
    ['the private name of the socket', (run, name) => name.startsWith('c.')],
    ['both', (run, name) => isSocket(name)],
    ['every file', () => true],
    ['the folder', null],
  ])('a living keeper keeps the home, and a new keeper exits: without %s', async (_, isRemoved) => {
    const keeper = await realKeeper();
    const run = join(keeper.home, 'run');
    if (isRemoved) for (const name of namesIn(keeper.home)) if (isRemoved(run, name)) rmSync(join(run, name));
    // Moved away first, because the keeper may be making pipes in it.
    if (!isRemoved) renameSync(run, `${run}-removed`);
    if (!isRemoved) rmSync(`${run}-removed`, { recursive: true });

    const second = await realKeeper({ home: keeper.home, expectHeld: true });
    expect(JSON.parse(second.report())).toEqual({ held: true });
    await waitFor('the lock', () => namesIn(keeper.home).some((name) => name.startsWith('keeper.')));
    const third = await realKeeper({ home: keeper.home, expectHeld: true });
    expect(JSON.parse(third.report())).toEqual({ held: true });
    await keeper.spawn('one', { file: '/bin/sleep', args: ['1000'] });
    expect((await keeper.call('snapshot')).isTerminating).toBe(false);
  });

  test('a living keeper is recognized by another path of the home, not by the same path of a new folder', async () => {
    const keeper = await realKeeper();
    const link = `${keeper.home}-link`;
    symlinkSync(keeper.home, link);
    onTestFinished(() => rmSync(link));
    expect(findManagerProcesses(link)).toEqual([{ pid: keeper.pid, role: 'keeper' }]);
    renameSync(keeper.home, `${keeper.home}-moved`);
    mkdirSync(`${keeper.home}-other`);
    expect(findManagerProcesses(`${keeper.home}-other`)).toEqual([]);
    expect(findManagerProcesses(`${keeper.home}-missing`)).toEqual([]);
    rmSync(`${keeper.home}-other`, { recursive: true });
    renameSync(`${keeper.home}-moved`, keeper.home);
  });
});

test('the names of pipes keep the epoch growing when every lock of a dead keeper was removed', async () => {
  const keeper = await realKeeper();
  await keeper.spawn('one', { file: '/bin/sleep', args: ['1000'] });
  await keeper.kill();
  for (const name of namesIn(keeper.home)) if (name.startsWith('keeper.')) rmSync(join(keeper.home, 'run', name));
  const next = await realKeeper({ home: keeper.home });
  expect(namesIn(keeper.home)).toContain('keeper.2.sock');
  await next.spawn('two', { file: '/bin/sleep', args: ['1000'] });
});

test('a keeper whose home was removed for good asks control to end everything', async () => {
  const keeper = await realKeeper();
  renameSync(keeper.home, `${keeper.home}-elsewhere`);
  await waitFor('the keeper to ask for the end', () => keeper.events.some((one) => one.event === 'terminating'), {
    deadlineMs: 20_000,
  });
  renameSync(`${keeper.home}-elsewhere`, keeper.home);
  expect((await keeper.call('snapshot')).isTerminating).toBe(true);
});
