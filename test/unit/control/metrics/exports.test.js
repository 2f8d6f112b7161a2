import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import {
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer, get } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest';
import { createExports } from '../../../../daemon/control/metrics/exports.js';
import { takePort } from '../../../helpers/ports.js';
import { readPrometheus } from '../../../helpers/prometheus.js';
import { waitFor } from '../../../helpers/wait-for.js';
import { createMetricsRig } from './metrics-rig.js';

let rig;
let settings;
let exports;
let events;
let folder;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'exports-'));
  events = [];
  settings = { listen: { kind: 'none' }, allowRemote: false, otlp: 'none', otlpIntervalMs: 10_000 };
  rig = await createMetricsRig();
  exports = createExports({
    metrics: rig.metrics,
    troubles: () => [],
    settings: () => settings,
    clock: rig.clock,
    managerLog: (event, fields) => void events.push({ event, ...fields }),
    version: '1.2.3',
  });
});

afterEach(async () => {
  await exports.close();
  rmSync(folder, { recursive: true, force: true });
});

const isServed = (times = 1) =>
  waitFor('a server', async () => {
    await rig.turn(1_000);
    return events.filter(({ event }) => event === 'metrics-served').length >= times;
  });

function ask(where, path = '/metrics', headers = {}) {
  return new Promise((resolve, reject) => {
    get({ ...where, path, headers, agent: false }, (response) => {
      let text = '';
      response
        .setEncoding('utf8')
        .on('data', (part) => (text += part))
        .on('end', () => resolve({ status: response.statusCode, type: response.headers['content-type'], text }));
    }).on('error', reject);
  });
}

test('nothing listens, and there is no notice, without a setting', async () => {
  await rig.turn(5_000);
  expect(events).toEqual([]);
  expect(exports.notices()).toEqual([]);
});

