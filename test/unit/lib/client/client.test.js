import { describe, expect, onTestFinished, test } from 'vitest';
import { openClient } from '../../../../lib/client/client.js';
import { NclustError } from '../../../../lib/shared/errors.js';
import { resultLine } from '../../../../lib/shared/wire/rpc.js';
import { openServer } from '../rpc-server.js';

async function open(server, reachAgain = server.reach) {
  const client = await openClient(server.reach, reachAgain);
  if (!client) throw new Error('nobody was there');
  onTestFinished(() => client.close());
  return client;
}

test('a client greets first and keeps what the server said', async () => {
  const server = await openServer({});
  const client = await open(server);
  expect(server.calls.map(({ method }) => method)).toEqual(['hello']);
  expect(client.hello).toMatchObject({ protocol: 1, home: '/h' });
});

test('with nobody to connect to there is no client', async () => {
  expect(await openClient(async () => null)).toBeNull();
});

test('another protocol is refused before anything is asked', async () => {
  const server = await openServer({ hello: () => ({ protocol: 9, version: '3.0.0' }) });
  await expect(openClient(server.reach)).rejects.toMatchObject({
    code: 'ERR_NCLUST_PROTOCOL_VERSION',
    message: expect.stringContaining('3.0.0'),
  });
});

test('answers find their requests, in whatever order they come', async () => {
  let held = null;
  const server = await openServer({
    stop: (_params, socket) => {
      held = socket;
    },
    reset: () => ({ slots: ['reset'] }),
  });
  const client = await open(server);
  const first = client.request('stop');
  expect(await client.request('reset')).toEqual({ slots: ['reset'] });
  held.write('{"jsonrpc":"2.0","id":2,"result":{"slots":["stopped"]}}\n');
  expect(await first).toEqual({ slots: ['stopped'] });
});

test('an error of the server is the same error here', async () => {
  const server = await openServer({
    stop: () => {
      throw new NclustError('ERR_NCLUST_APP_NOT_FOUND', 'There is no "x".', { hint: 'Did you mean "y"?' });
    },
  });
  const client = await open(server);
  await expect(client.request('stop')).rejects.toMatchObject({
    code: 'ERR_NCLUST_APP_NOT_FOUND',
    hint: 'Did you mean "y"?',
    exitStatus: 1,
  });
});

describe('a connection that breaks', () => {
  test('is made again, and what is unanswered is asked again word for word', async () => {
    let asked = 0;
    const server = await openServer({
      start: (_params, socket) => {
        asked += 1;
        if (asked > 2) return { slots: [] };
        socket.destroy();
        return undefined;
      },
    });
    const client = await open(server);
    expect(await client.request('start', { token: 't-1', specs: [] })).toEqual({ slots: [] });
    expect(server.callsTo('start').map(({ params }) => params)).toEqual(Array(3).fill({ token: 't-1', specs: [] }));
  });

  test('with nobody to return to rejects what is unanswered', async () => {
    const server = await openServer({
      kill: (_params, socket) => {
        socket.destroy();
      },
    });
    const client = await open(server, async () => null);
    await expect(client.request('kill')).rejects.toMatchObject({ code: 'ERR_NCLUST_CONNECTION_LOST', exitStatus: 3 });
  });

  test('again and again by the same request is given up', async () => {
    const server = await openServer({
      start: (_params, socket) => {
        socket.destroy();
      },
    });
    const client = await open(server);
    await expect(client.request('start')).rejects.toMatchObject({ code: 'ERR_NCLUST_CONNECTION_LOST' });
    expect(server.callsTo('start')).toHaveLength(5);
  });

  test('a client that updates outlasts three controls that crash, until the one from before is back', async () => {
    const server = await openServer({
      update: (_params, socket) => (server.callsTo('update').length <= 8 ? void socket.destroy() : { slots: [] }),
    });
    const client = await open(server);
    expect(await client.request('update')).toEqual({ slots: [] });
  });

  test('hands on why it could not be made again', async () => {
    const server = await openServer({
      start: (_params, socket) => {
        socket.destroy();
      },
    });
    const client = await open(server, async () => {
      throw new NclustError('ERR_NCLUST_DAEMON_UNREACHABLE', 'It does not start.');
    });
    await expect(client.request('start')).rejects.toMatchObject({ message: 'It does not start.' });
  });

  test('while nothing is asked is made again by the next request', async () => {
    const server = await openServer({ list: () => ({ slots: [] }) });
    const client = await open(server);
    const ended = client.notifications().next();
    for (const socket of server.sockets) socket.destroy();
    expect(await ended).toMatchObject({ done: true });
    expect(await client.request('list')).toEqual({ slots: [] });
  });
});

describe('a server that talks nonsense', () => {
  test.each([
    ['no JSON', 'hello?\n'],
    ['an error about the connection', '{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"What?"}}\n'],
  ])('(%s) rejects what is unanswered', async (_, line) => {
    const server = await openServer({
      stop: (_params, socket) => {
        socket.write(line);
      },
    });
    const client = await open(server);
    await expect(client.request('stop')).rejects.toMatchObject({ code: 'ERR_NCLUST_PROTOCOL' });
  });

  test('(an answer to nothing) is ignored', async () => {
    const server = await openServer({
      stop: (_params, socket) => {
        socket.write('{"jsonrpc":"2.0","id":999,"result":{}}\n');
        return { slots: [] };
      },
    });
    const client = await open(server);
    expect(await client.request('stop')).toEqual({ slots: [] });
  });
});

