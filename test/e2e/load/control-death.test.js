import { expect, test } from 'vitest';
import { ledgerLine, startLoad } from '../../helpers/load.js';
import { createRandom } from '../../helpers/random.js';
import { sandbox } from '../../helpers/sandbox.js';
import { pause } from '../../helpers/wait-for.js';

/** @returns {Promise<number>}  In ms. */
async function killControl(home) {
  const { controlPid } = await home.waitFor('control', () => home.daemon());
  const started = performance.now();
  process.kill(controlPid, 'SIGKILL');
  await home.waitFor('the next control', async () => (await home.daemon()).controlPid !== controlPid);
  return performance.now() - started;
}

test('10 kills of control under load fail no request, restart no worker and keep the list', async () => {
  const home = await sandbox();
  const app = await home.app('http-echo', { instances: 2 });
  await home.nclust('restart', app.name);
  const facts = async () =>
    (await app.instances()).map(({ id, pid, restarts, startedAtMs, createdAtMs, generation, status, addresses }) => ({
      id,
      pid,
      restarts,
      startedAtMs,
      createdAtMs,
      generation,
      status,
      addresses,
    }));
  const before = await facts();
  const load = startLoad(app.url, { connections: 4, timeoutMs: 4_000 });
  const random = createRandom(3);
  const absences = [];
  for (let kill = 0; kill < 10; kill += 1) {
    absences.push(await killControl(home));
    expect(await facts()).toEqual(before);
    // Pauses for about a second, because control restarts at most once a second. Without a pause,
    // the restart would not happen at once.
    await pause(900 + random() * 300);
  }
  const ledger = await load.stop();
  console.log(ledgerLine(ledger), `control was away for ${absences.map((ms) => ms.toFixed(0)).join(' ')} ms`);

  expect(ledger).toMatchObject({ refused: 0, reset: 0, hung: 0, truncated: 0, wrong: 0, status: 0 });
  expect(Math.max(...absences)).toBeLessThan(1_000);
  expect(await facts()).toEqual(before);
});
