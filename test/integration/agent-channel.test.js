import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { ask, openConnections } from '../helpers/connections.js';
import { countDescriptors } from '../helpers/footprint.js';
import { realKeeper } from '../helpers/keeper.js';
import { isRoot, NOBODY } from '../helpers/other-user.js';
import { takePort } from '../helpers/ports.js';
import { residentBytes } from '../helpers/processes.js';
import { waitFor } from '../helpers/wait-for.js';

// Tests a hostile app at the other end of a real channel. Another app must continue to serve.

const TOOLS = `
  const net = require('net');
  const fs = require('fs');
  const symbol = Object.getOwnPropertySymbols(process).find(({ description }) => description === 'kChannelHandle');
  const channel = process[symbol];
  const agentSays = (act, more, handle, then) => process.send({ cmd: 'NODE_NCLUST', act, ...more }, handle, then);
  // An app of another user writes to its lane.
  const out = process.getuid() === ${NOBODY.uid} ? 4 : channel.fd;
  const write = (text) => {
    try {
      if (process.connected) fs.writeSync(out, text);
    } catch (error) {
      if (!['EAGAIN', 'EPIPE'].includes(error.code)) throw error;
    }
  };
  process.on('disconnect', () => say('is cut off'));
  const stays = setInterval(() => {}, 1 << 30);
  setTimeout(() => say('begins'), 0);`;

/** @param {string} code */
async function hostile(code, params = {}) {
  const keeper = await realKeeper({ isHostile: true, isOpen: true });
  const port = await takePort();
  await keeper.spawnNode('good', 'http-echo', { app: 'good', env: { PORT: String(port) } });
  await keeper.event('listening', 'good');
  await keeper.spawnNode('bad', 'runs-code', {
    app: 'bad',
    env: { CODE: `${TOOLS} process.once('message', () => { ${code} });` },
    cwd: '/',
    ...params,
  });
  await keeper.says('bad', 'begins');
  const log = () =>
    readFileSync(join(keeper.home, 'nclust.log'), 'utf8')
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line));
  return {
    keeper,
    port,
    begin: () => keeper.call('send-message', { instanceId: 'bad', message: 'go' }),
    dropped: () => log().filter(({ event }) => event === 'message-dropped'),
    /** Expects that both apps run, the other app serves, and the keeper has handled every error. */
    async isUnharmed() {
      expect(await ask({ port })).toMatchObject({ pid: expect.any(Number) });
      expect(log().filter(({ event }) => event === 'uncaught' || event === 'child-error')).toEqual([]);
      expect((await keeper.call('snapshot')).children.map((one) => one.exit)).toEqual([null, null]);
    },
  };
}

const USERS = [['the user of the keeper', {}], ...(isRoot ? [['another user', NOBODY]] : [])];

