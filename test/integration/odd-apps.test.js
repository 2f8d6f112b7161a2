import { once } from 'node:events';
import { Agent } from 'node:http';
import { connect, createServer } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { ask, openConnections } from '../helpers/connections.js';
import { realKeeper } from '../helpers/keeper.js';
import { takePort } from '../helpers/ports.js';
import { waitFor } from '../helpers/wait-for.js';

// Tests apps with unusual code. Node.js allows this code, so the agent must not prevent it.

/** @param {{ mode?: string, [param: string]: unknown }} [params]  PORT is the port of the app. */
async function running(code, { mode = 'cluster', ...params } = {}) {
  const keeper = await realKeeper();
  const port = await takePort();
  const start = async (id, more = {}) =>
    (await keeper.spawnNode(id, 'runs-code', { mode, env: { CODE: code, PORT: String(port) }, ...params, ...more }))
      .pid;
  const exitOf = async (id) => (await keeper.event('exited', id)).data;
  return { keeper, port, start, exitOf };
}

const OWN_CLUSTER = `
  const cluster = require('node:cluster');
  if (cluster.isPrimary) { for (let n = 0; n < 2; n += 1) cluster.fork(); }
  else http.createServer(answer).listen(Number(process.env.PORT), () => say('listens'));
`;

test('an app with its own node:cluster serves once admitted, and the previous instance gets nothing more', async () => {
  const { keeper, port, start } = await running(OWN_CLUSTER, { mode: 'fork' });
  await start('old');
  await keeper.event('listening', 'old');
  const old = new Set((await openConnections({ port }, 8, 'one by one')).keys());
  await start('next', { isGated: true });
  await keeper.event('listening', 'next');
  await keeper.call('admit', { instanceId: 'next' });
  await keeper.retire('old', { drain: 'handover' });
  await keeper.event('gone', 'old');
  const next = [...(await openConnections({ port }, 8, 'one by one')).keys()];
  expect(next).not.toHaveLength(0);
  expect(next.filter((pid) => old.has(pid))).toEqual([]);
});

test('an app with its own node:cluster serves again after unpark', async () => {
  const { keeper, port, start } = await running(OWN_CLUSTER, { mode: 'fork' });
  await start('old');
  await keeper.event('listening', 'old');
  const before = (await ask({ port })).pid;
  await keeper.call('park', { instanceId: 'old' });
  await keeper.call('unpark', { instanceId: 'old' });
  expect(before).toBeGreaterThan(0);
  expect((await ask({ port })).pid).toBeGreaterThan(0);
});

test.each([
  ['has no handler', ''],
  ['ends its workers at once', "process.on('SIGTERM', () => process.exit());"],
  ['signals its workers', "process.on('SIGTERM', () => Object.values(cluster.workers).forEach((one) => one.kill()));"],
])('the workers of an app with its own node:cluster keep every connection in a reload if it %s', async (_, handler) => {
  const { keeper, port, start } = await running('', { mode: 'fork' });
  const code = `
    const cluster = require('node:cluster');
    const slow = (request, response) => { say('request'); setTimeout(() => answer(request, response), 300); };
    if (cluster.isPrimary) { cluster.fork(); cluster.fork(); ${handler} }
    else http.createServer(slow).listen(Number(process.env.PORT), () => say('worker listens'));`;
  await start('one', { env: { CODE: code, PORT: String(port) } });
  await waitFor('both workers', () => keeper.output('one').split('worker listens').length === 3);
  const agents = [1, 2, 3, 4].map(() => new Agent({ keepAlive: true, maxSockets: 1 }));
  onTestFinished(() => agents.forEach((agent) => agent.destroy()));
  const askAll = () => Promise.all(agents.map((agent) => ask({ port, agent })));
  await askAll();
  const inFlight = Promise.all(agents.slice(2).map((agent) => ask({ port, agent })));
  await waitFor('the requests in flight', () => keeper.output('one').match(/request/g).length === 6);
  await keeper.retire('one', { drain: 'handover' });
  // The next requests of idle connections come while the instance ends.
  const late = Promise.all(agents.slice(0, 2).map((agent) => ask({ port, agent })));
  expect([...(await inFlight), ...(await late)]).toHaveLength(4);
  await keeper.event('gone', 'one');
});

async function asksToUpgrade(port) {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => {});
  await once(socket, 'connect');
  socket.write('GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n');
  return { socket, said: once(socket, 'data').then(([data]) => String(data)) };
}

