import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { expect, onTestFinished, test, vi } from 'vitest';
import { createHolderFinder } from '../../../../daemon/control/host/socket-holder.js';

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

    const find = createHolderFinder({ nowMs: () => 0 });
    expect(find({ code: 'EADDRINUSE', family: 4, address: '127.0.0.1', port, isUdp: false })?.pid).toBe(process.pid);
  },
);

test.runIf(process.platform === 'linux')('the holders of two ports are found at the same time', async () => {
  const servers = [createServer(), createServer()];
  onTestFinished(() => servers.forEach((server) => void server.close()));
  await Promise.all(servers.map((server) => once(server.listen(0, '127.0.0.1'), 'listening')));
  const find = createHolderFinder({ nowMs: () => 0 });
  for (const server of servers) {
    const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
    const found = find({ code: 'EADDRINUSE', family: 4, address: '127.0.0.1', port, isUdp: false });
    expect(found).toMatchObject({ pid: process.pid, isPm2: false });
  }
});

test.runIf(process.platform === 'linux')('an app of PM2 is recognised by its parent', async () => {
  const title = process.title;
  onTestFinished(() => {
    process.title = title;
  });
  const code = "require('net').createServer().listen(0, '127.0.0.1', function () { console.log(this.address().port) })";
  const app = spawn(process.execPath, ['-e', code], { stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(() => void app.kill());
  const [line] = await once(app.stdout, 'data');
  process.title = 'PM2 v7.0.4: God Daemon (/root/.pm2)';
  const find = createHolderFinder({ nowMs: () => 0 });
  const found = find({ code: 'EADDRINUSE', family: 4, address: '127.0.0.1', port: Number(line), isUdp: false });
  expect(found).toMatchObject({ pid: app.pid, isPm2: true });
});
