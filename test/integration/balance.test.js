import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { ask, busiest, openConnections } from '../helpers/connections.js';
import { realKeeper } from '../helpers/keeper.js';
import { takePort } from '../helpers/ports.js';
import { waitFor } from '../helpers/wait-for.js';

const IDS = ['a', 'b', 'c', 'd'];

/** @param {string} code  The body of the request handler; it calls `answer` to respond. */
async function cluster(code, params = {}) {
  const keeper = await realKeeper();
  const port = await takePort();
  const server = `http.createServer((request, response) => { ${code} }).listen(${port}, () => say('listens'));`;
  const start = async (id, slot = IDS.indexOf(id)) => {
    const { pid } = await keeper.spawnNode(id, 'runs-code', {
      scheduling: 'least-connections',
      slot,
      ...params,
      env: { CODE: server },
    });
    await keeper.event('listening', id); // In rotation.
    return pid;
  };
  const pids = [];
  for (const id of IDS) pids.push(await start(id));
  return { keeper, port, pids, start };
}

test.each([
  [64, 'burst', 1.25],
  [64, 'one by one', 1.25],
  [16, 'burst', 1.5],
  [16, 'one by one', 1.5],
])(
  '%i keep-alive connections (%s): the busiest of four workers has at most %f times the mean',
  async (count, how, bound) => {
    const { port } = await cluster('answer(request, response);');
    const byPid = await openConnections({ port }, count, how);
    expect(busiest(byPid, 4), JSON.stringify([...byPid.values()])).toBeLessThanOrEqual(bound);
  },
);

test('a worker that blocks its event loop gets no connections, and gets its share once it answers again', async () => {
  const { keeper, port, pids } = await cluster(`
    if (request.url !== '/block') return answer(request, response);
    response.write(' ');
    setImmediate(() => {
      say('blocks');
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 3000);
      answer(request, response);
    });`);
  const blocking = ask({ port, path: '/block' });
  await waitFor('the worker to block', () => IDS.some((id) => keeper.output(id).includes('blocks')));
  // These connections stay open. So the workers that do not block have more than their share, and
  // pass new connections on.
  const held = await openConnections({ port }, 12, 'one by one');
  const meanwhile = [];
  for (let nth = 0; nth < 60; nth += 1) meanwhile.push(await ask({ port }));
  const { pid: blocked } = await blocking;
  expect(Math.max(...meanwhile.map(({ ms }) => ms))).toBeLessThan(200);
  expect(meanwhile.map(({ pid }) => pid)).not.toContain(blocked);
  expect([...held.keys()]).not.toContain(blocked);
  const after = await openConnections({ port }, 20, 'one by one');
  expect(after.get(blocked)).toBeGreaterThan(0);
  expect(pids).toContain(blocked);
});

test('a connection that is passed to a dying worker goes to another worker', async () => {
  const { keeper, port, pids } = await cluster('answer(request, response);');
  await openConnections({ port }, 40, 'burst');
  // Stopped workers accept nothing, so the only running worker gets more than its share.
  for (const pid of pids.slice(1)) process.kill(pid, 'SIGSTOP');
  const asked = Promise.all(Array.from({ length: 20 }, () => ask({ port })));
  for (const pid of pids.slice(1)) process.kill(pid, 'SIGKILL');
  expect((await asked).map(({ pid }) => pid)).toEqual(Array.from({ length: 20 }, () => pids[0]));
  for (const id of IDS.slice(1)) await keeper.event('exited', id);
});

test('the last worker gets every connection, and a new one gets its share at once', async () => {
  const { keeper, port, pids, start } = await cluster('answer(request, response);');
  for (const id of IDS.slice(1)) await keeper.retire(id);
  for (const id of IDS.slice(1)) await keeper.event('gone', id);
  expect([...(await openConnections({ port }, 16, 'burst')).keys()]).toEqual([pids[0]]);
  const next = await start('e', 1);
  const byPid = await openConnections({ port }, 16, 'one by one');
  expect(byPid.get(next)).toBeGreaterThanOrEqual(14);
});

test('sticky scheduling sends every connection of a client to one slot, even with a new instance in it', async () => {
  const { keeper, port, start } = await cluster('answer(request, response);', { scheduling: 'sticky' });
  const addresses = Array.from({ length: 12 }, (_, nth) => `127.0.0.${nth + 1}`);
  const homeOf = async (localAddress) => {
    const pids = new Set();
    for (let nth = 0; nth < 4; nth += 1) pids.add((await ask({ port, host: '127.0.0.1', localAddress })).pid);
    expect([...pids]).toHaveLength(1);
    return [...pids][0];
  };
  const before = new Map();
  for (const address of addresses) before.set(address, await homeOf(address));
  expect(new Set(before.values()).size).toBeGreaterThan(1);

  const old = before.get(addresses[0]);
  const { children } = await keeper.call('snapshot');
  const leaving = keeper.shortId(children.find((child) => child.pid === old).instanceId);
  const next = await start('e', IDS.indexOf(leaving));
  await keeper.retire(leaving, { drain: 'handover' });
  await keeper.event('gone', leaving);
  for (const address of addresses)
    expect(await homeOf(address)).toBe(before.get(address) === old ? next : before.get(address));
});

