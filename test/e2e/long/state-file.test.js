import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { openSandbox, sandbox } from '../../helpers/sandbox.js';

let good;
let backup;

// The apps are stopped, so that a new manager does not start them.
beforeAll(async () => {
  const home = openSandbox();
  await home.app('keeps-alive', { name: 'api', instances: 2, flags: ['--no-wait'] });
  await home.app('keeps-alive', { name: 'worker', flags: ['--no-wait'] });
  await home.nclust('stop', 'all');
  const { keeperPid } = await home.daemon();
  process.kill(keeperPid, 'SIGTERM');
  await home.waitFor('the manager to exit', () => home.processes().length === 0);
  good = readFileSync(join(home.home, 'state.json'));
  backup = readFileSync(join(home.home, 'state.json.bak'));
  await home.close();
});

async function bootOn(home, state, previous) {
  mkdirSync(home.home, { recursive: true, mode: 0o700 });
  writeFileSync(join(home.home, 'state.json'), state, { mode: 0o600 });
  if (previous) writeFileSync(join(home.home, 'state.json.bak'), previous, { mode: 0o600 });
  const result = await home.nclust('resurrect');
  const list = home.processes().some((one) => one.role === 'keeper') ? await home.list() : [];
  return {
    result,
    names: list.map((slot) => slot.name),
    bad: readdirSync(home.home).filter((name) => name.startsWith('state.json.bad-')),
  };
}

test('the list survives the manager', async () => {
  const home = await sandbox();
  const { result, names, bad } = await bootOn(home, good, null);
  expect(result.exitStatus).toBe(0);
  expect(names).toEqual(['api', 'api', 'worker']);
  expect(bad).toEqual([]);
});

describe('a damaged state file is kept, and the backup is used', () => {
  // Cuts the file at a few places only, because the unit test of the state store cuts the file at
  // every byte.
  test.each([0, 0.01, 0.25, 0.5, 0.75, 0.99].map((share) => [`${share * 100} %`, share]))(
    'a state file that was cut at %s is kept, and its backup is used',
    async (_, share) => {
      const home = await sandbox();
      const { names, bad } = await bootOn(home, good.subarray(0, Math.floor(good.length * Number(share))), backup);
      expect(names).toEqual(['api', 'api', 'worker']);
      expect(bad).toHaveLength(1);
    },
  );

  test.each([
    ['zeros', Buffer.alloc(4096)],
    ['noise', Buffer.from(Array.from({ length: 4096 }, (_, i) => (i * 7919) % 256))],
    ['JSON with an invalid state', Buffer.from('{"v":1,"apps":[{"spec":null}]}')],
    ["another program's JSON", Buffer.from('[1,2,3]')],
  ])('a state file that was replaced by %s is kept, and its backup is used', async (_, bytes) => {
    const home = await sandbox();
    const { names, bad } = await bootOn(home, bytes, backup);
    expect(names).toEqual(['api', 'api', 'worker']);
    expect(bad).toHaveLength(1);
    expect(readFileSync(join(home.home, bad[0]))).toEqual(bytes);
  });
});

test('without any valid state file the list is empty, a notice explains it, and the manager works', async () => {
  const home = await sandbox();
  const { bad } = await bootOn(home, Buffer.from('garbage'), Buffer.from('rubbish'));
  expect(bad.length).toBeGreaterThanOrEqual(1);
  expect(await home.list()).toEqual([]);
  const { stderr } = await home.nclust('list');
  expect(stderr).toMatch(/state\.json\.bad-/);
  const app = await home.app('http-echo');
  expect(await app.get()).toMatchObject({ slot: '0' });
});

test('the state file is complete and changes with every command', async () => {
  const home = await sandbox();
  await home.app('keeps-alive', { name: 'api', flags: ['--no-wait'] });
  const file = join(home.home, 'state.json');
  const copy = join(home.work, 'copy.json');
  for (const words of [
    ['scale', 'api', '2'],
    ['stop', 'api'],
    ['start', 'api', '--no-wait'],
    ['delete', 'api'],
  ]) {
    copyFileSync(file, copy);
    await home.nclust(...words);
    expect(JSON.parse(readFileSync(file, 'utf8'))).not.toEqual(JSON.parse(readFileSync(copy, 'utf8')));
    expect(existsSync(join(home.home, 'state.json.bak'))).toBe(true);
  }
});
