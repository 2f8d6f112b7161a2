import { expect, test } from 'vitest';
import { sandbox } from '../../../helpers/sandbox.js';

test('50 first commands at once start one keeper, succeed within 20 s, and list every app', async () => {
  const home = await sandbox();
  const script = home.place('keeps-alive');
  const names = Array.from({ length: 50 }, (_, i) => `app-${String(i).padStart(2, '0')}`);
  const started = performance.now();
  const results = await Promise.all(
    names.map((name) => home.nclust('start', script, '--name', name, '--no-wait', { timeoutMs: 40_000 })),
  );
  const tookMs = performance.now() - started;

  expect(results.filter((result) => result.exitStatus !== 0).map((result) => result.stderr)).toEqual([]);
  console.log(`50 first commands took ${(tookMs / 1000).toFixed(1)} s`);
  expect((await home.list()).map((slot) => slot.name).sort()).toEqual(names);
  // Waits, because a keeper that found another owner of the home may still be exiting. If two
  // keepers owned the home, neither would exit, and this would fail.
  await home.waitFor('one keeper', () => home.processes().filter((one) => one.role === 'keeper').length === 1);
  expect(home.processes().filter((one) => one.role === 'control')).toHaveLength(1);
  await home.waitFor(
    'all apps to be online',
    async () => (await home.list()).every((slot) => slot.status === 'online'),
    {
      deadlineMs: 20_000,
    },
  );
  expect(tookMs).toBeLessThan(20_000 * Number(process.env.NCLUST_TEST_SLOWDOWN ?? 1));
});
