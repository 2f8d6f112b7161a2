import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { fixturePath } from '../helpers/fixtures.js';
import { ledgerTable } from '../helpers/ledger-table.js';
import { NOTHING_LOST } from '../helpers/ledger.js';
import { loseNothing, serve, untilNothingIsLeftOver } from '../helpers/reloads.js';
import { sandbox } from '../helpers/sandbox.js';
import { startTraffic } from '../helpers/traffic/traffic.js';

const CLIENTS = { 'one-shot': 2, 'keep-alive': 2, slow: 1 };

/**
 * Replaces the code of the app. The new code first records that nclust has started it.
 * @returns {{ tried: () => number }}
 */
function deploy(home, app, code) {
  const file = join(home.work, 'tried');
  writeFileSync(app.script, `require('node:fs').appendFileSync(${JSON.stringify(file)}, '.');\n${code}`);
  return { tried: () => (existsSync(file) ? readFileSync(file, 'utf8').length : 0) };
}

const fixtureCode = (fixture) => readFileSync(fixturePath(fixture), 'utf8');

describe('a reload to bad code', () => {
  test.each([
    ['throws at load', 'crashes-at-boot', /the database is not there/],
    ['throws after 200 ms', 'throws-after-200ms', /throws-after-200ms did/],
    ['exits with 0', 'exits-by-itself', /code 0/],
    ['never listens', 'keeps-alive', /1\.5s|not listen/],
    ['listens on another port', 'listens-elsewhere', /listens-elsewhere listens somewhere/],
    ['hangs before it listens', 'hangs-at-boot', /hangs-at-boot begins/],
    ['loops after it listens', 'loops-after-listening', /loops-after-listening begins to loop/],
  ])(
    'code that %s is tried by one worker, the old workers keep serving, and the command prints the reason',
    async (_, fixture, reason) => {
      const home = await sandbox();
      const app = await serve(home, 'serves-all', {
        instances: 3,
        flags: ['--listen-timeout', '1500', '--kill-timeout', '1000'],
      });
      const before = await app.pids();
      const { tried } = deploy(home, app, fixtureCode(fixture));
      const ledger = await loseNothing(app, CLIENTS, async () => {
        const result = await home.nclust('reload', app.name);
        expect(result.exitStatus, result.stdout + result.stderr).toBe(1);
        expect(result.stderr).toMatch(reason);
        expect(result.stderr).toMatch(/3 old instances are still serving/);
      });
      expect(tried()).toBe(1);
      expect(await app.pids()).toEqual(before);
      expect(
        [...ledger.byPid.keys()].filter((pid) => !before.includes(pid)),
        'who else has answered',
      ).toEqual([]);
      await untilNothingIsLeftOver(home);
    },
  );

  test('a reload of several apps prints one line for each app, the failed app last', async () => {
    const home = await sandbox();
    const bad = await serve(home, 'serves-all', { name: 'bad', instances: 2 });
    await home.app('http-echo', { name: 'web' });
    deploy(home, bad, fixtureCode('crashes-at-boot'));
    const { exitStatus, stderr } = await home.nclust('reload', 'all');
    expect(exitStatus).toBe(1);
    expect(stderr.split('\n')).toEqual([
      'nclust: 1 of 2 apps failed.',
      '  web  done, 1 instance',
      expect.stringMatching(
        /^ {2}bad {2}failed: instance 0 exited .*, "Error: .*database is not there" in .*; the old .* 1$/,
      ),
      'next: nclust logs bad --err',
      '',
    ]);
  });

  test('--max-surge 2 lets at most two workers try bad code', async () => {
    const home = await sandbox();
    const app = await serve(home, 'serves-all', { instances: 3 });
    const before = await app.pids();
    const { tried } = deploy(home, app, fixtureCode('crashes-at-boot'));
    await loseNothing(app, CLIENTS, async () =>
      expect((await home.nclust('reload', app.name, '--max-surge', '2')).exitStatus).toBe(1),
    );
    expect(tried()).toBeLessThanOrEqual(2);
    expect(await app.pids()).toEqual(before);
  });

  test.each([
    [
      'code with a syntax error',
      (script) => writeFileSync(script, 'const = 1;\n'),
      [],
      /was refused: .* does not parse: SyntaxError/,
    ],
    ['a deleted script', (script) => rmSync(script), [], /was refused: its script .* is missing/],
    ['a missing interpreter', () => {}, ['--interpreter', '/nowhere/node'], /"\/nowhere\/node"/],
    ['an invalid port', () => {}, ['--update-env', { env: { PORT: '99999' } }], /was refused: PORT is 99999/],
  ])('%s is refused before anything changes', async (_, spoil, words, reason) => {
    const home = await sandbox();
    const app = await serve(home, 'serves-all', { instances: 2 });
    const facts = async () =>
      (await app.instances()).map(({ pid, generation, restarts, lastDeath }) => ({
        pid,
        generation,
        restarts,
        lastDeath,
      }));
    const before = await facts();
    spoil(app.script);
    expect(await home.nclust('reload', app.name, ...words)).toMatchObject({
      exitStatus: 1,
      stderr: expect.stringMatching(reason),
    });
    expect(await facts()).toEqual(before);
  });

  test('a reload to good code succeeds after a reload to bad code', async () => {
    const home = await sandbox();
    const app = await serve(home, 'serves-all', { instances: 2, flags: ['--min-uptime', '100'] });
    const good = readFileSync(app.script, 'utf8');
    const before = await app.pids();
    await loseNothing(app, CLIENTS, async () => {
      deploy(home, app, fixtureCode('crashes-at-boot'));
      expect((await home.nclust('reload', app.name)).exitStatus).toBe(1);
      writeFileSync(app.script, good);
      expect((await home.nclust('reload', app.name)).exitStatus).toBe(0);
    });
    expect((await app.pids()).some((pid) => before.includes(pid))).toBe(false);
  });
});

