import { describe, expect, test } from 'vitest';
import { ledgerLine, startLoad } from '../../helpers/load.js';
import { killIfThere, instancesOf, isRunning } from '../../helpers/processes.js';
import { runProgram } from '../../helpers/run-program.js';
import { nodeUnderTest, sandbox } from '../../helpers/sandbox.js';

const version = (await runProgram(nodeUnderTest(), ['-p', 'process.versions.node'], { env: {} }).done).stdout.trim();
const [major, minor] = version.split('.').map(Number);
const bindsBeside = major > 22 || (major === 22 && minor >= 12);

const untilReplaced = (home, old) =>
  home.waitFor(
    'all workers to be children of one new keeper, and no orphan',
    async () => {
      const slots = await home.list();
      const listed = slots.map((slot) => slot.pid).sort();
      const running = instancesOf(home.home)
        .map((one) => one.pid)
        .sort();
      const isSettled =
        slots.every((slot) => slot.status === 'online') &&
        JSON.stringify(listed) === JSON.stringify(running) &&
        !listed.some((pid) => old.includes(pid));
      const keepers = home.processes().filter((one) => one.role === 'keeper');
      if (!isSettled || keepers.length !== 1)
        throw new Error(
          JSON.stringify({ listed, running, keepers: keepers.length, status: slots.map((slot) => slot.status) }),
        );
      return true;
    },
    { deadlineMs: 20_000 },
  );

/**
 * If control and keeper have died, the orphans must release the port. When the last orphan closes
 * its socket, the kernel resets a connection that has come into the queue of this socket in the
 * last 0.1 ms. This happens to one connection in 3 of 390 takeovers, and Node.js cannot prevent it.
 * Since Node.js 22.12, the keeper binds the new socket before the orphans close the old socket, so
 * the kernel refuses no connection. In older versions, the kernel refuses connections in the one
 * instant without a socket.
 */
function expectOneInstant(ledger) {
  expect(ledger).toMatchObject({ hung: 0, truncated: 0, wrong: 0, status: 0 });
  const times = ledger.failures.map((failure) => failure.atMs);
  if (times.length > 0) expect(Math.max(...times) - Math.min(...times)).toBeLessThan(500);
  if (!bindsBeside) return;
  expect(ledger.refused).toBe(0);
  expect(ledger.reset).toBeLessThan(3);
}

const expectNothing = (ledger) =>
  expect(ledger).toMatchObject({ refused: 0, reset: 0, hung: 0, truncated: 0, wrong: 0, status: 0 });

describe.each([
  ['cluster mode', 3],
  ['fork mode', undefined],
])('death of the keeper in %s', (_, instances) => {
  test('the workers serve after SIGKILL of the keeper under load until a new keeper has replaced them', async () => {
    const home = await sandbox();
    const app = await home.app('http-echo', { instances });
    const old = await app.pids();
    const { keeperPid, controlPid } = await home.daemon();
    const load = startLoad(app.url, { connections: 4, timeoutMs: 4_000 });

    process.kill(keeperPid, 'SIGKILL');
    await untilReplaced(home, old);
    const ledger = await load.stop();
    console.log(`Node ${version}: ${ledgerLine(ledger)}`);

    expectNothing(ledger);
    expect(await home.daemon()).toMatchObject({ controlPid });
    expect(await app.instances()).toHaveLength(instances ?? 1);
  });

  test('workers serve and log after SIGKILL of keeper and control until the next command replaces them', async () => {
    const home = await sandbox();
    const app = await home.app('http-echo', { instances });
    const old = await app.pids();
    const { keeperPid, controlPid } = await home.daemon();
    const load = startLoad(app.url, { connections: 4, timeoutMs: 4_000 });

    // Stops control first, because control would start another keeper.
    process.kill(controlPid, 'SIGSTOP');
    process.kill(keeperPid, 'SIGKILL');
    process.kill(controlPid, 'SIGKILL');
    await home.waitFor('a few hundred answers without a manager', () => load.ledger.ok > 300);
    expect(old.every(isRunning)).toBe(true);
    expect(load.ledger.failures).toEqual([]);

    await home.nclust('reset', app.name);
    await untilReplaced(home, old);
    const ledger = await load.stop();
    console.log(`Node ${version}: ${ledgerLine(ledger)}`);
    expectOneInstant(ledger);
  });
});

test('ten kills of the keeper in a row leave exactly one keeper of the home', async () => {
  const home = await sandbox();
  const app = await home.app('http-echo', { instances: 2 });
  for (let kill = 0; kill < 10; kill += 1) {
    const keepers = home.processes().filter((one) => one.role === 'keeper');
    expect(keepers.length).toBeLessThanOrEqual(1);
    // Uses killIfThere(), because the keeper may have exited in the meantime.
    for (const keeper of keepers) killIfThere(keeper.pid);
    await home.waitFor('the next keeper', () => home.processes().some((one) => one.role === 'keeper'), {
      deadlineMs: 20_000,
    });
  }
  await home.waitFor(
    'one keeper, one control, two workers',
    async () => {
      const processes = home.processes();
      const roles = processes.map((one) => one.role).sort();
      // The keeper may have started, but control does not know it yet.
      const { keeperPid } = await home.daemon();
      if (!processes.some(({ pid }) => pid === keeperPid)) return false;
      const online = (await app.instances()).filter((slot) => slot.status === 'online');
      if (online.length !== 2) throw new Error(JSON.stringify(roles));
      return JSON.stringify(roles) === JSON.stringify(['app', 'app', 'control', 'keeper']);
    },
    { deadlineMs: 30_000 },
  );
  expect(await app.get()).toMatchObject({ pid: expect.any(Number) });
});

test('programs that do not listen run only once after the keeper is replaced', async () => {
  const home = await sandbox();
  await home.app('keeps-alive', { flags: ['--min-uptime', '100'] });
  await home.nclust('start', 'sleep', '--min-uptime', '100', '--', '3600');
  const old = (await home.list()).map((slot) => slot.pid);
  const { keeperPid } = await home.daemon();
  process.kill(keeperPid, 'SIGKILL');
  await untilReplaced(home, old);
});
