import { createServer } from 'node:http';
import { createServer as createHttp2Server } from 'node:http2';
import { createServer as createTcpServer } from 'node:net';
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { fixturePath } from '../helpers/fixtures.js';
import { ledgerTable } from '../helpers/ledger-table.js';
import { NOTHING_LOST } from '../helpers/ledger.js';
import { takePort } from '../helpers/ports.js';
import { tlsEnv } from '../helpers/traffic/target.js';
import { startTraffic } from '../helpers/traffic/traffic.js';
import { waitFor } from '../helpers/wait-for.js';

// Tests the traffic clients with servers that lose no request, and with servers that lose requests
// on purpose.

const EVERY_KIND = { 'one-shot': 1, 'keep-alive': 1, pipelined: 1, slow: 1, upload: 1, download: 1, websocket: 1 };
const QUICK = { timeoutMs: 300, slowMs: [20, 40], transferMs: 30, sessionMs: 50 };

const PATIENT = { ...QUICK, timeoutMs: 10_000 };

async function listen(server) {
  await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(undefined)));
  onTestFinished(() => void server.close());
  return { url: `http://127.0.0.1:${server.address().port}/` };
}

async function ledgerOf(target, clients, { requests = 6, patience = QUICK } = {}) {
  const traffic = startTraffic(target, clients, patience);
  await waitFor('a few requests of each kind', () =>
    Object.keys(clients).every((kind) => (traffic.ledger.kinds.get(kind)?.requests ?? 0) >= requests),
  );
  return traffic.stop();
}