test('os scheduling leaves the choice to the kernel, without the keeper', async () => {
  const { keeper, port } = await cluster('answer(request, response);', { scheduling: 'os' });
  // The stopped keeper cannot pass connections on. So if a worker gave a connection to the keeper,
  // the client would get no answer.
  process.kill(keeper.pid, 'SIGSTOP');
  const byPid = await openConnections({ port }, 32, 'burst');
  process.kill(keeper.pid, 'SIGCONT');
  expect([...byPid.values()].reduce((sum, one) => sum + one, 0)).toBe(32);
  expect((await keeper.call('snapshot')).children).toHaveLength(4);
});

test('a draining worker passes on the connections that it gets', async () => {
  const { keeper, port, pids } = await cluster('answer(request, response);');
  const asked = [];
  const retired = [];
  for (const [nth, id] of IDS.slice(1).entries()) {
    asked.push(...Array.from({ length: 15 }, () => ask({ port })));
    retired.push(keeper.retire(id, { drain: 'handover' }));
    await waitFor('an answer', () => Promise.race(asked.slice(nth * 15)).then(() => true));
  }
  const answers = await Promise.all(asked);
  await Promise.all(retired);
  expect(answers).toHaveLength(45);
  expect(pids).toEqual(expect.arrayContaining([...new Set(answers.map(({ pid }) => pid))]));
});

test('a draining worker finishes its requests and gets no new ones, even with the fewest connections', async () => {
  const { keeper, port, pids } = await cluster(`
    if (request.url !== '/slow') return answer(request, response);
    say('is asked');
    process.on('SIGUSR2', () => answer(request, response));`);
  const slow = ask({ port, path: '/slow' }, { timeoutMs: 15_000 });
  const draining = await waitFor('the slow request to arrive', () =>
    IDS.find((id) => keeper.output(id).includes('is asked')),
  );
  const own = pids[IDS.indexOf(draining)];
  const others = pids.filter((pid) => pid !== own);
  await keeper.retire(draining, { drain: 'handover', killTimeoutMs: 60_000 });
  // The answer shows that the worker has started to drain.
  await keeper.call('ping', { instanceId: draining, timeoutMs: 5_000 });
  for (const pid of others) process.kill(pid, 'SIGSTOP');
  const sockets = Array.from({ length: 20 }, () => connect(port));
  const answers = sockets.map((socket) => text(socket));
  await Promise.all(sockets.map((socket) => once(socket, 'connect')));
  // After two turns of its event loop, the draining worker has accepted the connections.
  for (let nth = 0; nth < 2; nth += 1) await keeper.call('ping', { instanceId: draining, timeoutMs: 5_000 });
  for (const pid of others) process.kill(pid, 'SIGCONT');
  // The clients send nothing before all connections are accepted. So each of the other workers has
  // more than its share and passes some connections on.
  await waitFor('all connections to be accepted', () => queuedOn(port) === 0);
  for (const socket of sockets) socket.write('GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n');
  for (const answer of await Promise.all(answers))
    expect(others).toContain(JSON.parse(answer.split('\r\n\r\n')[1]).pid);
  process.kill(own, 'SIGUSR2');
  expect(await slow).toMatchObject({ pid: own });
  await keeper.event('gone', draining);
});

test('SIGKILL of the keeper loses no connection that it is passing on', async () => {
  const { keeper, port } = await cluster('answer(request, response);');
  await openConnections({ port }, 40, 'burst');
  // Stops the keeper, so that the connections above the shares of the four workers wait in the
  // channels of the keeper.
  process.kill(keeper.pid, 'SIGSTOP');
  const sockets = Array.from({ length: 20 }, () => connect(port));
  await Promise.all(sockets.map((socket) => once(socket, 'connect')));
  await waitFor('all connections to be accepted', () => queuedOn(port) === 0);
  await keeper.kill();
  const answers = sockets.map((socket) => text(socket));
  for (const socket of sockets) socket.write('GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n');
  for (const answer of await Promise.all(answers)) expect(answer).toContain('200 OK');
});

/** @returns {number} */
function queuedOn(port) {
  const local = port.toString(16).toUpperCase().padStart(4, '0');
  const line =
    readFileSync('/proc/net/tcp6', 'utf8')
      .split('\n')
      .find((one) => new RegExp(`^ *\\d+: \\S+:${local} \\S+ 0A`).test(one)) ?? '';
  return Number.parseInt(/ 0A [0-9A-F]+:([0-9A-F]+)/.exec(line)?.[1] ?? '', 16);
}