test('an app without upgrade handlers answers an upgrade request normally, and survives the client', async () => {
  const { keeper, port, start } = await running(`
    const server = http.createServer(answer);
    const switched = 'HTTP/1.1 101 Switching Protocols\\r\\nUpgrade: websocket\\r\\nConnection: Upgrade\\r\\n\\r\\n';
    const upgrade = (request, socket) => socket.end(switched);
    server.on('upgrade', upgrade).listen(Number(process.env.PORT), () => say('listens'));
    process.on('message', (on) => {
      if (on) server.on('upgrade', upgrade);
      else server.removeListener('upgrade', upgrade);
      say('has', server.listenerCount('upgrade'));
    });
  `);
  await start('one');
  await keeper.says('one', 'listens');
  expect(await (await asksToUpgrade(port)).said).toMatch(/^HTTP\/1.1 101/);

  await keeper.call('send-message', { instanceId: 'one', message: false });
  await keeper.says('one', 'has 0');
  const { socket, said } = await asksToUpgrade(port);
  expect(await said).toMatch(/^HTTP\/1.1 200/);
  socket.resetAndDestroy();
  expect(await ask({ port })).toMatchObject({ pid: expect.any(Number) });

  await keeper.call('send-message', { instanceId: 'one', message: true });
  await keeper.says('one', 'has 1');
  expect(await (await asksToUpgrade(port)).said).toMatch(/^HTTP\/1.1 101/);
});

test.each(['cluster', 'fork'])('%s: a drained or parked server still returns its address', async (mode) => {
  const { keeper, port, start, exitOf } = await running(
    `
    const server = http.createServer(answer).listen(Number(process.env.PORT), () => say('listens'));
    process.on('message', () => say('parked at', server.address().port));
    process.on('SIGTERM', () => { say('closing', server.address().port); server.close(() => process.exit(7)); });
  `,
    { mode },
  );
  await start('one');
  await keeper.says('one', 'listens');
  await keeper.call('park', { instanceId: 'one' });
  await keeper.call('send-message', { instanceId: 'one', message: 'where?' });
  await keeper.says('one', `parked at ${port}`);
  await keeper.call('unpark', { instanceId: 'one' });
  expect(await ask({ port })).toMatchObject({ pid: expect.any(Number) });
  await keeper.retire('one');
  expect(await exitOf('one')).toMatchObject({ code: 7 });
  await keeper.says('one', `closing ${port}`);
});

test('an app that is retired with a custom signal can exit', async () => {
  const { keeper, start, exitOf } = await running(`
    const server = http.createServer(answer).listen(Number(process.env.PORT), () => say('listens'));
    process.once('SIGUSR2', () => { say('ends'); server.close(); process.disconnect(); });
  `);
  await start('one');
  await keeper.says('one', 'listens');
  await keeper.retire('one', { signal: 'SIGUSR2', killTimeoutMs: 3_000 });
  expect(await exitOf('one')).toMatchObject({ code: 0, signal: null });
});

test.each(['cluster', 'fork'])(
  '%s: an app that starts to listen after its signal exits and serves no client',
  async (mode) => {
    const { keeper, port, start, exitOf } = await running(
      `
    const server = http.createServer(answer);
    process.on('SIGTERM', () => server.listen(Number(process.env.PORT), () => {
      say('listens at', server.address().port);
      server.close(() => process.exit(7));
    }));
    setInterval(() => {}, 1000);
    say('boots');
  `,
      { mode },
    );
    await start('one');
    await keeper.says('one', 'boots');
    await keeper.retire('one', { killTimeoutMs: 3_000 });
    expect(await exitOf('one')).toMatchObject({ code: 7 });
    await keeper.says('one', `listens at ${port}`);
  },
);

test.each(['cluster', 'fork'])('%s: an app that unrefs its channel can be gated', async (mode) => {
  const { keeper, port, start } = await running(
    `
    http.createServer(answer).listen(Number(process.env.PORT), () => { process.channel.unref(); say('listens'); });
  `,
    { mode },
  );
  const pid = await start('one', { isGated: true });
  await keeper.says('one', 'listens');
  await keeper.call('ping', { instanceId: 'one', timeoutMs: 5_000 });
  await keeper.call('admit', { instanceId: 'one' });
  expect(await ask({ port })).toMatchObject({ pid });
});

// Fork mode only, because a worker of node:cluster runs as long as its channel is open.
test('an app in fork mode that is retired while gated exits without a kill', async () => {
  const { keeper, start, exitOf } = await running(
    `
    const server = http.createServer(answer).listen(Number(process.env.PORT), () => say('listens'));
    process.once('SIGTERM', () => { say('ends'); server.close(); });
  `,
    { mode: 'fork' },
  );
  await start('one', { isGated: true });
  await keeper.says('one', 'listens');
  await keeper.retire('one', { killTimeoutMs: 3_000 });
  expect(await exitOf('one')).toMatchObject({ code: 0, signal: null });
});

