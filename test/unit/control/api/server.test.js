import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { ApiServer } from '../../../../daemon/control/api/server.js';
import { UnknownMethod } from '../../../../daemon/control/api/connection.js';
import { readParams, text } from '../../../../daemon/control/api/params.js';
import { NclustError } from '../../../../lib/shared/errors.js';
import { createFakeClock } from '../../../helpers/fake-clock.js';
import { createRandom } from '../../../helpers/random.js';
import { openWire } from '../../../helpers/wire.js';

let folder;
let sock;
let server;
let clock;
let client;
const wires = [];

async function answer(method, params, from) {
  client = from;
  if (method === 'echo') return params;
  if (method === 'text') return readParams({ text }, params);
  if (method === 'refuse')
    throw new NclustError('ERR_NCLUST_APP_NOT_FOUND', 'no such app', { hint: 'look', data: { target: 'x' } });
  if (method === 'break') throw new TypeError('a fault');
  if (method === 'wait') return once(from.signal, 'abort');
  if (method === 'large') return 'x'.repeat(6 * 1024 * 1024);
  throw new UnknownMethod(method);
}

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'nclust-api-'));
  mkdirSync(join(folder, 'run'));
  sock = join(folder, 'nclust.sock');
  clock = createFakeClock();
  server = new ApiServer({ answer, clock, managerLog: () => {} });
  await server.listen({ sock, run: join(folder, 'run') });
});
afterEach(async () => {
  for (const wire of wires.splice(0)) wire.close();
  await server.close();
  rmSync(folder, { recursive: true, force: true });
});

const open = async () => {
  const wire = await openWire(sock);
  wires.push(wire);
  return wire;
};

test('only the owner may connect', () => {
  expect(statSync(sock).mode & 0o777).toBe(0o600);
});

test('the socket replaces a stale one, and is removed by close', async () => {
  await server.close();
  writeFileSync(sock, '');
  server = new ApiServer({ answer, clock, managerLog: () => {} });
  await server.listen({ sock, run: join(folder, 'run') });
  expect(await (await open()).request('echo', { a: 1 })).toEqual({ a: 1 });
  wires.pop().close();
  await server.close();
  expect(statSync(sock, { throwIfNoEntry: false })).toBeUndefined();
});

test('a server that closes late does not remove the socket of its successor', async () => {
  const next = new ApiServer({ answer, clock, managerLog: () => {} });
  mkdirSync(join(folder, 'run2'));
  await next.listen({ sock, run: join(folder, 'run2') });
  await server.close();
  expect(await (await open()).request('echo', { a: 2 })).toEqual({ a: 2 });
  wires.pop().close();
  await next.close();
});

test.each([
  ['nothing', {}, -32601, 'There is no method "nothing".'],
  ['text', {}, -32602, '"text" has to be a text that is not empty.'],
  ['refuse', {}, -32000, 'no such app'],
  ['break', {}, -32000, 'a fault'],
])('the method "%s" with %j is answered with %i', async (method, params, code, message) => {
  await expect((await open()).request(method, params)).rejects.toMatchObject({ code, message });
});

test('an error of nclust arrives with its code, hint, data and exit status', async () => {
  await expect((await open()).request('refuse')).rejects.toMatchObject({
    data: { code: 'ERR_NCLUST_APP_NOT_FOUND', hint: 'look', data: { target: 'x' }, exitStatus: 1 },
  });
});

test('a line that is not JSON is answered with -32700, and the connection is closed', async () => {
  const wire = await open();
  wire.write('{"jsonrpc":"2.0",\n');
  expect(JSON.parse(await wire.nextLine())).toMatchObject({ id: null, error: { code: -32700 } });
  await wire.closed;
});

test.each([
  ['{"id":1,"method":"echo"}', 1],
  ['{"jsonrpc":"1.0","id":1,"method":"echo"}', 1],
  ['[]', null],
  ['null', null],
  ['{"jsonrpc":"2.0","id":2,"method":5}', 2],
])('the request %s is answered with -32600, and the connection stays open', async (line, id) => {
  const wire = await open();
  wire.write(`${line}\n`);
  expect(JSON.parse(await wire.nextLine())).toMatchObject({ id, error: { code: -32600 } });
  expect(await wire.request('echo', { still: true })).toEqual({ still: true });
});

test('a line that is too long is refused before it is in memory', async () => {
  const wire = await open();
  wire.write('x'.repeat(8 * 1024 * 1024 + 1));
  expect(JSON.parse(await wire.nextLine())).toMatchObject({ error: { code: -32600 } });
  await wire.closed;
});

test('a request is aborted when its client disconnects', async () => {
  const wire = await open();
  void wire.request('wait').catch(() => {});
  await wire.request('echo');
  wire.close();
  await once(client.signal, 'abort');
});

test('one large answer is allowed, but a client that sends requests and never reads is not read either', async () => {
  const greedy = await open();
  greedy.stopReading();
  for (let at = 0; at < 8; at++) greedy.write(`{"jsonrpc":"2.0","id":${1000 + at},"method":"large"}\n`);
  const other = await open();
  expect(await other.request('echo', { fine: 1 })).toEqual({ fine: 1 });
  expect((await other.request('large')).length).toBe(6 * 1024 * 1024);
});

const entry = { id: 0, name: 'api', stream: 'out', line: 'x'.repeat(60_000), atMs: 1 };