describe('notifications', () => {
  test('arrive in order, also those that came before anybody read', async () => {
    const server = await openServer({
      logs: () => {
        server.notify('log', { n: 1 });
        server.notify('log', { n: 2 });
        return { subscription: 1 };
      },
    });
    const client = await open(server);
    await client.request('logs');
    const read = client.notifications();
    expect((await read.next()).value).toMatchObject({ method: 'log', params: { n: 1 } });
    expect((await read.next()).value).toMatchObject({ params: { n: 2 } });
    const next = read.next();
    server.notify('log', { n: 3 });
    expect((await next).value).toMatchObject({ params: { n: 3 } });
  });

  test('end when the client closes', async () => {
    const client = await open(await openServer({}));
    const next = client.notifications().next();
    await client.close();
    expect(await next).toEqual({ done: true, value: undefined });
  });

  test('nobody reads are not collected without end: the socket is left unread', async () => {
    const server = await openServer({
      logs: () => {
        for (let n = 0; n < 50_000; n++) server.notify('log', { n, line: 'x'.repeat(200) });
        return { subscription: 1 };
      },
    });
    const client = await open(server);
    const asked = client.request('logs').catch(() => {});
    const read = client.notifications();
    expect((await read.next()).value).toMatchObject({ params: { n: 0 } });
    const [socket] = server.sockets;
    expect(socket.writableLength).toBeGreaterThan(1_000_000);
    await client.close();
    await asked;
  });
});

test('a closed client refuses, and closing twice is fine', async () => {
  const client = await open(await openServer({ stop: () => undefined }));
  const unanswered = expect(client.request('stop')).rejects.toMatchObject({ code: 'ERR_NCLUST_CONNECTION_LOST' });
  await client.close();
  await client.close();
  await unanswered;
  await expect(client.request('list')).rejects.toMatchObject({ code: 'ERR_NCLUST_CONNECTION_LOST' });
});

describe('a conversation', () => {
  test('gives the answer in its place among the notifications, and goes on', async () => {
    const server = await openServer({
      logs: (_params, socket) => {
        server.notify('log', { n: 1 });
        socket.write(resultLine(socket.lastId, { n: 2 }));
        server.notify('log', { n: 3 });
        socket.end();
      },
    });
    const client = await open(server);
    const seen = [];
    for await (const { params, result } of client.converse('logs')) seen.push(params ?? result);
    expect(seen).toEqual([{ n: 1 }, { n: 2 }, { n: 3 }]);
  });

  test('is not held again when the connection breaks, and ends at once on one that is broken', async () => {
    const server = await openServer({ logs: (_params, socket) => void socket.destroy() });
    const client = await open(server);
    for (let round = 0; round < 2; round++)
      for await (const message of client.converse('logs')) expect(message).toBeUndefined();
    expect(server.callsTo('logs')).toHaveLength(1);
    expect(await client.request('hello')).toMatchObject({ version: '0.1.0' });
  });

  test('ends with what the server refuses, and with what it says about the connection', async () => {
    const server = await openServer({
      logs: ({ isUnknown }, socket) => {
        if (isUnknown) throw new NclustError('ERR_NCLUST_APP_NOT_FOUND', 'There is none.');
        socket.write('this is no JSON\n');
      },
    });
    const client = await open(server);
    await expect(client.converse('logs', { isUnknown: true }).next()).rejects.toMatchObject({
      code: 'ERR_NCLUST_APP_NOT_FOUND',
    });
    await expect(client.converse('logs', {}).next()).rejects.toMatchObject({ code: 'ERR_NCLUST_PROTOCOL' });
  });
});

describe('a request that nobody waits for any more', () => {
  test('is not asked again, and its late answer harms nobody', async () => {
    const server = await openServer({ start: () => undefined, reset: () => ({ slots: [] }), list: () => undefined });
    const client = await open(server);
    const stop = new AbortController();
    const given = client.request('start', {}, { signal: stop.signal });
    const kept = client.request('list');
    await expect.poll(() => server.callsTo('list').length).toBe(1);
    stop.abort(new Error('enough'));
    await expect(given).rejects.toThrow('enough');
    for (const socket of server.sockets)
      socket.write(
        '{"jsonrpc":"2.0","id":2,"error":{"code":-32000,"message":"late"}}\n' +
          '{"jsonrpc":"2.0","id":3,"result":{"slots":["kept"]}}\n',
      );
    expect(await kept).toEqual({ slots: ['kept'] });
    for (const socket of server.sockets) socket.destroy();
    expect(await client.request('reset')).toEqual({ slots: [] });
    expect(server.callsTo('start')).toHaveLength(1);
    await expect(client.request('reset', {}, { signal: AbortSignal.abort(new Error('before')) })).rejects.toThrow(
      'before',
    );
  });

  test('ends the attempt to reach a manager, and the next request begins it anew', async () => {
    const server = await openServer({
      start: (_params, socket) => {
        socket.destroy();
      },
    });
    const attempts = [];
    const client = await open(
      server,
      (signal) =>
        new Promise((_, reject) => {
          attempts.push(signal);
          signal.addEventListener('abort', () => reject(signal.reason));
        }),
    );
    const stop = new AbortController();
    const given = client.request('start', {}, { signal: stop.signal });
    await expect.poll(() => attempts.length).toBe(1);
    stop.abort(new Error('enough'));
    const next = client.request('stop');
    await expect(given).rejects.toThrow('enough');
    await expect.poll(() => attempts.length).toBe(2);
    expect(attempts.map(({ aborted }) => aborted)).toEqual([true, false]);
    await client.close();
    await expect(next).rejects.toMatchObject({ code: 'ERR_NCLUST_CONNECTION_LOST' });
    expect(attempts[1].aborted).toBe(true);
  });
});