test('/metrics is served on the address of the settings, and only while it is set', async () => {
  const port = await takePort();
  settings = { ...settings, listen: { kind: 'tcp', host: '127.0.0.1', port } };
  await isServed();
  const { status, type, text } = await ask({ port, host: '127.0.0.1' });
  expect([status, type]).toEqual([200, 'text/plain; version=0.0.4; charset=utf-8']);
  expect(readPrometheus(text).has('nclust_build_info')).toBe(true);
  expect(
    (await ask({ port, host: '127.0.0.1' }, '/metrics', { accept: 'application/openmetrics-text;version=1.0.0' })).text,
  ).toMatch(/# EOF\n$/);
  expect((await ask({ port, host: '127.0.0.1' }, '/')).status).toBe(404);
  settings = { ...settings, listen: { kind: 'none' } };
  await waitFor('the end of the server', async () => {
    await rig.turn(1_000);
    return ask({ port, host: '127.0.0.1' }).then(
      () => false,
      ({ code }) => code === 'ECONNREFUSED',
    );
  });
});

test('a web page whose host name resolves here gets nothing', async () => {
  const port = await takePort();
  settings = { ...settings, listen: { kind: 'tcp', host: '127.0.0.1', port } };
  await isServed();
  expect((await ask({ port, host: '127.0.0.1' }, '/metrics', { host: `evil.example:${port}` })).status).toBe(403);
  expect((await ask({ port, host: '127.0.0.1' }, '/metrics', { host: `localhost:${port}` })).status).toBe(200);
});

test.each([
  '//',
  '//x:99999999',
  'http://metrics',
  'ftp://x/metrics',
  '/%',
  '*',
  'http://[',
  '/metrics/..',
  '/?/metrics',
])('a request for %s gets 404', async (path) => {
  const port = await takePort();
  settings = { ...settings, listen: { kind: 'tcp', host: '127.0.0.1', port } };
  await isServed();
  expect((await ask({ port, host: '127.0.0.1' }, path)).status).toBe(404);
});

test.each(['/metrics?x=1', 'http://localhost/metrics', 'HTTP://127.0.0.1:9615/metrics'])(
  'a request for %s gets the metrics',
  async (path) => {
    const port = await takePort();
    settings = { ...settings, listen: { kind: 'tcp', host: '127.0.0.1', port } };
    await isServed();
    expect((await ask({ port, host: '127.0.0.1' }, path)).status).toBe(200);
  },
);

test('a client gets 500 if the metrics cannot be collected, and the log of the manager has the reason', async () => {
  const port = await takePort();
  settings = { ...settings, listen: { kind: 'tcp', host: '127.0.0.1', port } };
  await isServed();
  rig.metrics.exported = () => Promise.reject(new Error('no figures'));
  expect((await ask({ port, host: '127.0.0.1' })).status).toBe(500);
  expect(events).toContainEqual({ event: 'metrics-export-failed', message: 'no figures' });
});

test('a Unix socket is only for its owner, and its name is removed at the end', async () => {
  const path = join(folder, 'metrics.sock');
  settings = { ...settings, listen: { kind: 'unix', path } };
  await isServed();
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect((await ask({ socketPath: path })).status).toBe(200);
  await exports.close();
  expect(statSync(path, { throwIfNoEntry: false })).toBeUndefined();
});

test('the socket of another program is left alone, and the one of a dead program is replaced', async () => {
  const path = join(folder, 'metrics.sock');
  const other = createServer().listen(path);
  settings = { ...settings, listen: { kind: 'unix', path } };
  await waitFor('the notice', async () => (await rig.turn(1_000), exports.notices().length > 0));
  expect(exports.notices()[0]).toContain('EADDRINUSE');
  linkSync(path, join(folder, 'left'));
  await new Promise((resolve) => other.close(resolve));
  renameSync(join(folder, 'left'), path);
  await isServed();
  expect((await ask({ socketPath: path })).status).toBe(200);
});

test.each([
  ['a link to a socket', (path) => symlinkSync(join(folder, 'other.sock'), path)],
  ['a link to nothing', (path) => symlinkSync('nowhere', path)],
  ['a folder', (path) => mkdirSync(path)],
  ['a named pipe', (path) => execFileSync('mkfifo', [path])],
])('%s at the path of the socket stays', async (_, make) => {
  const path = join(folder, 'metrics.sock');
  const other = createServer().listen(join(folder, 'other.sock'));
  onTestFinished(() => void other.close());
  make(path);
  const { ino } = lstatSync(path);
  settings = { ...settings, listen: { kind: 'unix', path } };
  await waitFor('the notice', async () => (await rig.turn(1_000), exports.notices().length > 0));
  expect(exports.notices()[0]).toContain('EEXIST');
  expect(lstatSync(path).ino).toBe(ino);
});

test('a file that is not a socket is left alone, and the list reports it', async () => {
  const path = join(folder, 'notes.txt');
  writeFileSync(path, 'mine');
  settings = { ...settings, listen: { kind: 'unix', path } };
  await waitFor('the notice', async () => (await rig.turn(1_000), exports.notices().length > 0));
  expect(exports.notices()[0]).toContain('EEXIST');
  expect(statSync(path).size).toBe(4);
});

test('an address that other machines can reach is not used unless that is allowed', async () => {
  const port = await takePort();
  settings = { ...settings, listen: { kind: 'tcp', host: '0.0.0.0', port } };
  await waitFor('the notice', async () => (await rig.turn(1_000), exports.notices().length > 0));
  expect(exports.notices()[0]).toContain('metrics.allow_remote');
  await expect(ask({ port, host: '127.0.0.1' })).rejects.toThrow('ECONNREFUSED');
  settings = { ...settings, allowRemote: true };
  await isServed();
  expect(exports.notices()).toEqual([]);
});

test('an address that another program holds is retried', async () => {
  const port = await takePort();
  const other = createServer().listen(port, '127.0.0.1');
  await once(other, 'listening');
  settings = { ...settings, listen: { kind: 'tcp', host: '127.0.0.1', port } };
  await waitFor('the notice', async () => (await rig.turn(1_000), exports.notices().length > 0));
  expect(exports.notices()).toEqual([
    `/metrics is not served on "127.0.0.1:${port}": another program has this address (EADDRINUSE). ` +
      `nclust keeps trying. For another address: nclust set metrics.listen 127.0.0.1:PORT`,
  ]);
  await new Promise((resolve) => other.close(resolve));
  await isServed();
  expect(exports.notices()).toEqual([]);
});

test('a client that changes the setting learns at once whether it is served', async () => {
  const port = await takePort();
  const other = createServer().listen(port, '127.0.0.1');
  await once(other, 'listening');
  expect(await exports.applyNow()).toBe(null);
  settings = { ...settings, listen: { kind: 'tcp', host: '127.0.0.1', port } };
  expect(await exports.applyNow()).toEqual({ reason: 'EADDRINUSE', retryMs: 5_000 });
  // The check in `before` starts before the change, so it uses the previous setting.
  const next = await takePort();
  const before = rig.turn(1_000);
  settings = { ...settings, listen: { kind: 'tcp', host: '127.0.0.1', port: next } };
  expect(await exports.applyNow()).toBe(null);
  await before;
  expect((await ask({ port: next, host: '127.0.0.1' })).status).toBe(200);
  await new Promise((resolve) => other.close(resolve));
});

test('exports reach a collector, and the list reports when they fail', async () => {
  const port = await takePort();
  settings = { ...settings, otlp: `http://127.0.0.1:${port}/v1/metrics` };
  await waitFor('the notice', async () => (await rig.turn(1_000), exports.notices().length > 0));
  expect(exports.notices()[0]).toContain('ECONNREFUSED');
  const bodies = [];
  const collector = createServer((request, response) => {
    let body = '';
    request
      .on('data', (part) => (body += part))
      .on('end', () => (bodies.push({ url: request.url, body: JSON.parse(body) }), response.end('{}')));
  }).listen(port, '127.0.0.1');
  await waitFor('an export', async () => (await rig.turn(10_000), bodies.length > 0 && exports.notices().length === 0));
  expect(bodies[0].url).toBe('/v1/metrics');
  expect(bodies[0].body.resourceMetrics[0].scopeMetrics[0].metrics.length).toBeGreaterThan(5);
  collector.closeAllConnections();
  await new Promise((resolve) => collector.close(resolve));
});