test('an app that removes its "listening" listeners is still reported as listening', async () => {
  const { keeper, port, start } = await running(`
    const server = require('node:net').createServer();
    server.once('error', () => { server.removeAllListeners('listening'); server.listen(0); });
    server.listen({ port: Number(process.env.PORT), exclusive: true });
  `);
  const stranger = createServer().listen(port);
  onTestFinished(() => void stranger.close());
  await once(stranger, 'listening');
  await start('one');
  await keeper.event('listening', 'one');
});

test('an app that retries listen() collects no listeners', async () => {
  const { keeper, port, start } = await running(`
    const server = require('node:net').createServer();
    let tries = 0;
    server.on('error', () => {
      tries += 1;
      if (tries < 13) listen();
      else say('listeners', server.listenerCount('listening'));
    });
    const listen = () => server.listen({ port: Number(process.env.PORT), exclusive: true });
    listen();
  `);
  const stranger = createServer().listen(port);
  onTestFinished(() => void stranger.close());
  await once(stranger, 'listening');
  await start('one');
  await keeper.says('one', 'listeners 1');
  expect(keeper.output('one')).not.toContain('MaxListenersExceededWarning');
});

test('an error that an app throws for a connection reaches the app, whichever worker accepted it', async () => {
  const { keeper, port, start } = await running(`
    process.on('uncaughtException', (error) => say(error.message));
    const server = require('node:net').createServer((socket) => {
      socket.on('error', () => {}).end();
      throw new Error('thrown at one');
    });
    server.listen(Number(process.env.PORT), () => say('listens'));
  `);
  for (const slot of [0, 1]) await start(`worker-${slot}`, { scheduling: 'sticky', slot });
  for (const slot of [0, 1]) await keeper.event('listening', `worker-${slot}`);
  // All connections come from one client, so all go to one worker. But the other worker accepts
  // about half of them first.
  for (let nth = 0; nth < 20; nth += 1) {
    const socket = connect(port, '127.0.0.1')
      .on('error', () => {})
      .resume();
    await once(socket, 'close');
  }
  const thrown = () => [0, 1].flatMap((slot) => keeper.output(`worker-${slot}`).match(/thrown at one/g) ?? []).length;
  await waitFor('every connection to cause an error', () => thrown() === 20);
});

/** @param {string} onSignal */
const WITH_WORKERS = (port, onSignal) => `
  const cluster = require('node:cluster');
  if (cluster.isPrimary) {
    for (let count = 0; count < 2; count += 1) cluster.fork();
    process.on('SIGTERM', () => { say('primary asked'); ${onSignal} });
  } else {
    process.on('SIGTERM', () => { say('worker asked'); process.exit(); });
    const slow = (request, response) => { say('request'); setTimeout(() => answer(request, response), 500); };
    http.createServer(slow).listen(${port}, () => say('worker listens'));
  }`;

test("the primary of an app's own node:cluster gets the signal first, and lets its workers finish", async () => {
  const { keeper, port, start } = await running('', { mode: 'fork' });
  const ends = `for (const worker of Object.values(cluster.workers)) worker.disconnect();
    let left = 2; cluster.on('exit', () => { left -= 1; if (left === 0) process.exit(); });`;
  await start('one', { env: { CODE: WITH_WORKERS(port, ends) } });
  await waitFor('both workers', () => keeper.output('one').split('worker listens').length === 3);
  const answered = ask({ port });
  await keeper.says('one', 'request');
  await keeper.retire('one');
  expect((await answered).pid).toBeGreaterThan(0);
  await keeper.event('gone', 'one');
  await keeper.says('one', 'primary asked');
  expect(keeper.output('one').match(/(primary|worker) asked/g)).toEqual(['primary asked']);
});

test('workers of a primary that does not end them get the signal in time', async () => {
  const { keeper, port, start } = await running('', { mode: 'fork' });
  await start('one', { env: { CODE: WITH_WORKERS(port, '') } });
  await waitFor('both workers', () => keeper.output('one').split('worker listens').length === 3);
  await keeper.retire('one', { killTimeoutMs: 2_000 });
  await keeper.event('gone', 'one');
  await waitFor('the last words', () => keeper.output('one').split('worker asked').length === 3);
  expect(keeper.output('one').match(/(primary|worker) asked/g)).toEqual([
    'primary asked',
    'worker asked',
    'worker asked',
  ]);
});
