import { once } from 'node:events';
import net from 'node:net';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { createActCheck, refuseAct } from '../../../daemon/keeper/agent-acts.js';

const CLAIM = { address: '127.0.0.1', port: 80, family: 4, flags: 0, index: 0 };

/** Messages that the keeper accepts. See also test/helpers/dropped-messages.js. */
const HONEST = [
  { act: 'hello' },
  { act: 'booted' },
  { act: 'listen', seq: 1, claim: CLAIM },
  { act: 'listen', seq: 1, claim: { ...CLAIM, address: null, family: 6, flags: 1 } },
  { act: 'bound', claim: { ...CLAIM, address: '/run/app.sock', port: 0, family: 0 } },
  { act: 'socket-used', claim: CLAIM },
  { act: 'listening', address: '::', port: 65_535, family: 'IPv6' },
  { act: 'closed', claim: CLAIM },
  { act: 'draining', caught: [] },
  { act: 'drained', caught: ['SIGTERM', 'SIGINT'] },
  { act: 'answer', seq: 3, open: 2 },
  { act: 'answer', seq: 3, open: -1 },
  { act: 'answer', seq: 3, refusal: null },
  { act: 'answer', seq: 3, refusal: { code: 'EADDRINUSE', message: 'held' } },
  { act: 'answer', seq: 3, refusal: { message: 'no code' } },
  { act: 'answer', seq: 3, url: 'ws://127.0.0.1:9229/x' },
  { act: 'answer', seq: 3, bytes: 5, stack: { resources: [] } },
  { act: 'overflow', seq: 1, claim: CLAIM, open: 9 },
  { act: 'connection-accepted', seq: 1 },
  { act: 'connection-declined', seq: 1 },
  { act: 'vitals', responses: 1, errors: 0, delayP99Ms: 0.5, connections: -3 },
  { act: 'report', report: { seq: 1, http: { latency: [3, 1] } } },
  { act: 'fault', part: 'metrics', message: 'TypeError: x' },
  { act: 'listeners-closed' },
];

const NEVER = [{ toString: 1 }, NaN, Infinity, -0.5, true, 'x'.repeat(1_000_000)];

const deep = () => {
  let value = {};
  for (let level = 0; level < 20_000; level += 1) value = { value };
  return value;
};

/** @type {Record<string, (message: any) => object>} */
const HANDLES = {
  bound: ({ claim }) => handleOf(claim?.family === 0 ? 'Pipe' : 'TCP'),
  overflow: ({ claim }) => handleOf(claim?.family === 0 ? 'Pipe' : 'TCP'),
};

const handleOf = (kind) => new { TCP: class TCP {}, Pipe: class Pipe {} }[kind]();

function isHeard(message) {
  const handle =
    typeof message?.act === 'string' && Object.hasOwn(HANDLES, message.act) ? HANDLES[message.act](message) : undefined;
  return createActCheck()({}, message, handle).fault === null;
}

test.each(HONEST)('the keeper accepts $act: %o', (message) => {
  expect(isHeard(message)).toBe(true);
});

describe.each(HONEST.filter(({ act, ...fields }) => act !== 'report' && Object.keys(fields).length > 0))(
  '%o',
  (message) => {
    const fields = Object.keys(message).filter((name) => !['act', 'stack'].includes(name));

    test.each(fields)('an act is refused with a wrong %s', (name) => {
      expect(NEVER.filter((value) => isHeard({ ...message, [name]: value }))).toEqual([]);
    });
  },
);

