import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs, { mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { connect, createServer } from 'node:net';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { createHolderFinder, readConnections } from '../../../../daemon/control/host/socket-holder.js';
import { takePort } from '../../../helpers/ports.js';

test.runIf(process.platform === 'linux')(
  'the holder of a port is found even if the search has to wait for a CPU',
  async () => {
    const server = createServer().listen(0, '127.0.0.1');
    onTestFinished(() => void server.close());
    await once(server, 'listening');
    const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
    let nowMono = 0;
    vi.spyOn(performance, 'now').mockImplementation(() => (nowMono += 1_000));
    onTestFinished(() => void vi.restoreAllMocks());

    const find = createHolderFinder({ nowMs: () => 0 }, '/home/me');
    expect(find({ code: 'EADDRINUSE', family: 4, address: '127.0.0.1', port, isUdp: false })?.pid).toBe(process.pid);
  },
);

test.runIf(process.platform === 'linux')('the holders of two ports are found at the same time', async () => {
  const servers = [createServer(), createServer()];
  onTestFinished(() => servers.forEach((server) => void server.close()));
  await Promise.all(servers.map((server) => once(server.listen(0, '127.0.0.1'), 'listening')));
  const find = createHolderFinder({ nowMs: () => 0 }, '/home/me');
  for (const server of servers) {
    const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
    const found = find({ code: 'EADDRINUSE', family: 4, address: '127.0.0.1', port, isUdp: false });
    expect(found).toMatchObject({ pid: process.pid, isPm2: false });
  }
});

test.runIf(process.platform === 'linux')('however many listen() calls fail, one search a second is made', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
  const clock = { nowMs: 0 };
  const find = createHolderFinder({ nowMs: () => clock.nowMs }, '/home/me');
  const fail = (/** @type {number} */ at) =>
    find({ code: 'EADDRINUSE', family: 4, address: '127.0.0.1', port: at, isUdp: false });
  expect(fail(port)?.pid).toBe(process.pid);
  const read = vi.spyOn(fs, 'readFileSync');
  const list = vi.spyOn(fs, 'readdirSync');
  syncBuiltinESMExports();
  onTestFinished(() => {
    vi.restoreAllMocks();
    syncBuiltinESMExports();
  });
  clock.nowMs = 999;
  for (let at = 1; at < 100; at += 1) fail(at);
  expect(fail(port)?.pid).toBe(process.pid);
  expect(read.mock.calls.filter(([path]) => String(path).startsWith('/proc/net'))).toEqual([]);
  expect(list).not.toHaveBeenCalled();
  clock.nowMs = 60_000;
  fail(port);
  fail(port);
  expect(list.mock.calls.filter(([path]) => path === '/proc')).toHaveLength(1);
});

test.runIf(process.platform === 'linux')('an app of PM2 is recognised by its parent', async () => {
  const title = process.title;
  onTestFinished(() => {
    process.title = title;
  });
  const { pid, port } = await listenElsewhere('', process.env);
  process.title = 'PM2 v7.0.4: God Daemon (/root/.pm2)';
  const find = createHolderFinder({ nowMs: () => 0 }, '/home/me');
  const found = find({ code: 'EADDRINUSE', family: 4, address: '127.0.0.1', port, isUdp: false });
  expect(found).toMatchObject({ pid, isPm2: true });
});

/** @returns {Promise<{ pid: number | undefined, port: number }>} */
async function listenElsewhere(code, env) {
  const listen =
    "require('net').createServer().listen(0, '127.0.0.1', function () { console.log(this.address().port) })";
  const app = spawn(process.execPath, ['-e', `${code};${listen}`], { stdio: ['ignore', 'pipe', 'inherit'], env });
  onTestFinished(() => void app.kill());
  const [line] = await once(app.stdout, 'data');
  return { pid: app.pid, port: Number(line) };
}

