import { once } from 'node:events';
import { connect } from 'node:net';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { systemClock } from '../../../../daemon/control/host/clock.js';
import { serveDashboard } from '../../../../daemon/control/web/server.js';
import { createTokenCheck } from '../../../../daemon/control/web/token.js';
import { nextAccepted } from '../../../helpers/accepted-socket.js';
import { createFakeClock } from '../../../helpers/fake-clock.js';
import { fetchRaw, openPage } from '../../../helpers/page.js';
import { pattern } from '../../../helpers/pattern.js';
import { waitFor, within } from '../../../helpers/wait-for.js';
import { createRig } from '../control-rig.js';

const TOKEN = 'a'.repeat(43);
let rig;
let clock;
let mayAct;
let dashboard;
let url;
let faults;

beforeEach(async () => {
  faults = [];
  rig = createRig();
  await rig.boot();
  clock = createFakeClock();
  mayAct = false;
  dashboard = await serveDashboard(
    { host: '127.0.0.1', port: 0 },
    {
      context: rig.context,
      clock: { ...systemClock(), after: clock.after },
      isRight: createTokenCheck(TOKEN),
      mayAct: () => mayAct,
      onFault: (error) => faults.push(error.message),
    },
  );
  url = `http://127.0.0.1:${dashboard.address.port}/#token=${TOKEN}`;
});

afterEach(async () => {
  await dashboard.close();
  expect(faults).toEqual([]);
});

const POLICY = pattern(
  /^default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src [^;]+; /,
  /base-uri 'none'; form-action 'none'; frame-ancestors 'none'$/,
);

test('responses forbid foreign resources and frames, and set no cookie', async () => {
  const { port } = dashboard.address;
  for (const [path, type] of [
    ['/uplot.js', 'text/javascript'],
    ['/uplot.css', 'text/css'],
    ['/lib/shared/units.js', 'text/javascript'],
    ['/nothing', 'text/plain'],
  ]) {
    const { headers } = await fetchRaw(url, path);
    expect(headers).toMatchObject({
      'content-type': `${type}; charset=utf-8`,
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'cross-origin-opener-policy': 'same-origin',
      'cross-origin-resource-policy': 'same-origin',
    });
    expect(headers['content-security-policy']).toMatch(POLICY);
    expect(headers['set-cookie']).toBeUndefined();
    expect(Object.keys(headers).filter((name) => name.startsWith('access-control'))).toEqual([]);
  }
  const { headers } = await fetchRaw(url, '/uplot.js?v=1');
  expect(headers['content-security-policy']).toContain(`connect-src 'self' ws://127.0.0.1:${port};`);
  expect(headers['cache-control']).toBe('no-cache');
  const again = await fetchRaw(url, '/uplot.js', { headers: { 'if-none-match': headers.etag } });
  expect(again).toMatchObject({ status: 304, text: '' });
  const head = await fetchRaw(url, '/uplot.js', { method: 'HEAD' });
  expect(head).toMatchObject({ status: 200, text: '', headers: { 'content-length': headers['content-length'] } });
});

test.each([
  '/../main.js',
  '/../../../package.json',
  '/%2e%2e/main.js',
  '/..%2fmain.js',
  '//etc/passwd',
  '/lib/shared/../../package.json',
  '/lib/shared/settings/rules.js',
  '/app.js/',
  '/__proto__',
  '/constructor',
  '/socket',
  '/index.html/..',
  'http://127.0.0.1/uplot.js',
  '/\\..\\main.js',
  '/.',
  '/package.json',
])('"%s" is not a file', async (path) => {
  expect(await fetchRaw(url, path)).toMatchObject({ status: 404 });
});

test.each(['POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH', 'TRACE'])('the request %s is refused', async (method) => {
  expect(await fetchRaw(url, '/uplot.js', { method })).toMatchObject({ status: 405, headers: { allow: 'GET, HEAD' } });
});

test('a foreign host name that resolves here gets neither file nor WebSocket', async () => {
  const host = `evil.example:${dashboard.address.port}`;
  expect(await fetchRaw(url, '/uplot.js', { headers: { host } })).toMatchObject({ status: 421 });
  await expect(openPage(url, { origin: `http://${host}`, headers: { host } })).rejects.toMatchObject({ status: 421 });
  expect(await fetchRaw(url, '/uplot.js', { headers: { host: 'localhost:8000' } })).toMatchObject({ status: 200 });
  (await openPage(url, { origin: 'http://localhost:8000', headers: { host: 'localhost:8000' } })).close();
});

