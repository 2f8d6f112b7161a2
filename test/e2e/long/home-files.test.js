import { execFileSync } from 'node:child_process';
import { existsSync, lstatSync, mkdirSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { deleteAtRandom } from '../../helpers/random-deletions.js';
import { serve } from '../../helpers/reloads.js';
import { sandbox } from '../../helpers/sandbox.js';
import { soakSeed } from '../../helpers/soak.js';

/** @import { Stats } from 'node:fs' */
/** @import { App } from '../../helpers/sandbox-app.js' */
/** @import { Sandbox } from '../../helpers/sandbox.js' */

describe('a program that removes files of the home stops no app:', () => {
  /** @type {[string, (name: string, stat: Stats) => boolean][]} */
  const REMOVED = [
    ['nclust.sock', (name) => name === 'nclust.sock'],
    ['the lock', (name) => name.startsWith('run/keeper.')],
    ['every socket', (_, stat) => stat.isSocket()],
    ['every pipe', (_, stat) => stat.isFIFO()],
    ['every regular file', (_, stat) => stat.isFile()],
    ['the folder run', (name) => name === 'run'],
    ['the folders of logs and pids', (name) => name === 'logs' || name === 'pids'],
    ['everything', () => true],
  ];

  test.each(REMOVED)('the removal of %s stops no app', async (_, isRemoved) => {
    const home = await sandbox();
    const app = await serve(home, 'http-echo', { instances: 2 });
    const pids = await app.pids();
    const manager = await home.daemon();
    removeFrom(home.home, isRemoved);

    // The next command finds the manager at once, although it may not have put anything back yet.
    const listed = await home.nclust('jlist');
    expect(listed.json().map((one) => one.pid)).toEqual(pids);
    expect(await home.daemon()).toEqual(manager);
    expect(await home.nclust('reload', app.name)).toMatchObject({ exitStatus: 0 });
    expect(await app.get()).toMatchObject({ slot: expect.any(String) });
    await home.waitFor('the files', () =>
      ['nclust.sock', 'state.json', 'run', 'pids/http-echo-0.pid'].every((name) => existsSync(join(home.home, name))),
    );
    expect(home.processes().filter(({ role }) => role === 'keeper')).toHaveLength(1);
    await untilOutputArrives(home, app);
  });

  test.each(['controlPid', 'keeperPid'])('removal of all but the list before %s dies stops no app', async (half) => {
    const home = await sandbox();
    const app = await serve(home, 'http-echo', { instances: 2 });
    const before = await home.daemon();
    removeFrom(home.home, (name) => !name.startsWith('state.json') && name !== 'run' && name !== 'logs');
    process.kill(before[half], 'SIGKILL');
    await home.waitFor('the next one', async () => (await home.daemon())[half] !== before[half]);
    await home.waitFor('two instances', async () => (await app.instances()).every(({ status }) => status === 'online'));
    await untilOutputArrives(home, app);
    expect(await home.nclust('reload', app.name)).toMatchObject({ exitStatus: 0 });
  });

  test('list reports that the list was removed before control died, and the apps keep running', async () => {
    const home = await sandbox();
    const app = await serve(home, 'http-echo', { instances: 2 });
    const { controlPid } = await home.daemon();
    process.kill(controlPid, 'SIGSTOP');
    removeFrom(home.home, (name) => name.startsWith('state.json'));
    process.kill(controlPid, 'SIGKILL');
    const listed = await home.waitFor('the next control', async () => {
      const result = await home.nclust('list');
      return result.exitStatus === 0 && result;
    });
    expect(listed.stdout + listed.stderr).toContain('The list of apps was removed from the home, but 2 processes');
    expect(await app.get()).toMatchObject({ slot: expect.any(String) });
  });
});

describe('the folder of the home itself was removed:', () => {
  test('each command names the manager that still runs, and kill ends it and its apps', async () => {
    const home = await sandbox();
    const app = await serve(home, 'http-echo', { instances: 2 });
    const { keeperPid } = await home.daemon();
    rmSync(home.home, { recursive: true });
    for (const words of [['ping'], ['list'], ['jlist'], ['why', app.name], ['stop', app.name]]) {
      const { exitStatus, stderr } = await home.nclust(...words);
      expect([words, exitStatus, stderr]).toEqual([words, 3, expect.stringContaining(`(keeper ${keeperPid},`)]);
    }
    expect(await home.nclust('doctor')).toMatchObject({
      exitStatus: 1,
      stdout: expect.stringContaining(`(keeper ${keeperPid},`),
    });
    expect(await home.nclust('kill')).toMatchObject({ exitStatus: 0 });
    expect(home.processes()).toEqual([]);
    expect(existsSync(home.home)).toBe(false);
  });

  test('the apps go on if the folder of the home is made again at once', async () => {
    const home = await sandbox();
    const app = await serve(home, 'http-echo', { instances: 2 });
    const pids = await app.pids();
    rmSync(home.home, { recursive: true });
    mkdirSync(home.home, { mode: 0o700 });
    expect((await home.nclust('jlist')).json().map((one) => one.pid)).toEqual(pids);
  });
});

const CLEANER = '/usr/bin/systemd-tmpfiles';

test.runIf(existsSync(CLEANER))('systemd-tmpfiles may clean the folder of the home', async () => {
  const home = await sandbox();
  const app = await serve(home, 'http-echo', { instances: 2 });
  const pids = await app.pids();
  const config = join(home.work, 'clean.conf');
  writeFileSync(config, `d ${join(home.home, '..')} - - - 1s\nx ${home.work}\n`);
  for (const name of readdirSync(home.home, { recursive: true, encoding: 'utf8' })) {
    const path = join(home.home, name);
    if (!lstatSync(path).isFIFO()) utimesSync(path, 1, 1);
  }
  await home.waitFor('the cleaner to remove the socket', () => {
    execFileSync(CLEANER, ['--clean', config], { stdio: 'ignore' });
    return !existsSync(join(home.home, 'state.json'));
  });
  expect((await home.nclust('jlist')).json().map((one) => one.pid)).toEqual(pids);
});

const seed = soakSeed('test/e2e/long/home-files.test.js', 'test:long');

test(`20 random deletions in the home lose no request (seed ${seed})`, async () => {
  await deleteAtRandom(await sandbox(), { deletions: 20, seed });
});

/**
 * Control notices after a second that a log file was removed.
 * @param {Sandbox} home
 * @param {App} app
 */
async function untilOutputArrives(home, app) {
  await home.waitFor('the output', async () => {
    await app.get('/?block=1');
    return (await home.nclust('logs', '--nostream')).stdout.includes('blocks');
  });
}

/**
 * @param {string} home
 * @param {(name: string, stat: Stats) => boolean} isRemoved
 */
function removeFrom(home, isRemoved) {
  for (const name of readdirSync(home, { recursive: true, encoding: 'utf8' })) {
    const stat = lstatSync(join(home, name), { throwIfNoEntry: false });
    if (stat && isRemoved(name, stat)) rmSync(join(home, name), { recursive: true });
  }
}
