import { get } from 'node:http';
import { describe, expect, onTestFinished, test } from 'vitest';
import { percentileMs } from '../../../helpers/ledger.js';
import { ledgerLine, startLoad } from '../../../helpers/load.js';
import { sandbox } from '../../../helpers/sandbox.js';
import { pause } from '../../../helpers/wait-for.js';

const CLIENTS = 40;
/** Some of the clients are connected to the hung worker. */
const CLIENTS_OF_ONE = CLIENTS / 2;

/** Sends a request that is never answered. */
function send(url) {
  const request = get(url);
  request.on('error', () => {});
  onTestFinished(() => void request.destroy());
}

function startClients(url) {
  const kept = startLoad(url, { connections: CLIENTS, keepAlive: true, pauseMs: 50, timeoutMs: 60_000 });
  const fresh = startLoad(url, { ratePerSecond: 10, timeoutMs: 60_000 });
  return async () => [await kept.stop(), await fresh.stop()];
}

const KINDS = [
  ['computes for ever', '/spin', 'loop-blocked', /^health: hung for \d+s in spinForEver \(hangs\.js:\d+\)$/],
  ['waits in JavaScript', '/wait', 'loop-blocked', /^health: hung for \d+s$/],
  ['waits in a system call', '/call', 'loop-blocked', /^health: hung for \d+s$/],
  ['has a full thread pool', '/pool', 'pool-stuck', /^health: had a full thread pool for \d+s$/],
];

describe.runIf(process.platform === 'linux')('hang_timeout', () => {
  test.each(KINDS)('one of four workers that %s is replaced, and the others serve', async (_, path, kind, by) => {
    const home = await sandbox();
    const app = await home.app('hangs', { instances: 4, flags: ['--hang-timeout', '10s', '--kill-timeout', '2s'] });
    const before = await app.pids();
    const stop = startClients(app.url);
    await pause(2_000);
    send(`${app.url}${path}`);
    const open = () => home.nclust('why', '--json').then((answer) => answer.json());
    await home.waitFor('the cause', async () => (await open()).some((one) => one.kind === kind), {
      deadlineMs: 10_000,
    });
    const death = await home.waitFor(
      'the death',
      async () => (await app.instances()).find(({ lastDeath }) => lastDeath)?.lastDeath,
      { deadlineMs: 40_000 },
    );
    expect(death).toMatchObject({ cause: 'unhealthy', by: expect.stringMatching(by) });
    expect(await open()).toEqual([]);
    const ledgers = await stop();
    for (const ledger of ledgers) {
      console.log(`${path}: ${ledgerLine(ledger)}, p99 ${percentileMs(ledger, 0.99).toFixed(1)} ms`);
      expect(percentileMs(ledger, 0.99)).toBeLessThan(200);
      expect(ledger.refused).toBe(0);
    }
    expect(ledgers[0].failures.length).toBeLessThan(CLIENTS_OF_ONE);
    expect(ledgers[1].failures.length).toBeLessThan(CLIENTS_OF_ONE);
    const after = await app.pids();
    expect(after).toHaveLength(4);
    expect(before.filter((pid) => after.includes(pid))).toHaveLength(3);
  });

  test('a worker that a signal has stopped is left alone, also after it goes on', async () => {
    const home = await sandbox();
    const app = await home.app('hangs', { instances: 4, flags: ['--hang-timeout', '3s'] });
    const before = await app.pids();
    const stop = startClients(app.url);
    await pause(1_000);
    process.kill(before[0], 'SIGSTOP');
    onTestFinished(() => {
      process.kill(before[0], 'SIGCONT');
    });
    const find = async () => (await home.nclust('why', '--json')).json().find((one) => one.kind === 'loop-blocked');
    await home.waitFor('the cause', async () => (await find())?.evidence.doing === 'stopped', { deadlineMs: 10_000 });
    await pause(6_000);
    expect((await find()).evidence.replacement).toEqual({ held: 'machine' });
    process.kill(before[0], 'SIGCONT');
    await home.waitFor('the end of the trouble', async () => (await find()) === undefined, { deadlineMs: 10_000 });
    await stop();
    expect(await app.pids()).toEqual(before);
  });
});