test.each([
  ['nothing', undefined],
  ['a text', 'hello'],
  ['no act', {}],
  ['an act of Object', { act: 'toString' }],
  ['an act that is no text', { act: ['hello'] }],
  ['an unknown act', { act: 'listens' }],
  ['a claim that is a text', { act: 'socket-used', claim: 'x' }],
  ['a claim without a port', { act: 'socket-used', claim: { ...CLAIM, port: undefined } }],
  ['a claim on a name', { act: 'socket-used', claim: { ...CLAIM, address: 'localhost' } }],
  ['a claim of TCP on a path', { act: 'socket-used', claim: { ...CLAIM, address: '/run/app.sock' } }],
  ['a claim with flags of libuv', { act: 'socket-used', claim: { ...CLAIM, flags: 4 } }],
  ['a path without a path', { act: 'socket-used', claim: { ...CLAIM, family: 0, address: null } }],
  ['a relative path', { act: 'socket-used', claim: { ...CLAIM, family: 0, address: 'app.sock' } }],
  ['a path with a NUL', { act: 'socket-used', claim: { ...CLAIM, family: 0, address: '/run/a\0b' } }],
  [
    'a path of 5,000 characters',
    { act: 'socket-used', claim: { ...CLAIM, family: 0, address: `/${'x'.repeat(5_000)}` } },
  ],
  ['a report of 20 KB', { act: 'report', report: { text: 'x'.repeat(20_000) } }],
  ['a report nested too deeply', { act: 'report', report: deep() }],
  ['a report that is a number', { act: 'report', report: 1 }],
])('the keeper refuses %s', (_what, message) => {
  expect(isHeard(message)).toBe(false);
});

test('the acts that bring a socket accept it if it is of the kind that the claim names', async () => {
  const server = net.createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const { _handle: tcp } = server;
  const faultOf = (message, handle) => createActCheck()({}, message, handle).fault;
  expect(faultOf({ act: 'bound', claim: CLAIM }, tcp)).toBeNull();
  const unfit = '"bound" with an invalid socket';
  expect(faultOf({ act: 'bound', claim: { ...CLAIM, address: '/run/app.sock', family: 0 } }, tcp)).toBe(unfit);
  for (const other of [undefined, server, new net.Socket()])
    expect(faultOf({ act: 'bound', claim: CLAIM }, other)).toBe(unfit);
  expect(faultOf({ act: 'hello' }, tcp)).toBe('"hello" with an invalid socket');
});

test('a refused message is answered if its sender waits', () => {
  expect(refuseAct('listen', { seq: 7 }, 'why')).toEqual({ act: 'refused', seq: 7, code: 'EINVAL', message: 'why' });
  expect(refuseAct('overflow', { seq: 7 }, 'why')).toEqual({ act: 'placed', seq: 7 });
  for (const seq of [undefined, -1, {}, 'x']) expect(refuseAct('listen', { seq }, 'why')).toBeNull();
  expect(refuseAct('report', { seq: 7 }, 'why')).toBeNull();
});

describe('limits', () => {
  const messageOf = (act) => HONEST.find((message) => message.act === act);

  test('an act that floods does not use up the limit of another act, and is accepted again later', () => {
    const now = vi.spyOn(performance, 'now').mockReturnValue(1_000);
    onTestFinished(() => now.mockRestore());
    const look = createActCheck();
    const child = {};
    const isHeardFrom = (from, act) => look(from, messageOf(act)).fault === null;
    expect(Array.from({ length: 5_000 }, () => isHeardFrom(child, 'report')).filter(Boolean)).toHaveLength(100);
    expect(look(child, messageOf('report')).fault).toBe('"report" too often');
    expect([isHeardFrom(child, 'listen'), isHeardFrom({}, 'report')]).toEqual([true, true]);
    now.mockReturnValue(2_000);
    expect(isHeardFrom(child, 'report')).toBe(true);
  });

  test('connections have no limit, and a process reports at most 20 faults', () => {
    const look = createActCheck();
    const child = {};
    const heard = (act) =>
      Array.from({ length: 50_000 }, () => look(child, messageOf(act)).fault).filter((fault) => fault === null).length;
    expect([heard('connection-accepted'), heard('fault')]).toEqual([50_000, 20]);
  });
});