test.runIf(process.platform === 'linux').each([
  ['a keeper', "process.title = 'nclust keeper (/home/ann/apps)'", {}, '/home/ann/apps'],
  ['a keeper with a long home', "process.title = 'nclust keeper (/home/an'", { NCLUST_HOME: '/home/ann' }, '/home/ann'],
  ['an app', '', { NCLUST_HOME: '/home/ann', NCLUST_INSTANCE: 'x' }, '/home/ann'],
  ['a process of this home', '', { NCLUST_HOME: '/home/me', NCLUST_INSTANCE: 'x' }, null],
  ['a program of a user of nclust', '', { NCLUST_HOME: '/home/ann' }, null],
])('another nclust is recognised by %s', async (_, code, env, home) => {
  const { pid, port } = await listenElsewhere(code, env);
  const find = createHolderFinder({ nowMs: () => 0 }, '/home/me');
  const found = find({ code: 'EADDRINUSE', family: 4, address: '127.0.0.1', port, isUdp: false });
  const user = userInfo().username;
  expect(found).toMatchObject({ pid, nclust: home && { home, user } });
  expect(found?.command).not.toContain('(');
});

test.runIf(process.platform === 'linux')('a link to the home is not another nclust', async () => {
  const home = mkdtempSync(join(tmpdir(), 'nclust-holder-'));
  onTestFinished(() => rmSync(home, { recursive: true }));
  mkdirSync(join(home, 'real'));
  symlinkSync('real', join(home, 'link'));
  const { pid, port } = await listenElsewhere('', { NCLUST_HOME: join(home, 'link'), NCLUST_INSTANCE: 'x' });
  const find = createHolderFinder({ nowMs: () => 0 }, join(home, 'real'));
  const found = find({ code: 'EADDRINUSE', family: 4, address: '127.0.0.1', port, isUdp: false });
  expect(found).toMatchObject({ pid, nclust: null });
});

test.runIf(process.platform === 'linux')(
  'a program whose descriptors are not readable is named by its user',
  async () => {
    const { port } = await listenElsewhere('', {});
    // Ends the search at once.
    vi.spyOn(process, 'cpuUsage').mockReturnValueOnce({ user: 0, system: 0 }).mockReturnValue({ user: 1e9, system: 0 });
    onTestFinished(() => void vi.restoreAllMocks());
    const find = createHolderFinder({ nowMs: () => 0 }, '/home/me');
    expect(find({ code: 'EADDRINUSE', family: 4, address: '127.0.0.1', port, isUdp: false })).toEqual({
      pid: 0,
      command: `a program of user ${userInfo().username}`,
    });
  },
);

describe.runIf(process.platform === 'linux')('readConnections()', () => {
  /** The other process is killed at the end. */
  const ignoreReset = () => {};

  /** @param {number} port */
  async function open(port) {
    const client = connect(port, '127.0.0.1').on('error', ignoreReset);
    onTestFinished(() => void client.destroy());
    await once(client, 'connect');
    return client;
  }

  test('input that a process has not read is found', async () => {
    const code =
      "require('net').createServer({ pauseOnConnect: true }, (client) => client.once('error', () => {}))" +
      ".listen(0, '127.0.0.1', function () { console.log(this.address().port) })";
    const app = spawn(process.execPath, ['-e', code], { stdio: ['ignore', 'pipe', 'inherit'] });
    onTestFinished(() => void app.kill());
    const [line] = await once(app.stdout, 'data');
    const read = () => readConnections([app.pid]).get(app.pid);
    const client = await open(Number(line));
    expect(read()).toEqual({ isInspected: false, hasInput: false });
    client.write('hello');
    await vi.waitFor(() => expect(read()).toEqual({ isInspected: false, hasInput: true }));
  });

  test('input in a connection to another server is not that of a client', async () => {
    const server = createServer((client) => void client.on('error', ignoreReset).write('hello')).listen(0, '127.0.0.1');
    onTestFinished(() => void server.close());
    await once(server, 'listening');
    const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
    const code = `require('net').connect({ port: ${port}, host: '127.0.0.1' }, () => {
      console.log('connected');
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
    })`;
    const app = spawn(process.execPath, ['-e', code], { stdio: ['ignore', 'pipe', 'inherit'] });
    onTestFinished(() => void app.kill('SIGKILL'));
    await once(app.stdout, 'data');
    expect(readConnections([app.pid]).get(app.pid)).toEqual({ isInspected: false, hasInput: false });
  });

  test('a debugger that is attached to a process is found', async () => {
    const port = await takePort();
    const app = spawn(process.execPath, [`--inspect=127.0.0.1:${port}`, '-e', 'setInterval(() => {}, 1e6)'], {
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    onTestFinished(() => void app.kill());
    await once(app.stderr, 'data');
    await open(port);
    await vi.waitFor(() => expect(readConnections([app.pid]).get(app.pid)).toMatchObject({ isInspected: true }));
  });
});
