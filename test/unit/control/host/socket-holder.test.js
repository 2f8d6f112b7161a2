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