describe.each(USERS)('an app of %s', (_who, user) => {
  const begun = (code) => hostile(code, user);

  test.each([
    ['bytes that are not JSON', `write('{]\\n');`],
    ['bytes that are not text', `write(Buffer.from([0xff, 0xfe, 0x00, 0x0a]));`],
    ['half a line and the end of it', `write('{"cmd":"NODE_NCLUST"'); write('x\\n');`],
  ])('an app that sends %s is cut off and runs on', async (_what, code) => {
    const { keeper, begin, dropped, isUnharmed } = await begun(code);
    const before = residentBytes(keeper.pid);
    await begin();
    await keeper.says('bad', 'is cut off');
    await isUnharmed();
    expect(dropped()).toMatchObject([{ count: 1 }]);
    expect(residentBytes(keeper.pid) - before).toBeLessThan(40 * 2 ** 20);
  });

  test('a message of more than 1 MiB is dropped, and the channel keeps working', async () => {
    const { keeper, begin, dropped, isUnharmed } = await begun(`
      const server = net.createServer().listen({ port: 0, exclusive: true }, () => {
        process.send('x'.repeat(2e6), server);
        for (const text of ['€'.repeat(2e6), 'x'.repeat(64e6), 'short']) process.send(text);
        agentSays('fault', { part: 'after', message: '' });
      });`);
    await keeper.call('subscribe-messages', { isOn: true });
    const before = residentBytes(keeper.pid);
    const descriptors = countDescriptors(keeper.pid);
    await begin();
    await keeper.event('agent-failed', 'bad');
    await isUnharmed();
    expect(countDescriptors(keeper.pid)).toBeLessThanOrEqual(descriptors);
    expect(dropped()).toMatchObject([{ count: 1, what: 'a line of more than 1 MiB' }]);
    expect(keeper.events.filter(({ event }) => event === 'app-message')).toMatchObject([{ data: { text: '"short"' } }]);
    expect(residentBytes(keeper.pid) - before).toBeLessThan(40 * 2 ** 20);
  });

  test.each([
    ['a message of the agent', `{ cmd: 'NODE_NCLUST', act: 'report', report: {} }`, 'server._handle'],
    ['an invalid message of the agent', `{ cmd: 'NODE_NCLUST', act: 'bound', claim: {} }`, 'server._handle'],
    ['another message of Node', `{ cmd: 'NODE_CLUSTER', act: 'listening' }`, 'server._handle'],
    ['an unknown message of Node', `{ cmd: 'NODE_OTHER' }`, 'server._handle'],
    ['a message of the app', `'here'`, 'server'],
    ['a message of the app as a handle', `{ type: 'axm:monitor', data: {} }`, 'server._handle'],
    ['a message of the app, a connection', `'here'`, 'client'],
    ['a message of the app, UDP', `'here'`, 'udp'],
  ])('a socket that is sent with %s is closed, and each message is answered', async (_what, message, handle) => {
    const { keeper, begin, isUnharmed } = await begun(`
      const udp = require('dgram').createSocket('udp4').bind({ port: 0, exclusive: true });
      const server = net.createServer(() => {}).listen({ port: 0, host: '127.0.0.1', exclusive: true }, () => {
        const client = net.connect(server.address().port, '127.0.0.1', () => {
          let left = 100;
          const next = () => {
            if (left-- > 0) process.send(${message}, ${handle}, { keepOpen: true }, next);
            else agentSays('fault', { part: 'last', message: '' });
          };
          next();
        });
      });`);
    const before = countDescriptors(keeper.pid);
    await begin();
    await keeper.event('agent-failed', 'bad');
    await waitFor('the sockets to be closed', () => countDescriptors(keeper.pid) <= before);
    await isUnharmed();
  });

  test('rejected messages are logged once, however many there are', async () => {
    const { keeper, begin, dropped, isUnharmed } = await begun(`
      for (let at = 0; at < 5_000; at += 1) {
        agentSays('listen', {});
        agentSays('nonsense', { at });
        process.send({ cmd: 'NODE_HANDLE_ACK' });
      }
      agentSays('fault', { part: 'last', message: 'x' });`);
    await begin();
    await keeper.event('agent-failed', 'bad');
    await isUnharmed();
    expect(dropped()).toMatchObject([{ app: 'bad', count: 1 }]);
  });

  test('an app that floods its channel is read one second later, and other apps do not wait', async () => {
    const { keeper, port, begin } = await begun(`
      const flood = () => {
        for (let at = 0; at < 60_000; at += 1) agentSays('connection-accepted', { seq: at });
        say('has sent');
      };
      flood();`);
    await begin();
    await keeper.says('bad', 'has sent');
    const startedMono = performance.now();
    for (let at = 0; at < 20; at += 1) await ask({ port });
    await keeper.call('snapshot');
    expect(performance.now() - startedMono).toBeLessThan(2_000);
  });

  test('an invalid listen() is refused, and an invalid answer becomes an error', async () => {
    const { keeper, begin } = await begun(`
      // Adds a listener that runs before the listener of the agent.
      process.prependListener('internalMessage', (message) => {
        if (message.act === 'refused') say('refused', message.seq, message.code);
        if (message.act === 'ping') agentSays('answer', { seq: message.seq, open: 'many' });
      });
      const address = '/' + 'x'.repeat(5_000);
      agentSays('listen', { seq: 7_000, claim: { address, port: 0, family: 0, flags: 0, index: 0 } });`);
    await begin();
    await keeper.says('bad', 'refused 7000 EINVAL');
    await expect(keeper.call('ping', { instanceId: 'bad', timeoutMs: 5_000 })).rejects.toMatchObject({
      code: 'EBADMSG',
    });
  });

  test('a worker can bind any number of UDP sockets in turn, but at most 256 at a time', async () => {
    const { keeper, begin } = await begun(`
      const dgram = require('dgram');
      const bind = (then) => dgram.createSocket('udp4').on('error', (error) => say('refused', error.code))
        .on('listening', function () { then(this); }).bind(0, '127.0.0.1');
      let opened = 0;
      const hold = (count) => count > 0 ? bind(() => hold(count - 1)) : bind(() => {});
      const did = () => { say('did'); hold(256); };
      const again = (count) => count > 0 ? bind((socket) => socket.close(() => again(count - 1))) : did();
      again(300);`);
    await begin();
    await keeper.says('bad', 'did');
    await keeper.says('bad', 'refused EMFILE');
  });

  test('a worker can retry a used UDP address more than 256 times', async () => {
    const other = createSocket('udp4').bind(0, '127.0.0.1');
    onTestFinished(() => void other.close());
    await once(other, 'listening');
    const { keeper, begin } = await begun(`
      const dgram = require('dgram');
      const codes = new Set();
      const bind = (port, left) => dgram.createSocket('udp4')
        .on('listening', () => say('listens after', ...codes))
        .on('error', ({ code }) => { codes.add(code); bind(left > 0 ? port : 0, left - 1); })
        .bind(port, '127.0.0.1');
      bind(${other.address().port}, 300);`);
    await begin();
    await keeper.says('bad', 'listens after EADDRINUSE\n');
  });

  test('the workers of an app share its UDP socket, and other apps cannot get it', async () => {
    const port = await takePort();
    const code = `
      require('dgram').createSocket('udp4').on('error', ({ code }) => say('refused', code))
        .on('listening', () => say('listens')).bind(${port}, '127.0.0.1');`;
    const { keeper, begin } = await begun(code);
    for (const id of ['first', 'second']) {
      await keeper.spawnNode(id, 'runs-code', { app: 'udp', env: { CODE: code } });
      await keeper.says(id, 'listens');
    }
    await begin();
    await keeper.says('bad', 'refused EADDRINUSE');
  });
});

