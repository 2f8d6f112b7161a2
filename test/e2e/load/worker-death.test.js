import { expect, test } from 'vitest';
import { ledgerLine, startLoad } from '../../helpers/load.js';
import { createRandom } from '../../helpers/random.js';
import { sandbox } from '../../helpers/sandbox.js';
import { pause } from '../../helpers/wait-for.js';

const isReplaced = async (app, dead) => (await app.instances()).every((slot) => slot.isReady && slot.pid !== dead);

test('20 kills of a worker fail only the requests inside it, and leave no client hanging', async () => {
  const home = await sandbox();
  const app = await home.app('http-echo', {
    instances: 2,
    flags: ['--min-uptime', '100', '--max-restarts', '100', '--exp-backoff-restart-delay', '1'],
  });
  const load = startLoad(app.url, { connections: 4, timeoutMs: 4_000 });
  const random = createRandom(7);
  for (let kill = 0; kill < 20; kill += 1) {
    const pids = (await app.pids()).filter(Boolean);
    const victim = pids[Math.floor(random() * pids.length)];
    process.kill(victim, 'SIGKILL');
    await home.waitFor(`replacement ${kill + 1}`, () => isReplaced(app, victim));
    const { ok } = load.ledger;
    await home.waitFor('more answers', () => load.ledger.ok > ok + 50);
  }
  const ledger = await load.stop();
  console.log(ledgerLine(ledger));

  expect(ledger).toMatchObject({ refused: 0, hung: 0, wrong: 0, status: 0 });
  // Each kill resets only the connections that the dead worker had accepted, so at most four.
  expect(ledger.reset + ledger.truncated).toBeLessThanOrEqual(20 * 4);
  expect((await app.instances()).reduce((sum, slot) => sum + slot.restarts, 0)).toBe(20);
});

test('clients of a single worker are not refused while it is replaced', async () => {
  const home = await sandbox();
  const app = await home.app('http-echo', {
    flags: ['--min-uptime', '100', '--max-restarts', '100', '--exp-backoff-restart-delay', '1'],
  });
  const load = startLoad(app.url, { connections: 4, timeoutMs: 4_000 });
  for (let kill = 0; kill < 8; kill += 1) {
    const [victim] = await app.pids();
    process.kill(victim, 'SIGKILL');
    await home.waitFor(`replacement ${kill + 1}`, () => isReplaced(app, victim));
    await pause(150);
  }
  const ledger = await load.stop();
  console.log(ledgerLine(ledger));
  expect(ledger).toMatchObject({ refused: 0, hung: 0, wrong: 0, status: 0 });
  expect(ledger.reset + ledger.truncated).toBeLessThanOrEqual(8 * 4);
});

test('restart of a cluster refuses no client', async () => {
  const home = await sandbox();
  const app = await home.app('http-echo', { instances: 2 });
  const load = startLoad(app.url, { connections: 4, timeoutMs: 4_000 });
  for (let restart = 0; restart < 3; restart += 1)
    expect(await home.nclust('restart', app.name)).toMatchObject({ exitStatus: 0 });
  const ledger = await load.stop();
  console.log(ledgerLine(ledger));
  expect(ledger).toMatchObject({ refused: 0, reset: 0, hung: 0, truncated: 0, wrong: 0, status: 0 });
});
