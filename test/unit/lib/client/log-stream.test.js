import { expect, test, vi } from 'vitest';
import { streamLogs } from '../../../../lib/client/log-stream.js';
import { NclustError } from '../../../../lib/shared/errors.js';

const entry = (line) => ({
  id: 0,
  name: 'api',
  stream: 'out',
  line,
  atMs: null,
});
const news = (lines, more = {}) => ({
  jsonrpc: '2.0',
  method: 'log',
  params: { subscription: 'logs', entries: lines.map(entry), ...more },
});
const answer = (result = {}) => ({ jsonrpc: '2.0', id: 1, result: { subscription: 'logs', ...result } });
const ended = () =>
  new NclustError('ERR_NCLUST_CONNECTION_LOST', 'The manager closed the connection before it answered.');

/**
 * A client whose connections send what the test wants, and then break.
 * @param {() => Promise<void>} [onHello]  Default: rejects if no connection is left.
 */
function clientOf(connections, onHello) {
  const asked = [];
  const left = [...connections];
  const client = {
    asked,
    async *converse(_method, params) {
      asked.push(structuredClone(params));
      yield* left.shift() ?? [];
    },
    async request() {
      if (onHello) await onHello();
      else if (left.length === 0) throw ended();
    },
  };
  return client;
}

async function read(client, request = { follow: true }, o = {}) {
  const said = [];
  const lines = [];
  const stream = streamLogs(client, request, {
    printMessage: (sentence) => said.push(sentence),
    signal: new AbortController().signal,
    ...o,
  });
  for await (const { entries } of stream) lines.push(...entries.map(({ line }) => line));
  return { lines, said };
}

const parts = (id, stream, ...lines) =>
  lines.map((line, at) => ({ ...entry(line), id, stream, ...(at < lines.length - 1 ? { part: true } : {}) }));

test('joins the parts of a long line, also between lines of others and after a broken connection', async () => {
  const [a1, a2, a3] = parts(0, 'out', 'a1', 'a2', 'a3');
  const [b1, b2] = parts(0, 'err', 'b1', 'b2');
  const page = (entries) => ({ ...news([]), params: { subscription: 'logs', entries } });
  const client = clientOf([
    [page([a1, { ...entry('c'), id: 1 }, b1]), page([a2, b2])],
    [page([a3]), answer(), page([a1])],
  ]);
  const { lines } = await read(client);
  // The manager ended before the last part of the last line.
  expect(lines).toEqual(['c', 'b1b2', 'a1a2a3', 'a1']);
});

test('does not join what is missing, and keeps a part of a line that is too long', async () => {
  const [a1, a2] = parts(0, 'out', 'a1', 'a2');
  const page = (entries, more) => ({ ...news([]), params: { subscription: 'logs', entries, ...more } });
  const missed = clientOf([[page([a1]), page([a2], { missed: 3 }), answer()]]);
  expect((await read(missed, { follow: false })).lines).toEqual(['a1', 'a2']);
  const long = clientOf([[page([a1, a2]), answer()]]);
  expect((await read(long, { follow: false }, { lineMaxChars: 2 })).lines).toEqual(['a1', 'a2']);
  const last = clientOf([[page([a1]), answer()]]);
  expect((await read(last, { follow: false })).lines).toEqual(['a1']);
});

test('continues after the newest cursor, merged from its parts', async () => {
  const client = clientOf([
    [news(['1'], { cursor: { a: 1 } }), answer({ cursor: { a: 1, b: 1 } }), news(['2'], { cursor: { a: 2 } })],
    [news(['3'], { cursor: { b: 2 } })],
    [answer({ cursor: { a: 2, b: 2 } })],
  ]);
  expect(await read(client)).toEqual({ lines: ['1', '2', '3'], said: ['The manager has exited.'] });
  expect(client.asked.map(({ cursor }) => cursor)).toEqual([undefined, { a: 2, b: 1 }, { a: 2, b: 2 }]);
});