/** The app sends its listening socket `count` times, without messages that describe the socket. */
const sendSockets = (count) => `
  const { WriteWrap } = process.binding('stream_wrap');
  const server = net.createServer(() => {}).listen({ port: 0, host: '127.0.0.1', exclusive: true }, () => {
    for (let at = 0; at < ${count}; at += 1) channel.writeUtf8String(new WriteWrap(), '"x"\\n', server._handle);
    say('has sent');
  });`;

test('an app that sends sockets without their messages is cut off, and the sockets are closed', async () => {
  const { keeper, begin, isUnharmed } = await hostile(sendSockets(50));
  const before = countDescriptors(keeper.pid);
  await begin();
  await keeper.says('bad', 'is cut off');
  // The channel is closed, but the agent connects again through the keeper socket. So the number of
  // descriptors does not grow.
  await waitFor('the sockets to be closed', () => countDescriptors(keeper.pid) <= before);
  await isUnharmed();
});

test('a socket without its message is closed when the app exits', async () => {
  const { keeper, begin } = await hostile(sendSockets(1));
  const before = countDescriptors(keeper.pid);
  await begin();
  await keeper.says('bad', 'has sent');
  await keeper.retire('bad', { killTimeoutMs: 0 });
  await keeper.event('gone', 'bad');
  await waitFor('the sockets to be closed', () => countDescriptors(keeper.pid) < before);
});

test('the second listen() for a taken address replaces the first, so that one retry is made', async () => {
  const taken = await takePort();
  const other = createServer().listen(taken, '127.0.0.1');
  onTestFinished(() => void other.close());
  const { keeper, begin, isUnharmed } = await hostile(`
    process.on('internalMessage', ({ act, seq, message }) => {
      if (act === 'refused') say(seq, message);
    });
    const claim = { address: '127.0.0.1', port: ${taken}, family: 4, flags: 0, index: 0 };
    for (const seq of [1, 2, 3]) agentSays('listen', { seq, claim, isMeant: true });`);
  await begin();
  await keeper.says('bad', '1 requested again');
  await keeper.says('bad', '2 requested again');
  await keeper.says('bad', '3 held by a program outside of this nclust');
  await isUnharmed();
});

