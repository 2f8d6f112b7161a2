import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { instancesOf } from '../helpers/processes.js';
import { sandbox } from '../helpers/sandbox.js';

// An app that ends its keeper at its start, as a process of the same user can. The next keeper
// starts it again.

const PATIENCE = { deadlineMs: 90_000 };
const TEST_MS = 240_000;
/** An orphan, its surplus successor that is being ended, and the present instance. */
const PROCESSES_MAX = 3;

/** @param {{ harm: string, instances?: number }} o */
async function begin({ harm, instances }) {
  const home = await sandbox({ isHostile: true });
  const victim = await home.app('http-echo', { name: 'victim', instances: 2 });
  const armed = join(home.work, 'armed');
  writeFileSync(armed, '');
  let most = 0;
  const bad = await home.app('ends-its-keeper', {
    name: 'bad',
    instances,
    flags: ['--no-wait', '--kill-timeout', '1000'],
    env: { ARMED: armed, HARM: harm },
  });
  /** Also counts the processes of the app at each look. */
  const watch = (/** @type {string} */ what, /** @type {() => unknown} */ predicate) =>
    home.waitFor(
      what,
      () => {
        most = Math.max(
          most,
          instancesOf(home.home).filter(({ command }) => command.includes('ends-its-keeper')).length,
        );
        return predicate();
      },
      PATIENCE,
    );
  const log = () => readFileSync(join(home.home, 'nclust.log'), 'utf8');
  const keepers = () => log().split('"event":"keeper-started"').length - 1;
  return { home, victim, bad, watch, log, keepers, armed, most: () => most };
}

test.each([
  ['fork', undefined],
  ['cluster', 1],
])(
  'an app (%s) that ends keepers over its channel gets none after the third, until its restart',
  { timeout: TEST_MS },
  async (_mode, instances) => {
    const { home, victim, bad, watch, log, keepers, armed, most } = await begin({ harm: 'with a channel', instances });
    await watch('the app to run without a channel', async () => (await bad.get()).hasChannel === false);
    expect(keepers()).toBeLessThanOrEqual(6);
    expect(most()).toBeLessThanOrEqual(PROCESSES_MAX);
    expect(log()).toContain('"event":"channel-withheld","app":"bad"');
    await home.waitFor('the app to be online', async () =>
      (await home.list()).every(({ status, pid }) => status === 'online' && pid > 0),
    );
    const { stdout, stderr } = await home.nclust('list');
    expect(stdout + stderr).toMatch(/"bad" \(id \d+\) runs without a channel to the manager/);
    expect((await home.nclust('why', 'bad')).stdout).toContain('runs without a channel to the manager');
    expect((await home.nclust('doctor')).stdout).toMatch(/"bad" \(id \d+\) runs without a channel/);
    expect(await victim.get()).toMatchObject({ pid: expect.any(Number) });
    expect((await home.nclust('logs', 'bad', '--nostream')).stdout).toContain('without a channel');

    rmSync(armed);
    expect(await home.nclust('restart', 'bad')).toMatchObject({ exitStatus: 0 });
    expect(await bad.get()).toEqual({ hasChannel: true });
    expect((await home.nclust('list')).stdout).not.toContain('runs without a channel');
  },
);

test('an app that ends every keeper has a bounded number of processes', { timeout: TEST_MS }, async () => {
  const { home, watch, keepers, most } = await begin({ harm: 'always' });
  await watch('ten keepers', () => keepers() >= 10);
  expect(most()).toBeLessThanOrEqual(PROCESSES_MAX);
  expect(await home.nclust('delete', 'bad', '--no-wait')).toMatchObject({ exitStatus: 0 });
  await home.waitFor(
    'the app to be gone',
    () => instancesOf(home.home).every(({ command }) => !command.includes('ends-its-keeper')),
    PATIENCE,
  );
});
