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

test('a client sends hello first and keeps the answer of the server', async () => {
  const server = await openServer({});
  const client = await open(server);
  expect(server.calls.map(({ method }) => method)).toEqual(['hello']);
  expect(client.hello).toMatchObject({ protocol: 1, home: '/h' });
});

test('without a manager there is no client', async () => {
  expect(await openClient(async () => null)).toBeNull();
});

test('another protocol version is refused before the first request', async () => {
  const server = await openServer({ hello: () => ({ protocol: 9, version: '3.0.0' }) });
  await expect(openClient(server.reach)).rejects.toMatchObject({
    code: 'ERR_NCLUST_PROTOCOL_VERSION',
    message: expect.stringContaining('3.0.0'),
  });
});

test('answers reach their requests in any order', async () => {
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

test('an error of the server arrives with its code, message and hint', async () => {
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
  test('a broken connection is replaced, and unanswered requests are sent again unchanged', async () => {
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

  test('a broken connection rejects unanswered requests if the manager does not come back', async () => {
    const server = await openServer({
      kill: (_params, socket) => {
        socket.destroy();
      },
    });
    const client = await open(server, async () => null);
    await expect(client.request('kill')).rejects.toMatchObject({ code: 'ERR_NCLUST_CONNECTION_LOST', exitStatus: 3 });
  });

  test('a connection fails for good if the same request breaks it several times', async () => {
    const server = await openServer({
      start: (_params, socket) => {
        socket.destroy();
      },
    });
    const client = await open(server);
    await expect(client.request('start')).rejects.toMatchObject({ code: 'ERR_NCLUST_CONNECTION_LOST' });
    expect(server.callsTo('start')).toHaveLength(5);
  });

  test('a client that updates survives three crashes of control, until the previous version is back', async () => {
    const server = await openServer({
      update: (_params, socket) => (server.callsTo('update').length <= 8 ? void socket.destroy() : { slots: [] }),
    });
    const client = await open(server);
    expect(await client.request('update')).toEqual({ slots: [] });
  });

  test('a broken connection rejects with the reason why it could not be replaced', async () => {
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

  test('a connection is replaced by the next request if it breaks without a request', async () => {
    const server = await openServer({ list: () => ({ slots: [] }) });
    const client = await open(server);
    const ended = client.notifications().next();
    for (const socket of server.sockets) socket.destroy();
    expect(await ended).toMatchObject({ done: true });
    expect(await client.request('list')).toEqual({ slots: [] });
  });
});

describe('a server that sends garbage', () => {
  test.each([
    ['no JSON', 'hello?\n'],
    ['an error about the connection', '{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"What?"}}\n'],
  ])('a server that sends garbage (%s) makes unanswered requests fail', async (_, line) => {
    const server = await openServer({
      stop: (_params, socket) => {
        socket.write(line);
      },
    });
    const client = await open(server);
    await expect(client.request('stop')).rejects.toMatchObject({ code: 'ERR_NCLUST_PROTOCOL' });
  });

  test('an answer to nothing is ignored', async () => {
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
  test('notifications arrive in order, including those that came before the first read', async () => {
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

  test('notifications end when the client closes', async () => {
    const client = await open(await openServer({}));
    const next = client.notifications().next();
    await client.close();
    expect(await next).toEqual({ done: true, value: undefined });
  });

  test('notifications that are not read stop the reading of the socket, so they do not fill memory', async () => {
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

test('a closed client refuses requests, and closing twice does no harm', async () => {
  const client = await open(await openServer({ stop: () => undefined }));
  const unanswered = expect(client.request('stop')).rejects.toMatchObject({ code: 'ERR_NCLUST_CONNECTION_LOST' });
  await client.close();
  await client.close();
  await unanswered;
  await expect(client.request('list')).rejects.toMatchObject({ code: 'ERR_NCLUST_CONNECTION_LOST' });
});

describe('a conversation', () => {
  test('a conversation yields the answer in its place among the notifications, and continues', async () => {
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

  test('a conversation is not repeated after the connection breaks, and ends at once on a broken one', async () => {
    const server = await openServer({ logs: (_params, socket) => void socket.destroy() });
    const client = await open(server);
    for (let round = 0; round < 2; round++)
      for await (const message of client.converse('logs')) expect(message).toBeUndefined();
    expect(server.callsTo('logs')).toHaveLength(1);
    expect(await client.request('hello')).toMatchObject({ version: '0.1.0' });
  });

  test('a conversation ends with the error of the server, or of the connection', async () => {
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

describe('an aborted request', () => {
  test('an aborted request is not sent again, and its late answer is ignored', async () => {
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

  test('an aborted request stops the attempt to reach a manager, and the next request starts a new one', async () => {
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