test('log lines are dropped, with a notice, for a client that reads too slowly', async () => {
  const socket = connect(sock);
  socket.write('{"jsonrpc":"2.0","id":1,"method":"echo"}\n');
  await once(socket, 'readable');
  for (let at = 0; at < 200; at++) client.notifyLog('7', [entry], { '/a.log': { startedAtMs: 1, offset: at } });
  let received = '';
  socket.setEncoding('utf8').on('data', (chunk) => {
    received += chunk;
  });
  await untilQuiet(socket);
  client.notifyLog('7', [{ ...entry, line: 'back' }]);
  while (!received.endsWith('}\n') || !received.includes('"back"')) await once(socket, 'data');
  const news = received
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line).params)
    .filter(Boolean);
  const entries = news.flatMap((params) => params.entries);
  const missed = news.reduce((sum, params) => sum + (params.missed ?? 0), 0);
  expect(entries.length).toBeLessThan(150);
  expect(entries.length + missed).toBe(201);
  // If lines were dropped, their number comes before the next line.
  expect(news.findIndex((params) => params.missed > 0)).toBeLessThan(
    news.findIndex((params) => params.entries[0]?.line === 'back'),
  );
  expect(news[3].cursor).toEqual({ '/a.log': { startedAtMs: 1, offset: 3 } });
  expect(news.reduce((sum, params) => sum + (params.missedOf?.api ?? 0), 0)).toBe(missed);
  socket.destroy();
});

test('events are dropped, with a notice, for a client that reads too slowly', async () => {
  const socket = connect(sock);
  socket.write('{"jsonrpc":"2.0","id":1,"method":"echo"}\n');
  await once(socket, 'readable');
  for (let at = 0; at < 200; at++) client.notifyEvent('8', { type: 'large', data: 'x'.repeat(60_000) });
  let received = '';
  socket.setEncoding('utf8').on('data', (chunk) => {
    received += chunk;
  });
  await untilQuiet(socket);
  client.notifyEvent('8', { type: 'back' });
  while (!received.endsWith('}\n') || !received.includes('"back"')) await once(socket, 'data');
  const news = received
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
    .filter(({ method }) => method === 'event')
    .map(({ params }) => params);
  const events = news.flatMap((params) => params.events);
  expect(events.length).toBeLessThan(150);
  expect(events.length + news.reduce((sum, params) => sum + (params.missed ?? 0), 0)).toBe(201);
  expect(news.findIndex((params) => params.missed > 0)).toBeLessThan(
    news.findIndex((params) => params.events[0]?.type === 'back'),
  );
  expect(new Set(news.map(({ subscription }) => subscription))).toEqual(new Set(['8']));
  socket.destroy();
});

test('history waits for a client that reads slowly, and drops nothing', async () => {
  const socket = connect(sock);
  socket.write('{"jsonrpc":"2.0","id":1,"method":"echo"}\n');
  await once(socket, 'readable');
  let sent = 0;
  const telling = (async () => {
    for (; sent < 100; sent++) await client.sendLogPaced('h', { entries: [{ ...entry, atMs: sent }] });
  })();
  // Waits until the buffers are full. By then, only a part of the history has been sent.
  for (let before = -1; before < sent; await new Promise(setImmediate)) before = sent;
  expect(sent).toBeLessThan(60);
  let received = '';
  socket.setEncoding('utf8').on('data', (chunk) => {
    received += chunk;
  });
  await telling;
  while (received.split('"entries"').length <= 100 || !received.endsWith('}\n')) await once(socket, 'data');
  const lines = received
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line).params)
    .filter(Boolean);
  expect(lines.map((params) => params.entries[0].atMs)).toEqual(Array.from({ length: 100 }, (_, at) => at));
  socket.destroy();
});

test.each([
  ['is gone', (socket) => socket.destroy()],
  ['is sent away', () => void server.close()],
])('history does not wait for a client that %s', async (_, end) => {
  const socket = connect(sock);
  socket.write('{"jsonrpc":"2.0","id":1,"method":"echo"}\n');
  await once(socket, 'readable');
  const telling = Promise.all(Array.from({ length: 100 }, () => client.sendLogPaced('h', { entries: [entry] })));
  end(socket);
  await telling;
  socket.destroy();
});

/** Waits for an answer, because everything that was queued arrives before the answer. */
async function untilQuiet(socket) {
  socket.write('{"jsonrpc":"2.0","id":"mark","method":"echo"}\n');
  for (;;) {
    const [chunk] = await once(socket, 'data');
    if (chunk.includes('"mark"')) return;
  }
}

test('garbage of any kind does not harm other clients', async () => {
  const random = createRandom(7);
  const calm = await open();
  for (let round = 0; round < 60; round++) {
    const wire = await open();
    const junk = Buffer.from(Array.from({ length: 1 + Math.floor(random() * 300) }, () => Math.floor(random() * 256)));
    wire.write(
      random() < 0.5
        ? junk
        : Buffer.concat([Buffer.from('{"jsonrpc":"2.0","id":1,"method":"'), junk, Buffer.from('"}\n')]),
    );
    if (random() < 0.7) wire.close();
  }
  expect(await calm.request('echo', { ok: 1 })).toEqual({ ok: 1 });
});

test('close waits for requests in progress and answers them', async () => {
  const wire = await open();
  const request = wire.request('echo', { last: 1 });
  await wire.request('echo');
  const closing = server.close();
  expect(await request).toEqual({ last: 1 });
  await wire.closed;
  await closing;
});
