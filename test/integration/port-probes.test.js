import { connect, createServer } from 'node:net';
import { describe, expect, test } from 'vitest';
import { realKeeper } from '../helpers/keeper.js';
import { takePort } from '../helpers/ports.js';
import { waitFor } from '../helpers/wait-for.js';

// A program that checks whether its port is in use gets the same answer as without nclust.

const LISTENS = (port) => `http.createServer(answer).listen(${port}, () => say('listens'));`;

/** detect-port, get-port and portfinder listen on one address after the other. */
const ASKS_BY_LISTENING = (port) => `
  const ask = (host) => new Promise((resolve) => {
    const server = net.createServer().on('error', ({ code }) => resolve(code));
    server.listen(${port}, host, () => server.close(() => resolve('free')));
  });
  const answers = [];
  for (const host of [undefined, '0.0.0.0', '127.0.0.1', 'localhost']) answers.push(await ask(host));
  say('heard', answers.join(' '));`;

/** The packages `serve` and `tcp-port-used` check a port by connecting to it. */
const ASKS_BY_CONNECTING = (port) => `
  const ask = () => new Promise((resolve) => {
    const socket = net.connect(${port}, '127.0.0.1');
    socket.on('connect', () => resolve('connected')).on('error', ({ code }) => resolve(code)).on('close', () => {});
    socket.on('connect', () => socket.destroy());
  });
  say('heard', await ask());`;

const main = (code) => `const net = require('node:net'); void (async () => { ${code} })();`;

const WAYS = [
  ['by listening', ASKS_BY_LISTENING, 'heard free free free free'],
  ['by connecting', ASKS_BY_CONNECTING, 'heard ECONNREFUSED'],
];

describe.each(['cluster', 'fork'])('port probes of an app in %s mode', (mode) => {
  const run = (keeper, id, code, params = {}) =>
    keeper.spawnNode(id, 'runs-code', { mode, ...params, env: { CODE: main(code) } });

  test.each(WAYS)('port probes find the port of another instance of the app free, %s', async (_, asks, heard) => {
    const keeper = await realKeeper();
    const port = await takePort();
    await run(keeper, 'one', LISTENS(port));
    await keeper.says('one', 'listens');
    await run(keeper, 'two', asks(port) + LISTENS(port));
    await keeper.says('two', 'listens');
    expect(keeper.output('two')).toContain(heard);
  });

  test.each(WAYS)('port probes find a port that is held for the next process free, %s', async (_, asks, heard) => {
    const keeper = await realKeeper();
    const port = await takePort();
    for (const id of ['one', 'two', 'three']) {
      const { pid } = await run(keeper, id, asks(port) + LISTENS(port));
      await keeper.says(id, 'listens');
      expect(keeper.output(id)).toContain(heard);
      await keeper.event('listening', id);
      process.kill(pid, 'SIGKILL');
      await keeper.event('gone', id);
    }
  });

  test('port probes find the port of another program taken', async () => {
    const keeper = await realKeeper();
    const port = await takePort();
    const stranger = createServer().listen(port);
    await run(keeper, 'one', ASKS_BY_LISTENING(port));
    await run(keeper, 'two', ASKS_BY_CONNECTING(port));
    await keeper.says('one', 'heard EADDRINUSE EADDRINUSE EADDRINUSE EADDRINUSE');
    await keeper.says('two', 'heard connected');
    stranger.close();
  });

  test('port probes find the port of another app taken', async () => {
    const keeper = await realKeeper();
    const port = await takePort();
    await run(keeper, 'one', LISTENS(port), { app: 'other' });
    await keeper.says('one', 'listens');
    await run(keeper, 'two', ASKS_BY_LISTENING(port));
    await run(keeper, 'three', ASKS_BY_CONNECTING(port));
    await keeper.says('two', 'heard EADDRINUSE EADDRINUSE EADDRINUSE EADDRINUSE');
    await keeper.says('three', 'heard connected');
  });

  test('port probes of an instance reach its own port as soon as it listens', async () => {
    const keeper = await realKeeper();
    const port = await takePort();
    await run(
      keeper,
      'one',
      `await new Promise((resolve) => http.createServer(answer).listen(${port}, resolve)); ${ASKS_BY_CONNECTING(port)}`,
    );
    await keeper.says('one', 'heard connected');
  });

  test('port probes of an instance that never listened reach the other instances the next time', async () => {
    const keeper = await realKeeper();
    const port = await takePort();
    await run(keeper, 'server', LISTENS(port), { slot: 0 });
    await keeper.says('server', 'listens');
    await run(keeper, 'client', `${ASKS_BY_CONNECTING(port)} process.exit();`, { slot: 1 });
    await keeper.event('gone', 'client');
    expect(keeper.output('client')).toContain('heard ECONNREFUSED');
    await run(keeper, 'again', ASKS_BY_CONNECTING(port), { slot: 1 });
    await keeper.says('again', 'heard connected');
  });

  test('port probes by listening are not announced to control, only the server that stays', async () => {
    const keeper = await realKeeper();
    const port = await takePort();
    await run(keeper, 'one', ASKS_BY_LISTENING(port) + LISTENS(port));
    const announced = () => keeper.events.filter(({ event }) => event === 'listening' || event === 'listener');
    await waitFor('both events of the server', () => announced().length >= 2);
    expect(announced().map(({ data }) => data.port)).toEqual([port, port]);
    expect(
      announced()
        .map(({ event }) => event)
        .sort(),
    ).toEqual(['listener', 'listening']);
  });

  test('port probes let no server stay on another address of the port, and the error names a restart', async () => {
    const keeper = await realKeeper();
    const port = await takePort();
    await run(keeper, 'one', LISTENS(port));
    await keeper.says('one', 'listens');
    await run(
      keeper,
      'two',
      `http.createServer(answer).on('error', (error) => say(error.code, error.message)).listen(${port}, '127.0.0.1');`,
    );
    await keeper.says('two', 'EADDRINUSE');
    expect(keeper.output('two')).toMatch(/instances of this app listen on :: port \d+; a restart can move them/);
    expect(await keeper.event('listen-failed', 'two')).toMatchObject({ data: { code: 'EADDRINUSE', port } });
  });

  test('port probes let a server listen once an instance that only probed has closed its own', async () => {
    const keeper = await realKeeper();
    const port = await takePort();
    await run(
      keeper,
      'one',
      `
      const server = net.createServer().listen(${port}, '127.0.0.1', () => say('asks'));
      process.on('SIGUSR2', () => server.close());`,
    );
    await keeper.says('one', 'asks');
    await run(keeper, 'two', LISTENS(port));
    await keeper.says('two', 'listens');
    await keeper.call('signal', { instanceId: 'one', signal: 'SIGUSR2' });
    await keeper.event('listening', 'two');
    const socket = connect(port, '127.0.0.1');
    await waitFor('the connection to open', () => socket.readyState === 'open');
    socket.destroy();
  });
});