async function serveAll(env) {
  const child = spawn(process.execPath, [fixturePath('serves-all')], {
    env: { ...tlsEnv, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  await new Promise((resolve) => child.stdout.once('data', resolve));
}

describe('a server that answers correctly', () => {
  test.each([
    ['http', 'http', EVERY_KIND],
    ['https', 'https', EVERY_KIND],
    ['h2', 'https', { http2: 1, 'one-shot': 1 }],
    ['h2c', 'http', { http2: 1 }],
  ])('a server with %s that answers correctly counts as ok only', async (PROTOCOL, scheme, clients) => {
    const port = await takePort();
    await serveAll({ PORT: String(port), PROTOCOL });
    const ledger = await ledgerOf({ url: `${scheme}://127.0.0.1:${port}/` }, clients, { patience: PATIENT });
    expect(ledger, ledgerTable(ledger)).toMatchObject({ ...NOTHING_LOST, ok: ledger.requests });
  });

  test('a Unix socket counts as ok, and as refused once the socket is gone', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'nclust-test-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const socketPath = join(folder, 'app.sock');
    await serveAll({ SOCKET: socketPath });
    const ledger = await ledgerOf({ socketPath }, EVERY_KIND, { patience: PATIENT });
    expect(ledger, ledgerTable(ledger)).toMatchObject({ ...NOTHING_LOST, ok: ledger.requests });
    rmSync(socketPath);
    const gone = await ledgerOf({ socketPath }, EVERY_KIND);
    expect(gone.refused, ledgerTable(gone)).toBe(gone.requests);
  });
});

describe('a server with faults', () => {
  test.each(Object.keys(EVERY_KIND).concat('http2'))(
    '%s: a server counts as refused if it is absent, and as reset if it hangs up',
    async (kind) => {
      const refused = await ledgerOf({ url: `http://127.0.0.1:${await takePort()}/` }, { [kind]: 1 });
      expect(refused.refused, ledgerTable(refused)).toBe(refused.requests);
      const hangsUp = createTcpServer((socket) => {
        socket.on('error', () => {});
        socket.once('data', () => socket.resetAndDestroy());
      });
      const reset = await ledgerOf(await listen(hangsUp), { [kind]: 1 });
      expect(reset.reset, ledgerTable(reset)).toBe(reset.requests);
    },
  );

  test.each(Object.keys(EVERY_KIND).concat('http2'))('%s: a silent server counts as hung', async (kind) => {
    const silent = createTcpServer((socket) => {
      socket.on('error', () => {});
      socket.resume();
    });
    const ledger = await ledgerOf(await listen(silent), { [kind]: 1 }, { requests: 2 });
    expect(ledger.hung, ledgerTable(ledger)).toBe(ledger.requests);
  });

  test('an upload or download counts as wrong with other bytes, and as truncated with fewer', async () => {
    const forger = createServer((request, response) => response.end(JSON.stringify({ pid: 1, sha1: 'other' })));
    const wrong = await ledgerOf(await listen(forger), { upload: 1, download: 1 });
    expect(wrong.wrong, ledgerTable(wrong)).toBe(wrong.requests);
    const miser = createServer((request, response) =>
      response.writeHead(200, { 'content-length': '160640' }).write('x', () => response.destroy()),
    );
    const truncated = await ledgerOf(await listen(miser), { download: 1 });
    expect(truncated.truncated, ledgerTable(truncated)).toBe(truncated.requests);
  });
});

describe('a pipelined client', () => {
  test('a pipelined client sends the rest again after an announced close, and notes it', async () => {
    const url = await listen(
      createServer((request, response) => response.setHeader('connection', 'close').end('{"pid":1}')),
    );
    const ledger = await ledgerOf(url, { pipelined: 1 }, { requests: 12 });
    expect(ledger, ledgerTable(ledger)).toMatchObject({ ...NOTHING_LOST, ok: ledger.requests });
    expect(ledger.notes.get('pipelined: sent again after an announced close')).toBeGreaterThan(0);
  });

  test('a pipelined client counts an unannounced close as a reset', async () => {
    let served = 0;
    const url = await listen(
      createServer((request, response) =>
        (served += 1) % 6 === 0 ? request.socket.destroy() : response.end('{"pid":1}'),
      ),
    );
    const ledger = await ledgerOf(url, { pipelined: 1 }, { requests: 12 });
    expect(ledger.reset + ledger.truncated, ledgerTable(ledger)).toBeGreaterThan(0);
  });
});

describe('an HTTP/2 client', () => {
  test('an HTTP/2 client sends a refused stream again and notes it, and counts a broken one as truncated', async () => {
    let streams = 0;
    const server = createHttp2Server();
    server.on('stream', (stream) => {
      streams += 1;
      stream.on('error', () => {});
      if (streams === 2) return stream.close(7); // REFUSED_STREAM
      stream.respond({ ':status': 200 });
      if (streams === 5) return stream.write('{"p', () => stream.destroy(new Error('breaks off')));
      return stream.end('{"pid":1}');
    });
    const ledger = await ledgerOf(await listen(server), { http2: 1 });
    expect(ledger, ledgerTable(ledger)).toMatchObject({ ...NOTHING_LOST, truncated: 1 });
    expect(ledger.notes.get('http2: sent again after GOAWAY')).toBe(1);
  });
});

describe('a WebSocket client', () => {
  /** @returns {Promise<{ url: string }>} */
  function says(frame) {
    const server = createServer();
    server.on('upgrade', (request, socket) => {
      const accept = createHash('sha1')
        .update(`${request.headers['sec-websocket-key']}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`)
        .digest('base64');
      socket.on('error', () => {});
      socket.end(
        Buffer.concat([
          Buffer.from(
            `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: ` +
              `Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`,
          ),
          frame,
        ]),
      );
    });
    return listen(server);
  }

  test.each([
    ['counts 1001 as a clean close', [0x88, 2, 0x03, 0xe9], 'ok'],
    ['counts 1000 as a clean close', [0x88, 2, 0x03, 0xe8], 'ok'],
    ['counts 1011 as a reset', [0x88, 2, 0x03, 0xf3], 'reset'],
    ['counts an end without a frame as a reset', [], 'reset'],
    ['counts a different echo as wrong', [0x81, 2, 0x39, 0x39], 'wrong'],
  ])('a WebSocket client %s', async (_, frame, bucket) => {
    const ledger = await ledgerOf(await says(Buffer.from(frame)), { websocket: 1 });
    expect(ledger, ledgerTable(ledger)).toMatchObject({ [bucket]: ledger.requests });
  });
});
