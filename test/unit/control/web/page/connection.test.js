import { beforeEach, expect, test } from 'vitest';
import { createConnection, Refusal } from '../../../../../daemon/control/web/page/connection.js';

let sockets;
let phases;
let timers;
let nowMs = 0;

const clock = {
  set: (run, ms) => {
    const timer = { run, atMs: nowMs + ms };
    timers.push(timer);
    return timer;
  },
  clear: (timer) => {
    timers = timers.filter((one) => one !== timer);
  },
  now: () => nowMs,
};

beforeEach(() => {
  [sockets, phases, timers, nowMs] = [[], [], [], 0];
});

function connect() {
  const open = () => {
    const socket = {
      sent: [],
      isClosed: false,
      readyState: 1,
      send: (text) => socket.sent.push(JSON.parse(text)),
      close: () => {
        socket.isClosed = true;
      },
    };
    sockets.push(socket);
    return socket;
  };
  return createConnection({
    open,
    token: 'secret',
    onPhase: (phase, welcome) => phases.push([phase, welcome?.host]),
    clock,
  });
}

const last = () => sockets.at(-1);
const say = (message) => last().onmessage({ data: `${JSON.stringify(message)}\n` });
const answer = (method, result) => say({ id: last().sent.findLast((one) => one.method === method).id, ...result });
const letIn = () => {
  last().onopen();
  say({ id: 0, result: { host: 'web-01' } });
};
const pass = (ms) => {
  for (const end = nowMs + ms; ;) {
    const next = timers.filter(({ atMs }) => atMs <= end).sort((a, b) => a.atMs - b.atMs)[0];
    nowMs = next?.atMs ?? end;
    if (!next) return;
    clock.clear(next);
    next.run();
  }
};

test('the first message is the token, and subscriptions start after it', () => {
  const connection = connect();
  connection.follow({ method: 'metrics', params: () => ({ follow: true }) });
  expect(last().sent).toEqual([]);
  last().onopen();
  expect(last().sent).toEqual([{ jsonrpc: '2.0', id: 0, method: 'authenticate', params: { token: 'secret' } }]);
  say({ id: 0, result: { host: 'web-01' } });
  expect(phases).toEqual([['live', 'web-01']]);
  expect(last().sent[1]).toMatchObject({ method: 'metrics', params: { follow: true, subscription: 'metrics-1' } });
});

test('news reach a subscriber only until it ends its subscription', () => {
  const connection = connect();
  letIn();
  const heard = [];
  const end = connection.follow({
    method: 'logs',
    params: () => ({}),
    onAnswer: () => heard.push('answer'),
    onNews: ({ entries }) => heard.push(...entries),
  });
  say({ method: 'log', params: { subscription: 'logs-1', entries: ['a'] } });
  end();
  say({ method: 'log', params: { subscription: 'logs-1', entries: ['b'] } });
  expect(heard).toEqual(['a']);
  expect(last().sent.at(-1)).toMatchObject({ method: 'unsubscribe', params: { subscription: 'logs-1' } });
});

test('a refusal has the message of the manager', async () => {
  const connection = connect();
  letIn();
  const asked = connection.request('reload', {});
  answer('reload', { error: { message: 'It does not start.', data: { code: 'ERR_X', hint: 'See the log.' } } });
  await expect(asked).rejects.toMatchObject({ message: 'It does not start.', code: 'ERR_X', hint: 'See the log.' });
  await expect(asked).rejects.toBeInstanceOf(Refusal);
});

test('a lost connection is opened again, with growing pauses, and all subscriptions start again', () => {
  const connection = connect();
  let cursor = 0;
  connection.follow({ method: 'logs', params: () => ({ cursor: (cursor += 1) }) });
  letIn();
  last().onclose({ code: 1012 });
  expect(phases.at(-1)).toEqual(['lost', undefined]);
  for (const ms of [250, 1_000, 1_000, 2_000, 5_000, 5_000]) {
    const before = sockets.length;
    pass(ms - 1);
    expect(sockets).toHaveLength(before);
    pass(1);
    expect(sockets).toHaveLength(before + 1);
    last().onclose({ code: 1006 });
  }
  connection.hurry();
  letIn();
  expect(phases.at(-1)).toEqual(['live', 'web-01']);
  expect(last().sent[1]).toMatchObject({ method: 'logs', params: { cursor: 2, subscription: 'logs-1' } });
});

test('a change is sent again with its token, and a query is rejected', async () => {
  const connection = connect();
  letIn();
  const progress = [];
  const change = connection.request('restart', { token: 't1' }, (one) => progress.push(one.done));
  const question = connection.request('list');
  say({ method: 'progress', params: { token: 't1', done: 1 } });
  last().onclose({ code: 1006 });
  await expect(question).rejects.toThrow('lost');
  await expect(connection.request('list')).rejects.toThrow('no connection');
  pass(250);
  letIn();
  expect(last().sent.slice(1)).toMatchObject([{ method: 'restart', params: { token: 't1' } }]);
  say({ method: 'progress', params: { token: 't1', done: 2 } });
  answer('restart', { result: { slots: [] } });
  await expect(change).resolves.toEqual({ slots: [] });
  expect(progress).toEqual([1, 2]);
});

test('a wrong token is not retried', () => {
  connect();
  last().onopen();
  last().onclose({ code: 4401 });
  expect(phases).toEqual([['refused', undefined]]);
  pass(60_000);
  expect(sockets).toHaveLength(1);
});

test('a silent connection is soon replaced', () => {
  connect();
  letIn();
  const first = last();
  pass(9_000);
  say({ method: 'metrics', params: {} });
  pass(9_500);
  expect(sockets).toHaveLength(1);
  pass(1_500);
  expect(first.isClosed).toBe(true);
  expect(sockets).toHaveLength(2);
  first.onclose({ code: 1006 });
  first.onmessage({ data: '{"id":0,"result":{}}' });
  expect(phases.map(([phase]) => phase)).toEqual(['live', 'lost']);
});

test('a closed connection stays closed', () => {
  const connection = connect();
  letIn();
  connection.close();
  connection.close();
  pass(60_000);
  expect(sockets).toHaveLength(1);
  expect(timers).toEqual([]);
});

test('nothing is sent over a connection that is being closed, because its end will be reported soon', async () => {
  const connection = connect();
  letIn();
  last().readyState = 2;
  const before = last().sent.length;
  const asked = connection.request('list');
  void connection.request('stop', { targets: ['api'], token: 'once' });
  expect(last().sent).toHaveLength(before);
  last().onclose({ code: 1006 });
  await expect(asked).rejects.toThrow('The connection was lost.');
  pass(250);
  letIn();
  expect(last().sent.slice(1)).toMatchObject([{ method: 'stop', params: { token: 'once' } }]);
});