test('the keeper takes no more than 256 requests of an app for taken addresses', async () => {
  const taken = await takePort();
  const other = createServer().listen(taken, '127.0.0.1');
  onTestFinished(() => void other.close());
  const { keeper, begin, isUnharmed } = await hostile(`
    let refused = 0;
    process.on('internalMessage', ({ act, seq }) => {
      if (act !== 'refused') return;
      if (seq >= 256) say('at once', seq);
      else if ((refused += 1) === 256) say('the others later');
    });
    for (let index = 0; index <= 256; index += 1)
      agentSays('listen', {
        seq: index,
        claim: { address: '127.0.0.1', port: ${taken}, family: 4, flags: 0, index },
        isMeant: true,
      });`);
  await begin();
  await keeper.says('bad', 'at once 256');
  expect(keeper.output('bad')).not.toContain('the others later');
  await isUnharmed();
});

test('an app cannot answer for a connection that a worker of another app was given', async () => {
  const keeper = await realKeeper({ isHostile: true });
  const port = await takePort();
  const server = `
    let count = 0;
    http.createServer(answer).on('connection', () => say('accepted', count += 1, '.')).listen(${port});`;
  for (const id of ['a', 'b', 'c', 'd']) {
    await keeper.spawnNode(id, 'runs-code', { scheduling: 'least-connections', env: { CODE: server } });
    await keeper.event('listening', id);
  }
  await keeper.spawnNode('bad', 'runs-code', {
    app: 'bad',
    env: {
      CODE: `${TOOLS} setInterval(() => {
        const acts = ['connection-declined', 'connection-accepted'];
        for (let seq = 1; seq < 200; seq += 1) for (const act of acts) agentSays(act, { seq });
      }, 1);`,
    },
  });
  await keeper.says('bad', 'begins');
  const accepted = () =>
    ['a', 'b', 'c', 'd']
      .map((id) => Number(/accepted (\d+) \.\s*$/.exec(keeper.output(id))?.[1] ?? 0))
      .reduce((sum, count) => sum + count, 0);
  await openConnections({ port }, 64, 'burst');
  // Counts the accepted connections. If two workers got the same connection, the count would be too
  // high.
  await waitFor('the workers to report', () => accepted() >= 64);
  await ask({ port });
  await waitFor('the last connection to be accepted', () => accepted() >= 65);
  expect(accepted()).toBe(65);
});

test('an app cannot get a descriptor of the keeper through node:cluster', async () => {
  const { keeper, begin, isUnharmed } = await hostile(`
    let left = 0;
    process.on('internalMessage', (message, handle) => {
      if (!Number.isInteger(message.ack)) return;
      if (handle) say('has a descriptor of the keeper');
      if ((left -= 1) === 0) say('has all answers', message.errno);
    });
    for (let fd = 0; fd < 40; fd += 1, left += 1)
      process.send({ cmd: 'NODE_CLUSTER', act: 'queryServer', seq: 1_000 + fd, fd, address: null, port: null,
        addressType: null, index: 0 });`);
  const before = countDescriptors(keeper.pid);
  await begin();
  await keeper.says('bad', 'has all answers -9');
  expect([keeper.output('bad').includes('descriptor'), countDescriptors(keeper.pid)]).toEqual([false, before]);
  await isUnharmed();
});

test('an app cannot get a TCP socket through node:cluster', async () => {
  const { keeper, begin, isUnharmed } = await hostile(`
    process.on('internalMessage', ({ ack, errno }) => ack >= 1_000 && say('has the answer', ack, errno));
    for (const addressType of [4, 6])
      process.send({ cmd: 'NODE_CLUSTER', act: 'queryServer', seq: 1_000 + addressType, fd: null, address: null,
        port: 0, addressType, index: 0 });`);
  await begin();
  await keeper.says('bad', 'has the answer 1004 -13');
  await keeper.says('bad', 'has the answer 1006 -13');
  await isUnharmed();
});

test('an app cannot bind a path as the user of the keeper through node:cluster', async () => {
  const { keeper, begin, isUnharmed } = await hostile(`
    process.on('internalMessage', ({ ack, errno }) => ack === 1_000 && say('has the answer', errno));
    process.send({ cmd: 'NODE_CLUSTER', act: 'queryServer', seq: 1_000, fd: null, address: process.cwd() + '/evil.sock',
      port: -1, addressType: -1, index: 0 });`);
  await begin();
  await keeper.says('bad', 'has the answer -13');
  expect(existsSync(join(keeper.home, 'evil.sock'))).toBe(false);
  await isUnharmed();
});
