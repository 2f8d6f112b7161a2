import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { EVERY_REQUEST, loseNothing, otherNode, reload, serve } from '../../../helpers/reloads.js';
import { sandbox } from '../../../helpers/sandbox.js';
import { tlsEnv } from '../../../helpers/traffic/target.js';

const QUICK = ['--min-uptime', '100'];

describe('a reload loses no request', () => {
  test.each([
    ['fork mode', undefined],
    ['cluster mode', 2],
  ])('2 reloads over a Unix socket in %s lose no request', async (_, instances) => {
    const home = await sandbox();
    const socketPath = join(home.work, 'app.sock');
    const app = await serve(home, 'serves-all', { instances, flags: QUICK, env: { SOCKET: socketPath } });
    await loseNothing({ socketPath }, EVERY_REQUEST, () => reloadTwice(home, app));
  });

  // The headers of these downloads promise to keep the connection, because the drain starts later.
  // When the download ends, the deadline of idle connections has passed, but the client still uses
  // the connection for its next request.
  test('a reload with downloads that outlast the deadline of idle connections loses no request', async () => {
    const home = await sandbox();
    const app = await serve(home, 'serves-all', { instances: 2, flags: QUICK });
    await loseNothing(
      app,
      { download: 120, 'one-shot': 1 },
      async ({ ledger }) => {
        await home.waitFor('the downloads to start', () => ledger.ok >= 10);
        await reload(home, app);
      },
      { transferMs: 1_700, pauseMs: 1 },
    );
  });

  test('a reload with options that start all new workers beside all old ones loses no request', async () => {
    const home = await sandbox();
    const app = await serve(home, 'serves-all', { instances: 3, flags: QUICK });
    await loseNothing(app, EVERY_REQUEST, async () => {
      await reload(home, app, '--max-surge', '3');
      await reload(home, app, '--max-unavailable', '1');
    });
  });

  test.each([
    ['slow answers', { ANSWER_MS: '20' }],
    ['answers in two parts', { PART_MS: '5' }],
    ['a server that speaks first', { GREETS: '1' }],
    ['TLS', tlsEnv],
  ])('2 reloads of 2 workers over plain TCP lose no request: %s', async (_, env) => {
    const home = await sandbox();
    const app = await serve(home, 'answers-lines', { instances: 2, flags: QUICK, env });
    const url = 'TLS_CERT' in env ? app.url.replace('http://127.0.0.1', 'https://localhost') : app.url;
    await loseNothing({ url }, { line: 20 }, () => reloadTwice(home, app), { leastPauseMs: 40, pauseMs: 20 });
  });

  test.skipIf(!otherNode(24))('a reload to another version of Node.js loses no request', async () => {
    const home = await sandbox();
    const app = await serve(home, 'serves-all', { instances: 2, flags: QUICK });
    const interpreter = otherNode(24);
    await loseNothing(app, EVERY_REQUEST, async () => void (await reload(home, app, '--interpreter', interpreter)));
    expect((await app.instances()).map((slot) => slot.nodeVersion)).toEqual([
      expect.stringMatching(/24\./),
      expect.stringMatching(/24\./),
    ]);
  });
});

async function reloadTwice(home, app) {
  await reload(home, app);
  await reload(home, app);
}
