import { readFileSync } from 'node:fs';
import { Agent, get } from 'node:http';
import { connect, createServer } from 'node:net';
import { describe, expect, test } from 'vitest';
import { takePort } from '../helpers/ports.js';
import { readStat } from '../helpers/processes.js';
import { sandbox } from '../helpers/sandbox.js';
import { fetchOnce } from '../helpers/sandbox-app.js';

const answerers = async (ask, times) =>
  new Set((await Promise.all(Array.from({ length: times }, ask))).map(({ pid }) => pid));

test('all workers of a cluster answer on one port', async () => {
  const home = await sandbox();
  const app = await home.app('http-echo', { instances: 3 });
  const pids = await app.pids();
  await home.waitFor(
    'an answer of each worker',
    async () => (await answerers(() => app.get('/?delay=50'), 24)).size === 3,
  );
  expect((await app.instances()).map((slot) => slot.addresses[0].port)).toEqual([app.port, app.port, app.port]);
  const { keeperPid } = await home.daemon();
  for (const pid of pids) expect(readStat(pid)?.ppid).toBe(keeperPid);
});

test('a blocked worker gets no new requests', async () => {
  const home = await sandbox();
  const app = await home.app('http-echo', { instances: 2 });
  const slots = await app.instances();
  const blocking = app.get('/?block=2000');
  const blocked = await home.waitFor('a worker to be blocked', () =>
    slots.find(({ outFile, pid }) => readFileSync(outFile, 'utf8').includes(`${pid} blocks`)),
  );
  const started = performance.now();
  const others = await answerers(() => app.get(), 10);
  expect(performance.now() - started).toBeLessThan(1_500);
  expect([...others]).toEqual(slots.map((slot) => slot.pid).filter((pid) => pid !== blocked.pid));
  expect(await blocking).toMatchObject({ pid: blocked.pid });
});

test('connections wait for the next worker instead of being refused while no worker runs', async () => {
  const home = await sandbox();
  const app = await home.app('http-echo', { flags: ['--min-uptime', '100', '--restart-delay', '600'] });
  const [pid] = await app.pids();
  // Waits, because an app older than min_uptime is up even if it does not listen yet.
  await home.waitFor('the worker to listen', async () => (await app.instances())[0].addresses.length > 0);
  await home.waitFor(
    'the worker to run longer than its minimum uptime',
    async () => Date.now() - Number((await app.instances())[0].startedAtMs) > 200,
  );
  process.kill(pid, 'SIGKILL');
  await home.waitFor('the worker to exit', async () => (await app.pids())[0] === 0);
  const { pid: next } = await app.get();
  expect(next).not.toBe(pid);
});

describe('addresses of a cluster', () => {
  test('a second app on the same port is refused, and the error names the app that holds it', async () => {
    const home = await sandbox();
    const app = await home.app('http-echo', { name: 'first' });
    const second = await home.nclust('start', home.place('http-echo', 'second.js'), '--max-restarts', '0', {
      env: { PORT: String(app.port) },
    });
    expect(second.exitStatus).toBe(1);
    expect(second.stderr).toMatch(/EADDRINUSE/);
    expect(second.stderr).toMatch(/first/);
    expect(await app.get()).toMatchObject({ pid: (await app.pids())[0] });
  });

  test('a port that another program holds fails with EADDRINUSE', async () => {
    const home = await sandbox();
    const port = await takePort();
    const stranger = createServer();
    await new Promise((resolve) => stranger.listen(port, () => resolve(undefined)));
    const result = await home.nclust('start', home.place('http-echo'), '-i', '2', '--max-restarts', '0', {
      env: { PORT: String(port) },
    });
    await new Promise((resolve) => stranger.close(resolve));
    expect(result.exitStatus).toBe(1);
    expect(result.stderr).toMatch(/EADDRINUSE/);
  });

  test('an app with two ports listens on both', async () => {
    const home = await sandbox();
    const second = await takePort();
    const app = await home.app('two-ports', { instances: 2, env: { SECOND_PORT: String(second) } });
    expect(JSON.parse(await app.get())).toMatchObject({ port: app.port });
    expect(JSON.parse(await fetchOnce(`http://127.0.0.1:${second}/`))).toMatchObject({ port: second });
    await home.waitFor('both ports to be listed', async () =>
      (await app.instances()).every((slot) => slot.addresses.length === 2),
    );
  });

  test('port 0 gives all workers the same port', async () => {
    const home = await sandbox();
    const app = await home.app('port-zero', { instances: 2 });
    const ports = (await app.instances()).map((slot) => slot.addresses[0].port);
    expect(ports[0]).toBeGreaterThan(0);
    expect(ports[1]).toBe(ports[0]);
    expect(JSON.parse(await fetchOnce(`http://127.0.0.1:${ports[0]}/`))).toMatchObject({ pid: expect.any(Number) });
  });

  test('a TCP server that does not speak HTTP works in cluster mode', async () => {
    const home = await sandbox();
    const app = await home.app('tcp-greets', { instances: 2 });
    const greeting = await new Promise((resolve, reject) => {
      const socket = connect(app.port, '127.0.0.1');
      socket.once('data', (chunk) => resolve(String(chunk)));
      socket.once('error', reject);
    });
    expect(greeting).toMatch(/^tcp-greets \d+/);
  });

  test('a deleted app frees its port for another app', async () => {
    const home = await sandbox();
    const app = await home.app('http-echo', { instances: 2 });
    await home.nclust('delete', app.name);
    const next = await home.nclust('start', home.place('http-echo', 'next.js'), { env: { PORT: String(app.port) } });
    expect(next).toMatchObject({ exitStatus: 0 });
  });
});

describe('an app that forks its own workers', () => {
  test('a forking app runs as one worker under -i, because nclust does the forking', async () => {
    const home = await sandbox();
    const app = await home.app('forks-for-itself', { instances: 2 });
    const pids = await app.pids();
    const { keeperPid } = await home.daemon();
    const answer = await app.get();
    expect(pids).toContain(answer.pid);
    expect(answer.ppid).toBe(keeperPid);
    expect(home.processes().filter((one) => one.role === 'app')).toHaveLength(2);
  });

  test('a forking app is its own primary in fork mode', async () => {
    const home = await sandbox();
    const app = await home.app('forks-for-itself');
    const [pid] = await app.pids();
    const answer = await app.get();
    expect(answer.ppid).toBe(pid);
    expect(home.processes().filter((one) => one.role === 'app')).toHaveLength(3);
    expect(await home.nclust('stop', app.name)).toMatchObject({ exitStatus: 0 });
    expect(home.processes().filter((one) => one.role === 'app')).toEqual([]);
  });
});

test('scaling down a cluster drops no keep-alive client', async () => {
  const home = await sandbox();
  const app = await home.app('http-echo', { instances: 3 });
  const agent = new Agent({ keepAlive: true, maxSockets: 6 });
  const ask = () =>
    new Promise((resolve, reject) => {
      get(`${app.url}/?delay=10`, { agent }, (response) =>
        response
          .resume()
          .on('end', () => resolve(response.statusCode))
          .on('error', reject),
      ).on('error', reject);
    });
  const scaling = home.follow('scale', app.name, '1');
  let isDone = false;
  void scaling.done.then(() => (isDone = true));
  while (!isDone) expect(await Promise.all(Array.from({ length: 6 }, ask))).toEqual([200, 200, 200, 200, 200, 200]);
  agent.destroy();
  expect(await scaling.done).toMatchObject({ exitStatus: 0 });
});
