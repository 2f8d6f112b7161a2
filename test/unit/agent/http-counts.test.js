import diagnostics from 'node:diagnostics_channel';
import { EventEmitter } from 'node:events';
import { createRequire } from 'node:module';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';

const { createHttpCounts, findStep } = createRequire(import.meta.url)('../../../daemon/agent/http-counts.cjs');
const START = diagnostics.channel('http.server.request.start');
const FINISH = diagnostics.channel('http.server.response.finish');

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc');

let servers;
let counts;

beforeEach(() => {
  servers = { upgrades: 0 };
  counts = createHttpCounts(servers, (entry) => entry);
  counts.set(true);
});

afterEach(() => counts.set(false));

/** As in Node.js, a response has no socket while it waits for its turn, nor after its end. */
function start(socket) {
  const response = Object.assign(new EventEmitter(), { socket: null, statusCode: 0, writableFinished: false });
  START.publish({ request: {}, response, socket, server: {} });
  socket.waiting ??= [];
  if (socket.waiting.push(response) === 1) response.socket = socket;
  return response;
}

function finish(socket, statusCode = 200) {
  const [response, next] = socket.waiting;
  Object.assign(response, { statusCode, writableFinished: true });
  FINISH.publish({ request: {}, response, socket, server: {} });
  response.emit('finish');
  response.socket = null;
  if (next) next.socket = socket;
  socket.waiting.shift();
}

/** Starts a request that the counts do not see, like a request from before the counting. */
function startUnseen(socket) {
  socket.waiting = [Object.assign(new EventEmitter(), { socket, statusCode: 0, writableFinished: false })];
}

/** @returns {object} */
function serveOne(socket) {
  const response = start(socket);
  finish(socket);
  return response;
}

function spend(ms) {
  for (const until = performance.now() + ms; performance.now() < until;);
}

test('each pipelined request is timed from its own start', () => {
  const socket = new EventEmitter();
  // Spends 200 ms before the requests. If the start of a request were lost, its duration would
  // count from the start of the process, and would include this time.
  spend(200);
  start(socket);
  start(socket);
  finish(socket);
  finish(socket, 404);
  const { requests, active, responses, latency, durationMs } = counts.take();
  expect({ requests, active, responses }).toEqual({ requests: 2, active: 0, responses: [0, 1, 0, 1, 0] });
  expect(Math.max(...latency.filter((_, at) => at % 2 === 0))).toBeLessThan(findStep(200));
  expect(durationMs).toBeLessThan(200);
});

describe('the oldest request', () => {
  const oldestMs = () => counts.take().oldestMs;
  const sendHeaders = (socket) => {
    socket._httpMessage.headersSent = true;
  };
  const begin = (socket = new EventEmitter()) => {
    start(socket);
    socket._httpMessage = { headersSent: false };
    return socket;
  };

  test('the oldest request is the one that waits longest for its headers', () => {
    const first = begin();
    spend(40);
    const second = begin();
    spend(20);
    expect(oldestMs()).toBeGreaterThanOrEqual(59);
    finish(first);
    expect(oldestMs()).toBeGreaterThanOrEqual(19);
    expect(oldestMs()).toBeLessThan(59);
    finish(second);
    expect(oldestMs()).toBe(null);
  });

  test('a response whose headers were sent counts as answered, and so does an aborted request', () => {
    const [stream, left] = [begin(), begin()];
    sendHeaders(stream);
    expect(oldestMs()).not.toBe(null);
    left.emit('close');
    expect(oldestMs()).toBe(null);
    expect(counts.take().active).toBe(1);
    finish(stream);
    begin(stream);
    expect(oldestMs()).not.toBe(null);
  });

  test('the next pipelined request of a connection is open from the answer to the one before', () => {
    const socket = begin();
    begin(socket);
    spend(40);
    finish(socket);
    expect(oldestMs()).toBeLessThan(40);
    finish(socket);
    expect(oldestMs()).toBe(null);
  });
});

test('a connection that ends removes its unanswered requests from the counts', () => {
  const socket = new EventEmitter();
  start(socket);
  start(socket);
  finish(socket);
  socket.emit('close');
  finish(socket); // This answer is too late, because the client has left.
  expect(counts.take()).toMatchObject({ requests: 2, active: 0, aborted: 1, responses: [0, 1, 0, 0, 0] });
});

test('every request is counted, but only a sample of many is timed', () => {
  const sockets = Array.from({ length: 10 }, () => new EventEmitter());
  const serve = (times) => {
    for (let at = 0; at < times; at += 1) {
      start(sockets[at % 10]);
      finish(sockets[at % 10]);
    }
  };
  serve(50_000);
  const timed = ({ latency }) => latency.filter((_, at) => at % 2 === 1).reduce((sum, count) => sum + count, 0);
  expect(timed(counts.take())).toBe(50_000);
  serve(50_000);
  const report = counts.take();
  expect(report.requests).toBe(100_000);
  expect(Math.abs(timed(report) / 100_000 - 1)).toBeLessThan(0.1);
});

