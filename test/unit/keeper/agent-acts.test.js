import { once } from 'node:events';
import net from 'node:net';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { actOf, closeHandle, socketOf } from '../../../daemon/keeper/agent-acts.js';

const CLAIM = { address: '127.0.0.1', port: 80, family: 4, flags: 0, index: 0 };

/** What agents say. */
const HONEST = [
  { act: 'hello' },
  { act: 'booted' },
  { act: 'listen', seq: 1, claim: CLAIM },
  { act: 'listen', seq: 1, claim: { ...CLAIM, address: null, family: 6, flags: 1 } },
  { act: 'bound', claim: { ...CLAIM, address: '/run/app.sock', port: 0, family: 0 } },
  { act: 'taken', claim: CLAIM },
  { act: 'listening', address: '::', port: 65_535, family: 'IPv6' },
  { act: 'closed', claim: CLAIM },
  { act: 'draining', caught: [] },
  { act: 'drained', caught: ['SIGTERM', 'SIGINT'] },
  { act: 'answer', seq: 3, open: 2 },
  { act: 'answer', seq: 3, refusal: null },
  { act: 'answer', seq: 3, refusal: { code: 'EADDRINUSE', message: 'held' } },
  { act: 'answer', seq: 3, url: 'ws://127.0.0.1:9229/x' },
  { act: 'answer', seq: 3, bytes: 5, stack: { resources: [] } },
  { act: 'overflow', seq: 1, claim: CLAIM, open: 9 },
  { act: 'took', seq: 1 },
  { act: 'declined', seq: 1 },
  { act: 'vitals', responses: 1, errors: 0, delayP99Ms: 0.5, connections: 3 },
  { act: 'report', report: { seq: 1, http: { latency: [3, 1] } } },
  { act: 'fault', part: 'metrics', message: 'TypeError: x' },
  { act: 'unlistened' },
];

/** What no field takes. */
const NEVER = [{ toString: 1 }, NaN, Infinity, -1, true, 'x'.repeat(1_000_000)];

const deep = () => {
  let value = {};
  for (let level = 0; level < 20_000; level += 1) value = { value };
  return value;
};

test.each(HONEST)('$act is heard: %o', (message) => {
  expect(actOf(message)).toBe(message.act);
});

describe.each(HONEST.filter(({ act, ...fields }) => act !== 'report' && Object.keys(fields).length > 0))(
  '%o',
  (message) => {
    const fields = Object.keys(message).filter((name) => name !== 'act' && name !== 'stack');

    test.each(fields)('is not heard with another %s', (name) => {
      expect(NEVER.filter((value) => actOf({ ...message, [name]: value }))).toEqual([]);
    });
  },
);

test.each([
  ['nothing', undefined],
  ['a text', 'hello'],
  ['no act', {}],
  ['an act of Object', { act: 'toString' }],
  ['an act that is no text', { act: { toString: 1 } }],
  ['an unknown act', { act: 'listens' }],
  ['a claim without a port', { act: 'bound', claim: { address: null } }],
  ['a path of 5,000 characters', { act: 'taken', claim: { ...CLAIM, address: 'x'.repeat(5_000) } }],
  ['a report of 20 KB', { act: 'report', report: { text: 'x'.repeat(20_000) } }],
  ['a report nested too deeply', { act: 'report', report: deep() }],
  ['a report that is a number', { act: 'report', report: 1 }],
])('%s is not heard', (_what, message) => {
  expect(actOf(message)).toBeNull();
});

describe('what comes with a message', () => {
  test('is taken by an act that brings a socket, if it is one of libuv', async () => {
    const server = net.createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    onTestFinished(() => void server.close());
    const { _handle: handle } = /** @type {any} */ (server);
    expect(socketOf('bound', handle)).toBe(handle);
    expect(socketOf('report', handle)).toBeUndefined();
    expect(socketOf('bound', server)).toBeUndefined();
    expect(socketOf('bound', new net.Socket())).toBeUndefined();
    expect(socketOf('bound', undefined)).toBeUndefined();
  });

  test('is closed, whatever it is', () => {
    const socket = { destroy: vi.fn() };
    const server = { close: vi.fn() };
    for (const handle of [socket, server, undefined, null, {}]) closeHandle(handle);
    expect([socket.destroy.mock.calls.length, server.close.mock.calls.length]).toEqual([1, 1]);
  });
});
