import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { frameworkApps, reloadFrameworks } from '../../helpers/framework-apps.js';
import {
  EVERY_REQUEST,
  loseNothing,
  majorUnderTest,
  otherNode,
  reload,
  serve,
  untilNothingIsLeftOver,
} from '../../helpers/reloads.js';
import { nodeUnderTest, sandbox } from '../../helpers/sandbox.js';
import { soakScale } from '../../helpers/soak.js';
import { tlsEnv } from '../../helpers/traffic/target.js';

const REAL_TIMES = { slowMs: [2_000, 4_000], transferMs: 1_500, timeoutMs: 10_000 };
const WORKERS = 4;
const REPLACEMENTS = Math.ceil(100 * soakScale);
const CLIENTS = { ...EVERY_REQUEST, slow: 8, upload: 4, download: 4 };

/** Supported versions. The current version is tested even if it is not in this list. */
const PROMISED = [20, 22, 24, 26];
const current = majorUnderTest();
const nodes = [...new Set([current, ...PROMISED])].map((major) => ({
  major,
  path: major === current ? nodeUnderTest() : otherNode(major),
}));
const missing = nodes.filter(({ path }) => path === null).map(({ major }) => major);

test.runIf(soakScale >= 1)('every supported Node.js version is installed for a run at full length', () => {
  expect(
    missing,
    `Node ${missing.join(', ')} is neither the current one (${current}) nor in test/nodes. Run: npm ` +
      `--prefix test/nodes ci`,
  ).toEqual([]);
});

describe.each(nodes.flatMap(({ major, path }) => (path === null ? [] : [{ major, path }])))(
  'Node.js $major',
  ({ path }) => {
    test.each([
      ['cluster mode', WORKERS, 'http', CLIENTS],
      ['fork mode', undefined, 'http', CLIENTS],
      ['Unix socket, cluster mode', WORKERS, 'unix', CLIENTS],
      ['Unix socket, fork mode', undefined, 'unix', CLIENTS],
      ['TLS', WORKERS, 'https', CLIENTS],
      ['HTTP/2', WORKERS, 'h2', { http2: 3, 'keep-alive': 2, 'one-shot': 2 }],
      ['WebSocket', WORKERS, 'http', { websocket: 6, 'one-shot': 2 }],
    ])(`%s: ${REPLACEMENTS} replacements lose no request`, async (mode, instances, kind, clients) => {
      const before = process.env.NCLUST_TEST_NODE;
      process.env.NCLUST_TEST_NODE = path;
      try {
        const home = await sandbox();
        const socketPath = join(home.work, 'app.sock');
        const app = await serve(home, 'serves-all', {
          instances,
          env: { ...tlsEnv, ...(kind === 'unix' ? { SOCKET: socketPath } : { PROTOCOL: kind }) },
        });
        const target =
          kind === 'unix' ? { socketPath } : { url: kind === 'http' ? app.url : app.url.replace('http:', 'https:') };
        const times = Math.ceil(REPLACEMENTS / (instances ?? 1));
        await loseNothing(
          target,
          clients,
          async () => {
            for (let n = 0; n < times; n += 1)
              process.stdout.write(
                `${mode}, reload ${n + 1} of ${times}: ${(await reload(home, app)).toFixed(0)} ms\n`,
              );
          },
          REAL_TIMES,
        );
        await untilNothingIsLeftOver(home);
      } finally {
        if (before === undefined) delete process.env.NCLUST_TEST_NODE;
        else process.env.NCLUST_TEST_NODE = before;
      }
    });
  },
);

test.each(frameworkApps().map((app) => [app.name, app]))('%s: 10 reloads lose no request', async (name, app) => {
  const home = await sandbox();
  expect(await reloadFrameworks(home, { apps: [app], times: Math.ceil(10 * soakScale) })).toEqual({ [name]: 0 });
});