test('a history ends with its answer, and is completed after a broken connection', async () => {
  const client = clientOf([
    [news(['1'], { cursor: { a: 1 } })],
    [news(['2'], { cursor: { a: 2 } }), answer(), news(['not asked for'])],
  ]);
  expect(await read(client, { follow: false })).toEqual({ lines: ['1', '2'], said: [] });
});

test('an incomplete history is an error', async () => {
  await expect(read(clientOf([[news(['1'], { cursor: { a: 1 } })]]))).rejects.toMatchObject({
    code: 'ERR_NCLUST_CONNECTION_LOST',
  });
});

test('reports how many lines were skipped, and once per connection that some are lost', async () => {
  const client = clientOf([
    [answer(), news(['a'], { missed: 12 }), news(['b'], { missed: 1 })],
    [news(['c'], { gap: true }), answer({ gap: true })],
  ]);
  expect(await read(client)).toEqual({
    lines: ['a', 'b', 'c'],
    said: [
      '12 lines were left out: this terminal reads too slowly.',
      '1 line was left out: this terminal reads too slowly.',
      'Some lines cannot be shown, because their log file was deleted before the manager was back.',
      'The manager has exited.',
    ],
  });
});

test('reports whose lines were skipped if the manager knows it', async () => {
  const client = clientOf([
    [
      answer(),
      news(['a'], { missed: 12, missedOf: { api: 12 } }),
      news(['b'], { missed: 4, missedOf: { 'a\nb': 1, api: 3 } }),
    ],
    [news(['c'], { gap: true, gapOf: ['api', 'web'] }), answer()],
  ]);
  expect((await read(client)).said.slice(0, 3)).toEqual([
    '12 lines of "api" were left out: this terminal reads too slowly.',
    expect.stringMatching(/^4 lines were left out \(3 of "api", 1 of "a.*b"\): this terminal reads too slowly\.$/),
    'Some lines of "api", "web" cannot be shown, because their log file was deleted before the manager was back.',
  ]);
});

test('reports that it waits only after a moment', async () => {
  vi.useFakeTimers();
  try {
    let waits = 0;
    const client = clientOf([[answer()], [answer()], [answer()]], async () => {
      waits += 1;
      await vi.advanceTimersByTimeAsync(waits === 2 ? 1_500 : 500);
      if (waits === 3) throw ended();
    });
    const { said } = await read(client);
    expect(said).toEqual([
      expect.stringMatching(/^The connection to the manager was lost; waiting for it/),
      'The manager has exited.',
    ]);
    expect(vi.getTimerCount()).toBe(0);
  } finally {
    vi.useRealTimers();
  }
});

test('fails if its request crashes every control', async () => {
  const client = clientOf([[answer()]], async () => {});
  await expect(read(client)).rejects.toMatchObject({
    code: 'ERR_NCLUST_CONNECTION_LOST',
    message: expect.stringContaining('5 times'),
  });
  expect(client.asked).toHaveLength(6);
});

test('rejects with the error of the manager, at first and after a reconnect', async () => {
  const refused = new NclustError('ERR_NCLUST_APP_NOT_FOUND', 'There is none.');
  await expect(
    read({
      ...clientOf([]),
      converse: () => {
        throw refused;
      },
    }),
  ).rejects.toBe(refused);
  await expect(
    read(
      clientOf([[answer()]], async () => {
        throw refused;
      }),
    ),
  ).rejects.toBe(refused);
});

test('an interrupted stream reports nothing more, not even lines that have arrived', async () => {
  const stop = new AbortController();
  const stream = streamLogs(
    clientOf([[answer(), news(['1']), news(['2'])]]),
    { follow: true },
    { printMessage: () => {}, signal: stop.signal },
  );
  expect(await stream.next()).toMatchObject({ done: false });
  stop.abort();
  expect(await stream.next()).toEqual({ done: true, value: undefined });
});