test.each(['http://evil.example', 'null', '', 'https://127.0.0.1'])(
  'a page of "%s" gets no WebSocket, whatever token it has',
  async (origin) => {
    await expect(openPage(url, { origin })).rejects.toMatchObject({ status: 403 });
  },
);

test('there is one WebSocket, and its path has no suffix', async () => {
  for (const path of ['/', '/socket?token=x', '/socket/', '/other'])
    await expect(openPage(url, { path })).rejects.toMatchObject({ status: 404 });
});

test.each(['', 'b'.repeat(43), `${TOKEN}a`, TOKEN.slice(1), TOKEN.toUpperCase()])(
  'the token "%s" opens nothing',
  async (token) => {
    await expect(openPage(url, { token })).rejects.toMatchObject({ closeCode: 4401 });
  },
);

test.each([
  ['another method', { jsonrpc: '2.0', id: 1, method: 'list' }],
  ['a token that is no text', { jsonrpc: '2.0', id: 1, method: 'authenticate', params: { token: [TOKEN] } }],
  ['no id', { jsonrpc: '2.0', method: 'authenticate', params: { token: TOKEN } }],
  ['a batch', [{ jsonrpc: '2.0', id: 1, method: 'authenticate', params: { token: TOKEN } }]],
  ['no parameters', { jsonrpc: '2.0', id: 1, method: 'authenticate' }],
])('no request is answered before the token: %s', async (_what, message) => {
  const page = await openPage(url, { token: null });
  page.send(JSON.stringify(message));
  expect(await page.closed).toBe(4401);
});

test('a request after a wrong token is not done, even in the same packet', async () => {
  mayAct = true;
  await rig.start({ name: 'api' }, { wait: false });
  const page = await openPage(url, { token: null });
  page.send(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'authenticate', params: { token: 'wrong' } }));
  page.send(JSON.stringify({ jsonrpc: '2.0', id: 2, method: 'authenticate', params: { token: TOKEN } }));
  page.send(JSON.stringify({ jsonrpc: '2.0', id: 3, method: 'stop', params: { targets: ['api'], token: 't' } }));
  expect(await page.closed).toBe(4401);
  expect(rig.wanted()).toEqual(['api/0']);
});

test('a connection that is silent for five seconds is closed', async () => {
  const page = await openPage(url, { token: null });
  clock.advance(5_000);
  expect(await page.closed).toBe(4401);
});

/** More than the dashboard accepts without the token. */
const STRANGERS = 300;

const webSocketHead = (port) =>
  `GET /socket HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nOrigin: http://127.0.0.1:${port}\r\nConnection: ` +
  `Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ` +
  `dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n`;

test.each([
  ['send nothing', () => ''],
  ['send half of a request', () => 'GET / HTTP/1.1\r\nHost: loc'],
  ['ask, and do not read', () => 'GET /uplot.js HTTP/1.1\r\nHost: localhost\r\n\r\n'.repeat(200)],
  ['open a WebSocket, and send no token', webSocketHead],
])('strangers who %s keep no page out, and end none', async (_, textOf) => {
  const { port } = dashboard.address;
  const before = await openPage(url);
  const strangers = [];
  for (let at = 0; at < STRANGERS; at += 1) {
    const raw = connect(port, '127.0.0.1').on('error', () => {});
    raw.pause().write(textOf(port));
    strangers.push(raw);
  }
  await Promise.all(strangers.map((raw) => raw.connecting && once(raw, 'connect')));
  expect(await within('the page', fetchRaw(url, '/'), 10_000)).toMatchObject({ status: 200 });
  const page = await openPage(url);
  for (const one of [before, page]) expect(await one.request('hello')).toMatchObject({ home: '/home/nclust' });
  for (const raw of strangers) raw.destroy();
  for (const one of [before, page]) one.close();
});

test('sixty-four pages may be open, and the next one is refused', async () => {
  const pages = await Promise.all(Array.from({ length: 64 }, () => openPage(url)));
  await expect(openPage(url)).rejects.toMatchObject({ status: 503 });
  pages[0].close();
  const late = await waitFor('room', () => openPage(url).catch(() => null));
  for (const page of [...pages, late]) page.close();
});