test('there is nothing to report before the first request, and later only after a change', () => {
  expect([counts.isQuiet(), counts.take()]).toEqual([true, null]);
  const socket = new EventEmitter();
  start(socket);
  expect(counts.isQuiet()).toBe(false);
  counts.take();
  expect(counts.isQuiet()).toBe(true);
  finish(socket);
  expect(counts.isQuiet()).toBe(false);
  counts.take();
  servers.upgrades += 1;
  expect(counts.isQuiet()).toBe(false);
});

test('counting leaves no trace when it is off', () => {
  counts.set(false);
  const socket = new EventEmitter();
  start(socket);
  finish(socket);
  expect([
    socket.listenerCount('close'),
    Object.getOwnPropertySymbols(socket).some(({ description }) => description === 'nclust'),
  ]).toEqual([0, false]);
  expect(counts.take()).toBe(null);
  expect([START.hasSubscribers, FINISH.hasSubscribers]).toEqual([false, false]);
});

test('an answer to a request from before the counting is counted, but not timed', () => {
  const socket = new EventEmitter();
  startUnseen(socket);
  finish(socket, 503);
  expect(counts.take()).toMatchObject({ requests: 1, responses: [0, 0, 0, 0, 1], latency: [], durationMs: 0 });
  expect(counts.answered()).toEqual({ responses: 1, errors: 1 });
  start(socket);
  finish(socket, 503);
  expect(counts.answered()).toEqual({ responses: 2, errors: 2 });
});

test('a finished response is not retained, even if its connection stays open', async () => {
  const sockets = Array.from({ length: 100 }, () => new EventEmitter());
  const responses = sockets.map((socket) => new WeakRef(serveOne(socket)));
  // Waits one turn, because a WeakRef keeps its target until the end of this turn.
  await new Promise((resolve) => {
    setImmediate(resolve);
  });
  collect();
  expect(responses.filter((response) => response.deref() !== undefined)).toHaveLength(0);
  expect(sockets.every((socket) => socket.listenerCount('close') === 1)).toBe(true);
});

test('the counts retain no request from before or between the counting, and time those after it again', async () => {
  const socket = new EventEmitter();
  startUnseen(socket);
  const behind = new WeakRef(start(socket));
  finish(socket);
  finish(socket);
  for (let times = 0; times < 50; times += 1) serveOne(socket);
  const { requests, active, latency } = counts.take();
  expect({ requests, active }).toEqual({ requests: 52, active: 0 });
  expect(latency.filter((_, at) => at % 2 === 1).reduce((sum, count) => sum + count, 0)).toBeGreaterThanOrEqual(50);
  const under = new WeakRef(start(socket));
  counts.set(false);
  finish(socket);
  await new Promise((resolve) => {
    setImmediate(resolve);
  });
  collect();
  expect([behind.deref(), under.deref()]).toEqual([undefined, undefined]);
});

test('a response that fails on its way is not an answer, though Node.js emits its end', () => {
  const socket = Object.assign(new EventEmitter(), { errored: null });
  start(socket);
  socket.errored = new Error('reset');
  finish(socket);
  expect(counts.take()).toMatchObject({ requests: 1, active: 1, aborted: 0 });
  socket.emit('close');
  expect(counts.take()).toMatchObject({ requests: 1, active: 0, aborted: 1, responses: [0, 0, 0, 0, 0], latency: [] });
});

test('the counts include an answer once its connection ends, and a pipelined one only once it is given', () => {
  const [ended, piped] = [new EventEmitter(), new EventEmitter()];
  start(ended);
  finish(ended, 302);
  ended.emit('close');
  start(piped);
  start(piped);
  expect(counts.take()).toMatchObject({ requests: 3, active: 2, aborted: 0, responses: [0, 0, 1, 0, 0] });
  finish(piped);
  expect(counts.take()).toMatchObject({ active: 1, responses: [0, 1, 1, 0, 0] });
  finish(piped, 500);
  expect(counts.take()).toMatchObject({ active: 0, responses: [0, 1, 1, 0, 1] });
});

test('ten thousand connections with one request each are all counted', () => {
  const left = [];
  for (let at = 0; at < 10_000; at += 1) {
    const socket = new EventEmitter();
    start(socket);
    if (at % 4_000 === 0) left.push(socket);
    else finish(socket);
  }
  expect(counts.take()).toMatchObject({ requests: 10_000, active: 3, responses: [0, 9_997, 0, 0, 0] });
  for (const socket of left) finish(socket);
  expect(counts.take()).toMatchObject({ active: 0, responses: [0, 10_000, 0, 0, 0] });
});

test('a request in progress when the counting ends is in no sum', () => {
  const socket = new EventEmitter();
  start(socket);
  finish(socket);
  start(socket);
  start(socket);
  counts.set(false);
  expect(counts.take()).toMatchObject({ requests: 1, active: 0, aborted: 0 });
  socket.emit('close');
  expect(counts.take()).toMatchObject({ requests: 1, active: 0, aborted: 0 });
});

test('the next request wakes a waiting caller, once', () => {
  let woken = 0;
  counts.onNextRequest(() => (woken += 1));
  start(new EventEmitter());
  start(new EventEmitter());
  expect(woken).toBe(1);
});
