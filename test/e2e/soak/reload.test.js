import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { frameworkApps, reloadFrameworks } from '../../helpers/framework-apps.js';
import { EVERY_REQUEST, loseNothing, otherNode, reload, serve, untilNothingIsLeftOver } from '../../helpers/reloads.js';
import { sandbox } from '../../helpers/sandbox.js';
import { tlsEnv } from '../../helpers/traffic/target.js';

const scale = Number(process.env.NCLUST_SOAK_SCALE ?? 1);
const REAL_TIMES = { slowMs: /** @type {[number, number]} */ ([2_000, 4_000]), transferMs: 1_500, timeoutMs: 10_000 };
const WORKERS = 4;
const REPLACEMENTS = Math.ceil(100 * scale);
const CLIENTS = { ...EVERY_REQUEST, slow: 8, upload: 4, download: 4 };

const nodes = [['the current one', null], ...[20, 22, 24, 26].map((major) => [String(major), otherNode(major)])].filter(([name, path]) => path !== null || name === 'the current one');

describe.each(/** @type {[string, string|null][]} */ (nodes))('Node %s', (_, node) => {
  test.each([
    ['cluster mode', WORKERS, 'http', CLIENTS],
    ['fork mode', undefined, 'http', CLIENTS],
    ['Unix socket, cluster mode', WORKERS, 'unix', CLIENTS],
    ['Unix socket, fork mode', undefined, 'unix', CLIENTS],
    ['TLS', WORKERS, 'https', CLIENTS],
    ['HTTP/2', WORKERS, 'h2', { http2: 3, 'keep-alive': 2, 'one-shot': 2 }],
    ['WebSocket', WORKERS, 'http', { websocket: 6, 'one-shot': 2 }],
  ])(`%s: ${REPLACEMENTS} replacements lose nothing`, async (mode, instances, kind, clients) => {
    const before = process.env.NCLUST_TEST_NODE;
    if (node) process.env.NCLUST_TEST_NODE = node;
    try {
      const home = await sandbox();
      const socketPath = join(home.work, 'app.sock');
      const app = await serve(home, 'serves-all', { instances, env: { ...tlsEnv, ...(kind === 'unix' ? { SOCKET: socketPath } : { PROTOCOL: kind }) } });
      const target = kind === 'unix' ? { socketPath } : { url: kind === 'http' ? app.url : app.url.replace('http:', 'https:') };
      const times = Math.ceil(REPLACEMENTS / (instances ?? 1));
      await loseNothing(target, clients, async () => {
        for (let n = 0; n < times; n += 1) process.stdout.write(`${mode}, reload ${n + 1} of ${times}: ${(await reload(home, app)).toFixed(0)} ms\n`);
      }, REAL_TIMES);
      await untilNothingIsLeftOver(home);
    } finally {
      if (before === undefined) delete process.env.NCLUST_TEST_NODE;
      else process.env.NCLUST_TEST_NODE = before;
    }
  });
});

test.each(frameworkApps().map((app) => /** @type {const} */ ([app.name, app])))('%s: 10 reloads lose nothing', async (name, app) => {
  const home = await sandbox();
  expect(await reloadFrameworks(home, { apps: [app], times: Math.ceil(10 * scale) })).toEqual({ [name]: 0 });
});
