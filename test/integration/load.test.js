import { createServer } from 'node:http';
import { createServer as createTcpServer } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { startLoad } from '../helpers/load.js';
import { takePort } from '../helpers/ports.js';
import { waitFor } from '../helpers/wait-for.js';

// The load driver runs against servers that break the zero-loss promise on purpose.

async function listen(server) {
  await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(undefined)));
  onTestFinished(() => void server.close());
  const { port } = server.address();
  return `http://127.0.0.1:${port}`;
}

async function ledgerOf(url, o) {
  const load = startLoad(url, { connections: 2, timeoutMs: 200, ...o });
  await waitFor('ten requests', () => load.ledger.requests >= 10);
  return load.stop();
}

const http = (handler) => listen(createServer(handler));

test.each([
  ['ok', () => http((request, response) => response.end('{"pid":1}'))],
  ['wrong', () => http((request, response) => response.end('{"pid":"none"}'))],
  ['status', () => http((request, response) => response.writeHead(503).end('{"pid":1}'))],
  ['hung', () => http(() => {})],
  [
    'truncated',
    () =>
      http((request, response) =>
        response.writeHead(200, { 'content-length': '100' }).write('{"pid"', () => response.destroy()),
      ),
  ],
  ['reset', () => listen(createTcpServer((socket) => socket.once('data', () => socket.resetAndDestroy())))],
  ['refused', async () => `http://127.0.0.1:${await takePort()}`],
])('a request that is %s is counted in that bucket only', async (bucket, open) => {
  const ledger = await ledgerOf(await open());
  expect(ledger[bucket]).toBe(ledger.requests);
  expect(ledger.failures).toHaveLength(bucket === 'ok' ? 0 : ledger.requests);
});

test('a reply that never ends is hung, even if its headers arrived', async () => {
  const url = await http((request, response) => response.writeHead(200).write('{'));
  const ledger = await ledgerOf(url);
  expect(ledger.hung).toBe(ledger.requests);
  expect(ledger.failures[0].detail).toMatch(/headers came/);
});

test('a keep-alive connection that is closed during a request is reset', async () => {
  let served = 0;
  const url = await http((request, response) =>
    ++served % 3 === 0 ? request.socket.destroy() : response.end('{"pid":1}'),
  );
  const ledger = await ledgerOf(url, { keepAlive: true, connections: 1 });
  expect(ledger.reset).toBeGreaterThan(0);
  expect(ledger.ok + ledger.reset).toBe(ledger.requests);
});

test('requests leave at their rate even if the answers are slow', async () => {
  const url = await http(
    (request, response) =>
      void waitFor('half a second', () => performance.now() - started > 500).then(() => response.end('{"pid":7}')),
  );
  const started = performance.now();
  const load = startLoad(url, { ratePerSecond: 50, timeoutMs: 5_000 });
  await waitFor('the first answers', () => load.ledger.ok > 0);
  const ledger = await load.stop();
  expect(ledger.requests).toBeGreaterThan(20);
  expect(ledger).toMatchObject({ ok: ledger.requests, hung: 0 });
  expect(ledger.byPid.get(7)).toBe(ledger.requests);
});
