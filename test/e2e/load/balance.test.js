import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { ask, busiest, openConnections } from '../../helpers/connections.js';
import { ledgerTable } from '../../helpers/ledger-table.js';
import { NOTHING_LOST, percentileMs } from '../../helpers/ledger.js';
import { startLoad } from '../../helpers/load.js';
import { reload, serve } from '../../helpers/reloads.js';
import { sandbox } from '../../helpers/sandbox.js';

const WORKERS = 4;
const QUICK = ['--min-uptime', '100'];

describe('least-connections scheduling, the default', () => {
  test.each([
    [64, 'burst', 1.25],
    [64, 'one by one', 1.25],
    [16, 'burst', 1.5],
    [16, 'one by one', 1.5],
  ])('%i keep-alive connections (%s): the busiest worker has at most %d times the mean', async (count, how, bound) => {
    const home = await sandbox();
    const app = await serve(home, 'http-echo', { instances: WORKERS });
    const byPid = await openConnections({ port: app.port }, count, how);
    console.log(`${count} connections, ${how}: ${[...byPid.values()].join('/')}`);
    expect([...byPid.values()].reduce((sum, one) => sum + one, 0)).toBe(count);
    expect(busiest(byPid, WORKERS)).toBeLessThanOrEqual(bound);
  });

  test('no new request waits for a worker that is blocked for 3 s', async () => {
    const home = await sandbox();
    const app = await serve(home, 'http-echo', { instances: WORKERS });
    const blocked = ask({ port: app.port, path: '/?block=3000' });
    const outFiles = (await app.instances()).map(({ outFile }) => outFile);
    await home.waitFor('a worker to be blocked', () =>
      outFiles.some((file) => readFileSync(file, 'utf8').includes('blocks')),
    );
    const load = startLoad(app.url, { ratePerSecond: 100, timeoutMs: 10_000 });
    await blocked;
    const ledger = await load.stop();
    console.log(ledgerTable(ledger));
    expect(ledger).toMatchObject({ ...NOTHING_LOST, ok: ledger.requests });
    expect(ledger.requests).toBeGreaterThan(150);
    expect(percentileMs(ledger, 1)).toBeLessThanOrEqual(200 * Number(process.env.NCLUST_TEST_SLOWDOWN ?? 1));
  });
});

test('sticky scheduling keeps each client address on its slot, even across a reload', async () => {
  const home = await sandbox();
  const app = await serve(home, 'http-echo', { instances: WORKERS, flags: [...QUICK, '--scheduling', 'sticky'] });
  const addresses = Array.from({ length: 12 }, (_, i) => `127.0.0.${10 + i}`);
  const slotsOf = async () => {
    const slots = {};
    for (const localAddress of addresses) {
      const answers = await Promise.all(
        Array.from({ length: 4 }, () => ask({ host: '127.0.0.1', port: app.port, localAddress })),
      );
      slots[localAddress] = [...new Set(answers.map((answer) => answer.slot))];
    }
    return slots;
  };
  // Waits, because the keeper does not choose a slot whose worker does not listen yet.
  await home.waitFor('all slots to listen', async () =>
    (await app.instances()).every((slot) => slot.addresses.length > 0),
  );
  const before = await slotsOf();
  expect(Object.values(before).map((slots) => slots.length)).toEqual(addresses.map(() => 1));
  expect(new Set(Object.values(before).flat()).size).toBeGreaterThan(1);
  await reload(home, app);
  expect(await slotsOf()).toEqual(before);
});
