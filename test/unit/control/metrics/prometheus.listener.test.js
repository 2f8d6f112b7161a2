import { once } from 'node:events';
import { chmodSync, existsSync, mkdtempSync, renameSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { serveMetrics } from '../../../../daemon/control/metrics/prometheus.js';
import { nextAccepted } from '../../../helpers/accepted-socket.js';
import { takePort } from '../../../helpers/ports.js';
import { exchangeRaw } from '../../../helpers/static-server.js';
import { waitFor, within } from '../../../helpers/wait-for.js';

const GET = 'GET /metrics HTTP/1.1\r\nHost: localhost\r\n';
const FAMILY = { name: 'nclust_test', help: 'x', type: 'gauge', unit: '', points: [{ labels: {}, value: 1 }] };

async function serve(collect, o) {
  const port = await takePort();
  const faults = [];
  const close = await serveMetrics({ kind: 'tcp', host: '127.0.0.1', port }, collect, (error) => faults.push(error), o);
  onTestFinished(close);
  return { port, faults };
}

test('clients that ask at the same time get the same figures, which are collected once', async () => {
  let collected = 0;
  let finish = () => {};
  const { port } = await serve(() => {
    collected += 1;
    return new Promise((resolve) => (finish = resolve));
  });
  const answers = [];
  for (let at = 0; at < 5; at += 1) {
    const accepted = nextAccepted(port);
    answers.push(exchangeRaw(port, `${GET}Connection: close\r\n\r\n`));
    await accepted;
  }
  finish([FAMILY]);
  for (const answer of await Promise.all(answers)) expect(answer).toMatch(/^HTTP\/1.1 200 .*nclust_test 1\n/s);
  expect(collected).toBe(1);
  const next = exchangeRaw(port, `${GET}Connection: close\r\n\r\n`);
  await waitFor('a new collection', () => collected === 2);
  finish([FAMILY]);
  expect(await next).toMatch(/^HTTP\/1.1 200 /);
});

test('a client that sends many requests at once and leaves causes one collection', async () => {
  let collected = 0;
  let finish = () => {};
  const { port, faults } = await serve(() => {
    collected += 1;
    return new Promise((resolve) => (finish = resolve));
  });
  const accepted = nextAccepted(port);
  const raw = connect(port, '127.0.0.1');
  raw.on('error', () => {}).write(`${GET}\r\n`.repeat(30));
  const socket = await accepted;
  raw.destroy();
  await within('the end', new Promise((resolve) => socket.once('close', resolve)), 10_000);
  finish([FAMILY]);
  const next = exchangeRaw(port, `${GET}Connection: close\r\n\r\n`);
  await waitFor('a new collection', () => collected > 1);
  finish([FAMILY]);
  await next;
  expect([collected, faults]).toEqual([2, []]);
});

test('a client that asks and does not read the answer loses its connection', async () => {
  const large = { ...FAMILY, help: 'x'.repeat(32 * 1024 * 1024) };
  const { port } = await serve(async () => [large], { stalledMs: 100 });
  const accepted = nextAccepted(port);
  const raw = connect(port, '127.0.0.1');
  raw.on('error', () => {}).pause();
  raw.write(`${GET}\r\n`);
  const socket = await accepted;
  await within('the end', new Promise((resolve) => socket.once('close', resolve)), 10_000);
  raw.destroy();
});

test.each([
  ['send nothing', ''],
  ['send half of a request', GET],
])('strangers who %s do not keep Prometheus out', async (_, text) => {
  const { port } = await serve(async () => [FAMILY]);
  const strangers = Array.from({ length: 100 }, () => connect(port, '127.0.0.1').on('error', () => {}));
  onTestFinished(() => strangers.forEach((raw) => raw.destroy()));
  for (const raw of strangers) raw.write(text);
  await Promise.all(strangers.map((raw) => raw.connecting && once(raw, 'connect')));
  expect(await exchangeRaw(port, `${GET}Connection: close\r\n\r\n`)).toMatch(/^HTTP\/1.1 200 .*nclust_test 1\n/s);
});

test('a client that never finishes its request loses its connection as soon as its time is over', async () => {
  const { port } = await serve(async () => [FAMILY], { requestMs: 50 });
  expect(await exchangeRaw(port, GET)).toMatch(/^HTTP\/1.1 408 /);
});

test('a link in place of the new Unix socket does not change the mode of another file', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'nclust-metrics-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const [path, other] = [join(folder, 'metrics.sock'), join(folder, 'other')];
  writeFileSync(other, '');
  chmodSync(other, 0o644);
  const bound = `${path}.${process.pid}`;
  const serving = serveMetrics(
    { kind: 'unix', path },
    async () => [FAMILY],
    () => {},
  );
  for (let turns = 0; !existsSync(bound) && turns < 100; turns += 1) await null;
  expect(statSync(bound).mode & 0o777).toBe(0o600);
  renameSync(bound, `${bound}.before`);
  symlinkSync(other, bound);
  await (
    await serving
  )();
  expect(statSync(other).mode & 0o777).toBe(0o644);
});
