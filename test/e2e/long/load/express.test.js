import { describe, expect, test } from 'vitest';
import { ledgerLine, startLoad } from '../../../helpers/load.js';
import { takePort } from '../../../helpers/ports.js';
import { openSandbox, sandbox } from '../../../helpers/sandbox.js';
import { placeTutorialApp, workForOneCoreAndABit } from '../../../helpers/tutorial-app.js';
import { pause } from '../../../helpers/wait-for.js';

const RATE = 50;
/**
 * Time limit for an answer, in ms. It is long, because a shared machine may be too slow for RATE,
 * and a late answer must not count as lost.
 */
const PATIENCE_MS = 60_000;
const SECONDS = Number(process.env.NCLUST_TEST_EXPRESS_SECONDS ?? 10);

async function serveSlowRoute(file, flags) {
  const home = openSandbox();
  try {
    const port = await takePort();
    // Measures the machine now, because the speed of a shared machine varies.
    const work = workForOneCoreAndABit(RATE);
    const result = await home.nclust('start', placeTutorialApp(home.work, file), '--name', 'tutorial', ...flags, {
      env: { PORT: String(port), WORK: String(work) },
    });
    expect(result).toMatchObject({ exitStatus: 0 });
    const load = startLoad(`http://127.0.0.1:${port}/api/slow`, { ratePerSecond: RATE, timeoutMs: PATIENCE_MS });
    await pause(SECONDS * 1_000);
    const ledger = await load.stop();
    console.log(`${file} ${flags.join(' ')}: ${ledgerLine(ledger)}; by worker ${[...ledger.byPid.values()].join('/')}`);
    return { ledger, workers: (await home.list()).length };
  } finally {
    await home.close();
  }
}

describe('the Express app of the tutorials with 50 requests/s to its CPU-bound route', () => {
  test('an Express app answers every request on all workers under -i max', async () => {
    const { ledger, workers } = await serveSlowRoute('express-tutorial.js', ['-i', 'max']);
    expect(ledger).toMatchObject({ refused: 0, reset: 0, hung: 0, truncated: 0, wrong: 0, status: 0 });
    expect(ledger.byPid.size).toBe(workers);
  });

  test('an Express app that itself forks answers every request on all workers', async () => {
    const { ledger, workers } = await serveSlowRoute('express-cluster-tutorial.js', ['-i', 'max']);
    expect(ledger).toMatchObject({ refused: 0, reset: 0, hung: 0, truncated: 0, wrong: 0, status: 0 });
    expect(ledger.byPid.size).toBe(workers);
  });

  test('an Express app with a single process falls behind', async () => {
    const { ledger } = await serveSlowRoute('express-tutorial.js', []);
    const times = [...ledger.latenciesMs].sort((a, b) => a - b);
    expect(times.at(-1) ?? Infinity).toBeGreaterThan(1_000);
  });
});

test('the Express app of the tutorials answers its light route from every worker', async () => {
  const home = await sandbox();
  const port = await takePort();
  await home.nclust('start', placeTutorialApp(home.work, 'express-tutorial.js'), '-i', '2', {
    env: { PORT: String(port) },
  });
  const load = startLoad(`http://127.0.0.1:${port}/`, { connections: 8, timeoutMs: 4_000 });
  await home.waitFor('an answer from both workers', () => load.ledger.byPid.size === 2);
  expect(await load.stop()).toMatchObject({ refused: 0, reset: 0, hung: 0, truncated: 0, wrong: 0, status: 0 });
});
