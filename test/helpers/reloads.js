import { execFileSync } from 'node:child_process';
import { existsSync, realpathSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect } from 'vitest';
import { ledgerTable } from './ledger-table.js';
import { NOTHING_LOST } from './ledger.js';
import { instancesOf } from './processes.js';
import { nodeUnderTest } from './sandbox.js';
import { startTraffic } from './traffic/traffic.js';

/** @import { Ledger } from './ledger.js' */
/** @import { App } from './sandbox-app.js' */
/** @import { AppOptions, Sandbox } from './sandbox.js' */
/** @import { Target } from './traffic/target.js' */
/** @import { Traffic } from './traffic/traffic.js' */

export const EVERY_REQUEST = { 'one-shot': 3, 'keep-alive': 3, pipelined: 1, slow: 2, upload: 2, download: 2 };

/**
 * Starts an app and waits until every instance listens. On a busy machine, an app that boots longer
 * than min_uptime counts as up before it listens.
 * @param {Sandbox} home
 * @param {string} fixture
 * @param {AppOptions} [o]
 */
export async function serve(home, fixture, o) {
  const app = await home.app(fixture, o);
  await home.waitFor('all to listen', async () =>
    (await app.instances()).every(({ addresses }) => addresses.length > 0),
  );
  return app;
}

/**
 * Expects that a new process replaces every old process.
 * @param {Sandbox} home
 * @param {App} app
 * @param {...string} words
 * @returns {Promise<number>}  Duration of the command, in ms.
 */
export async function reload(home, app, ...words) {
  const before = await app.pids();
  const result = await home.nclust('reload', app.name, ...words);
  expect(result, `${result.stdout}${result.stderr}${home.logTail()}`).toMatchObject({ exitStatus: 0 });
  const after = await app.instances();
  expect(after.map(({ status, isReady }) => ({ status, isReady }))).toEqual(
    before.map(() => ({ status: 'online', isReady: true })),
  );
  expect(
    after.filter(({ pid }) => before.includes(pid)),
    'processes that are still the old ones',
  ).toEqual([]);
  return result.durationMs;
}

/**
 * @param {Target} target
 * @param {Parameters<typeof startTraffic>[1]} clients
 * @param {(traffic: Traffic) => Promise<void>} act
 * @param {Parameters<typeof startTraffic>[2]} [o]
 */
export async function loseNothing(target, clients, act, o) {
  const traffic = startTraffic(target, clients, o);
  let ledger;
  try {
    await act(traffic);
  } finally {
    ledger = await traffic.stop();
    console.log(`${expect.getState().currentTestName}\n${ledgerTable(ledger)}`);
  }
  expect(ledger, ledgerTable(ledger)).toMatchObject({ ...NOTHING_LOST, ok: ledger.requests });
  for (const kind of Object.keys(clients)) expect(ledger.kinds.get(kind)?.ok, `${kind} requests`).toBeGreaterThan(0);
  return ledger;
}

/** @param {Sandbox} home */
export function untilNothingIsLeftOver(home) {
  return home.waitFor('the processes that run to be those that are listed', async () => {
    const listed = (await home.list())
      .map((slot) => slot.pid)
      .filter(Boolean)
      .sort();
    const running = instancesOf(home.home)
      .map(({ pid }) => pid)
      .sort();
    if (JSON.stringify(listed) !== JSON.stringify(running)) throw new Error(JSON.stringify({ listed, running }));
    return true;
  });
}

/** @returns {number} */
export const majorUnderTest = () =>
  Number.parseInt(execFileSync(nodeUnderTest(), ['-p', 'process.versions.node'], { encoding: 'utf8' }), 10);

/** @returns {{ major: number, path: string } | undefined} */
export function differentNode() {
  const major = majorUnderTest();
  return [24, 26, 22]
    .filter((one) => one !== major)
    .map((one) => ({ major: one, path: otherNode(one) ?? '' }))
    .find(({ path }) => path !== '');
}

/**
 * @param {number} major
 * @returns {string | null}  The path of this Node.js. Null if `npm run test:nodes` has not
 *   installed this version.
 */
export function otherNode(major) {
  const path = fileURLToPath(
    new URL(`../nodes/node_modules/node${major}-${process.platform}-${process.arch}/bin/node`, import.meta.url),
  );
  return existsSync(path) ? realpathSync(path) : null;
}