test('garbage closes only its own page', async () => {
  const other = await openPage(url);
  const cases = [
    ['{', 1012],
    [Buffer.from('{"jsonrpc":"2.0","id":1,"method":"hello"}'), 1003],
    [Buffer.from([0xff, 0xfe]), 1003],
    ['x'.repeat(64 * 1024 + 1), 1009],
  ];
  for (const [message, code] of cases) {
    const page = await openPage(url);
    page.send(message);
    expect(await page.closed).toBe(code);
  }
  const page = await openPage(url);
  for (const message of [
    '[]',
    '1',
    'null',
    '{}',
    '{"jsonrpc":"2.0","id":9}',
    '',
    '{"jsonrpc":"2.0","id":{},"method":"hello"}',
  ])
    page.send(message);
  page.send('{"jsonrpc":"2.0",\n"method":"hello",\r\n"id":1}');
  expect(await page.request('hello')).toMatchObject({ home: '/home/nclust' });
  expect(await other.request('hello')).toMatchObject({ home: '/home/nclust' });
});

test('bytes that are not frames close only their own connection', async () => {
  const other = await openPage(url);
  const { port } = dashboard.address;
  const raw = connect(port, '127.0.0.1');
  const isClosed = new Promise((resolve) => raw.once('close', resolve));
  raw.on('error', () => {});
  raw.write(
    `GET /socket HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nOrigin: http://127.0.0.1:${port}\r\nConnection: ` +
      `Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ` +
      `dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n`,
  );
  raw.once('data', () => raw.write(Buffer.alloc(1_000, 0xff)));
  await isClosed;
  expect(await other.request('hello')).toMatchObject({ home: '/home/nclust' });
});

test('a client that pings and does not read fills no memory', async () => {
  const { port } = dashboard.address;
  const raw = connect(port, '127.0.0.1');
  raw.on('error', () => {});
  raw.write(
    `GET /socket HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nOrigin: http://127.0.0.1:${port}\r\nConnection: ` +
      `Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ` +
      `dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n`,
  );
  await new Promise((resolve) => raw.once('data', resolve));
  raw.pause();
  // A masked ping of 125 bytes, mask 0.
  const ping = Buffer.concat([Buffer.from([0x89, 0x80 | 125, 0, 0, 0, 0]), Buffer.alloc(125, 65)]);
  const many = Buffer.concat(Array.from({ length: 8_000 }, () => ping));
  for (let at = 0; at < 32; at += 1) await new Promise((resolve) => raw.write(many, resolve));
  // The kernel holds a part of the 32 MB. If the server answered each ping, the pongs for the rest
  // would wait in its memory.
  let bytes = 0;
  raw.on('data', (chunk) => (bytes += chunk.length)).resume();
  const isClosed = new Promise((resolve) => raw.once('close', resolve));
  raw.end(Buffer.from([0x81, 0x81, 0, 0, 0, 0, 0x78]));
  await isClosed;
  expect(bytes).toBeLessThan(16 * 1024 * 1024);
});

test('fifty pages at once are answered, and closed together', async () => {
  const pages = [];
  for (let at = 0; at < 50; at += 1) pages.push(await openPage(url));
  expect(await Promise.all(pages.map((page) => page.request('list')))).toHaveLength(50);
  dashboard.sendAway();
  expect(new Set(await Promise.all(pages.map(({ closed }) => closed)))).toEqual(new Set([1012]));
});

test('a refused client that does not close its side keeps no connection, and does not delay the shutdown', async () => {
  const { port } = dashboard.address;
  const raw = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  raw.on('error', () => {});
  raw.write(
    `GET /socket HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nOrigin: null\r\nConnection: Upgrade\r\nUpgrade: ` +
      `websocket\r\n\r\n`,
  );
  let text = '';
  raw.on('data', (part) => (text += part));
  await new Promise((resolve) => raw.once('end', resolve));
  expect(text).toContain('403 Forbidden');
  // The shutdown must not wait for the client, which never ends its side.
  await within('the end', dashboard.close(), 10_000);
  raw.destroy();
});

test('a client that requests files and does not read them is disconnected', async () => {
  const own = await serveDashboard(
    { host: '127.0.0.1', port: 0 },
    {
      context: rig.context,
      clock: systemClock(),
      isRight: () => true,
      mayAct: () => false,
      onFault: (error) => faults.push(error.message),
      stalledMs: 100,
    },
  );
  const { port } = own.address;
  const accepted = nextAccepted(port);
  const raw = connect(port, '127.0.0.1');
  raw.on('error', () => {}).pause();
  raw.write(`GET /uplot.js HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n\r\n`.repeat(30));
  const socket = await accepted;
  await within('the end', new Promise((resolve) => socket.once('close', resolve)), 10_000);
  raw.destroy();
  await own.close();
});