test('a rollback window gives the traffic back to the old workers when the new code starts to answer 500', async () => {
  const home = await sandbox();
  const app = await serve(home, 'http-echo', { instances: 2, flags: ['--min-uptime', '300'] });
  const before = await app.pids();
  deploy(home, app, fixtureCode('fails-from-third-second'));
  const traffic = startTraffic(app, { 'one-shot': 2, 'keep-alive': 2 }, { pauseMs: 5 });
  const result = await home.nclust('reload', app.name, '--rollback-window', '20s');
  await untilNothingIsLeftOver(home);
  const answered = traffic.ledger.ok;
  await home.waitFor('the old workers to answer again', () => traffic.ledger.ok > answered + 20);
  const ledger = await traffic.stop();
  console.log(ledgerTable(ledger));

  expect(result.exitStatus, result.stdout + result.stderr).toBe(1);
  expect(result.stderr).toMatch(/rolled back|took the traffic back/i);
  expect(await app.pids()).toEqual(before);
  expect(ledger.status).toBeGreaterThan(0);
  expect(ledger).toMatchObject({ ...NOTHING_LOST, status: ledger.status });
  const times = ledger.failures.map(({ atMs }) => atMs);
  expect(Math.max(...times) - Math.min(...times)).toBeLessThan(5_000);
});

test('a rollback window gives the traffic back to the old workers when a new one crashes after cut-over', async () => {
  const home = await sandbox();
  const app = await serve(home, 'http-echo', { instances: 2, flags: ['--min-uptime', '300'] });
  const before = await app.pids();
  deploy(home, app, `${fixtureCode('http-echo')}\nsetTimeout(() => { throw new Error('out of luck'); }, 2500);\n`);
  // Uses few clients, because the crash of a worker may break the requests inside this worker.
  const traffic = startTraffic(app, { 'one-shot': 2 }, { pauseMs: 5 });
  const result = await home.nclust('reload', app.name, '--rollback-window', '20s');
  await untilNothingIsLeftOver(home);
  const ledger = await traffic.stop();
  console.log(ledgerTable(ledger));

  expect(result.exitStatus, result.stdout + result.stderr).toBe(1);
  expect(await app.pids()).toEqual(before);
  expect(ledger).toMatchObject({ refused: 0, hung: 0, wrong: 0, status: 0 });
  expect(ledger.reset + ledger.truncated).toBeLessThanOrEqual(4);
});
