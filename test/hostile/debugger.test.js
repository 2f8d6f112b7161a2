import { once } from 'node:events';
import { describe, expect, onTestFinished, test } from 'vitest';
import { WebSocketServer } from 'ws';
import { openInspector } from '../../lib/profile/break-in.js';
import { readAgentStack, takeInside, takeStack } from '../../lib/profile/stack.js';
import { KINDS } from '../../lib/profile/output-file.js';

const ID = '01234567-89ab-cdef-0123-456789abcdef';

/**
 * An app that listens in place of the inspector, and prints the address.
 * @param {object} o
 * @param {(socket: any, message: any) => void} [o.answer]
 */
async function attach(look, { answer = () => {} }) {
  const sockets = new WebSocketServer({ host: '127.0.0.1', port: 0 });
  await once(sockets, 'listening');
  sockets.on('connection', (socket) => {
    socket.on('error', () => {});
    socket.on('message', (data) => {
      const message = JSON.parse(String(data));
      // nclust asks the process to close its inspector.
      if (message.method === 'Runtime.evaluate') socket.close();
      else answer(socket, message);
    });
  });
  onTestFinished(async () => {
    for (const socket of sockets.clients) socket.terminate();
    await new Promise((resolve) => sockets.close(resolve));
  });
  const client = { request: async () => ({ url: `ws://127.0.0.1:${sockets.address().port}/${ID}` }) };
  const worker = { id: 0, name: 'api', pid: process.pid };
  return openInspector({ onInterrupt: () => () => {}, printMessage: () => {} }, client, worker, look);
}

const reply =
  (result) =>
  (socket, { id }) =>
    socket.send(JSON.stringify({ id, result }));
const send = (text) => (socket) => socket.send(text);

describe.runIf(process.platform === 'linux')('an app that answers in place of the inspector', () => {
  test.each([
    ['that is not JSON', send('hello'), /not one of the inspector of Node.js/],
    ['of control characters', send('\x1b[2J'), /not one of the inspector of Node.js/],
    ['with another id', (socket) => socket.send('{"id":9,"result":{}}'), /does not answer its debugger/],
    ['that is null', send('null'), /does not answer its debugger/],
    [
      'that is an error without a message',
      (socket, { id }) => socket.send(`{"id":${id},"error":7}`),
      /failed: undefined/,
    ],
    ['that is too long', send(Buffer.alloc(129 * 1024 ** 2, '[')), /failed: /],
  ])('a message %s from a false inspector becomes an error of nclust', async (_what, answer, message) => {
    const failure = await attach(takeStack, { answer }).catch((error) => error);
    expect(failure).toMatchObject({ code: expect.stringMatching(/^ERR_NCLUST_(NO_REPLY|NOT_REACHABLE)$/) });
    expect(failure.message).toMatch(message);
    expect(failure.message.length).toBeLessThan(1_000);
  });

  test('messages without an end from a false inspector become an error of nclust', async () => {
    const text = JSON.stringify({ method: 'Debugger.scriptParsed', params: { url: 'x'.repeat(4 * 1024 ** 2) } });
    const answer = (socket) => {
      const more = (error) => error || setImmediate(() => socket.send(text, more));
      more();
    };
    const failure = await attach(takeStack, { answer }).catch((error) => error);
    expect(failure.message).toMatch(/it sends too much/);
  });

  test.each([
    ['no frames', {}],
    ['frames that are not a list', { callFrames: 7 }],
    ['frames without fields', { callFrames: [null, 1, {}, { functionName: {}, location: 'x', url: 3 }] }],
    ['a wrong file', { callFrames: [], asyncStackTrace: { callFrames: [{ url: 'file://host/%00' }] } }],
  ])('a false inspector can send %s as its stack', async (_what, params) => {
    const answer = (socket, { id, method }) => {
      socket.send('{"method":"Debugger.scriptParsed"}');
      socket.send(JSON.stringify({ id, result: {} }));
      if (method === 'Debugger.pause') socket.send(JSON.stringify({ method: 'Debugger.paused', params }));
    };
    const frames = await attach(takeStack, { answer });
    expect(frames.length).toBeLessThanOrEqual(1_000);
    for (const one of frames)
      expect(one).toEqual({
        name: expect.any(String),
        file: expect.any(String),
        line: expect.any(Number),
        column: expect.any(Number),
      });
  });

  test('a false inspector can send frames in frames', async () => {
    const depth = 100_000;
    const trace = '{"callFrames":[{"functionName":"f"}],"parent":'.repeat(depth) + 'null' + '}'.repeat(depth);
    const answer = (socket, message) => {
      reply({})(socket, message);
      const params = `{"callFrames":[],"asyncStackTrace":${trace}}`;
      if (message.method === 'Debugger.pause') socket.send(`{"method":"Debugger.paused","params":${params}}`);
    };
    expect(await attach(takeStack, { answer })).toHaveLength(1_000);
  });

  test('a false inspector can send any profile; one that is nested too deep becomes an error of nclust', async () => {
    const take = async (answer) => {
      const written = [];
      const o = { kind: KINDS.cpu, durationMs: 1, output: { write: (text) => written.push(text) } };
      await attach((inside, signal) => takeInside(inside, { ...o, signal }), { answer });
      return written;
    };
    expect(await take(reply(null))).toEqual(['{}']);
    expect(await take(reply({ profile: 'x' }))).toEqual(['"x"']);
    const deep = (socket, { id }) =>
      socket.send(`{"id":${id},"result":{"profile":${'['.repeat(1e6)}${']'.repeat(1e6)}}}`);
    await expect(take(deep)).rejects.toMatchObject({ code: 'ERR_NCLUST_NOT_REACHABLE' });
  });
});

test.each([[null], ['x'], [{ frames: [null, { name: 1 }], resources: 'ab', busy: 'x' }]])(
  'the stack of an agent may be %j',
  (answer) => {
    const { busy, frames, resources } = readAgentStack(answer);
    expect([busy, frames.every(({ name, file }) => `${name}${file}` === '')]).toEqual([0, true]);
    expect(Object.values(resources).every((count) => count === 0)).toBe(true);
  },
);
