import { expect, test } from 'vitest';
import { ledgerLine, startLoad } from '../../helpers/load.js';
import { createRandom } from '../../helpers/random.js';
import { sandbox } from '../../helpers/sandbox.js';
import { pause } from '../../helpers/wait-for.js';

/**
 * Kills control and waits until the next one answers.
 * @param {import('../../helpers/sandbox.js').Sandbox} home
 * @returns {Promise<number>}  How long that took, in ms.
 */
async function killControl(home) {
  const { controlPid } = await home.waitFor('control', () => home.daemon());
  const started = performance.now();
  process.kill(controlPid, 'SIGKILL');
  await home.waitFor('the next control', async () => (await home.daemon()).controlPid !== controlPid);
  return performance.now() - started;
}

test('SIGKILL of control, 10 times under load: no request fails, no worker notices, the list is the same', async () => {
  const home = await sandbox();
  const app = await home.app('http-echo', { instances: 2 });
  await home.nclust('restart', app.name);
  const facts = async () => (await app.instances()).map(({ id, pid, restarts, startedAtMs, createdAtMs, generation, status, addresses }) => ({ id, pid, restarts, startedAtMs, createdAtMs, generation, status, addresses }));
  const before = await facts();
  const load = startLoad(app.url, { connections: 4, timeoutMs: 4_000 });
  const random = createRandom(3);
  const absences = [];
  for (let kill = 0; kill < 10; kill += 1) {
    absences.push(await killControl(home));
    expect(await facts()).toEqual(before);
    // Control comes back at once, then at most once a second: so that a second death in the same second waits.
    await pause(900 + random() * 300);
  }
  const ledger = await load.stop();
  console.log(ledgerLine(ledger), `control was away for ${absences.map((ms) => ms.toFixed(0)).join(' ')} ms`);

  expect(ledger).toMatchObject({ refused: 0, reset: 0, hung: 0, truncated: 0, wrong: 0, status: 0 });
  expect(Math.max(...absences)).toBeLessThan(1_000);
  expect(await facts()).toEqual(before);
});

test.each([
  ['start', ['start', 'SCRIPT', '--name', 'second', '-i', '2', '--min-uptime', '200'], (/** @type {string[]} */ names) => names.filter((name) => name === 'second').length === 2],
  ['scale up', ['scale', 'http-echo', '4'], (/** @type {string[]} */ names) => names.filter((name) => name === 'http-echo').length === 4],
  ['scale down', ['scale', 'http-echo', '1'], (/** @type {string[]} */ names) => names.filter((name) => name === 'http-echo').length === 1],
  ['restart', ['restart', 'http-echo'], (/** @type {string[]} */ names) => names.length === 2],
  ['stop', ['stop', 'worker'], (/** @type {string[]} */ names) => names.length === 3],
])('SIGKILL of control in the middle of %s: the command succeeds, what is wanted is reached, no request fails', async (verb, words, isReached) => {
  for (const afterMs of [0, 60, 140, 260]) {
    const home = await sandbox();
    const app = await home.app('http-echo', { instances: 2 });
    if (verb === 'stop') await home.app('keeps-alive', { name: 'worker', flags: ['--min-uptime', '100'] });
    const script = home.place('keeps-alive', 'second.js');
    const { controlPid } = await home.daemon();
    const load = startLoad(app.url, { connections: 2, timeoutMs: 4_000 });

    const command = home.nclust(...words.map((word) => (word === 'SCRIPT' ? script : word)));
    await pause(afterMs);
    process.kill(controlPid, 'SIGKILL');
    expect(await command, `killed after ${afterMs} ms`).toMatchObject({ exitStatus: 0 });

    const slots = await home.waitFor('what is wanted', async () => {
      const listed = await home.list();
      const isSettled = listed.every((slot) => slot.status === (slot.name === 'worker' && verb === 'stop' ? 'stopped' : 'online'));
      return isSettled && isReached(listed.map((slot) => slot.name)) && listed;
    });
    const ledger = await load.stop();
    console.log(`${verb}, killed after ${afterMs} ms: ${ledgerLine(ledger)}`);
    expect(ledger).toMatchObject({ refused: 0, reset: 0, hung: 0, truncated: 0, wrong: 0, status: 0 });
    const running = home.processes().filter((one) => one.role === 'app').map((one) => one.pid);
    expect(running.sort()).toEqual(slots.map((slot) => slot.pid).filter(Boolean).sort());
    await home.close();
  }
});
