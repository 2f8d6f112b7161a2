import { expect, test } from 'vitest';
import { createRig, watch } from './control-rig.js';

async function running(spec) {
  const rig = createRig();
  await rig.boot();
  await Promise.all([rig.start({ name: 'api', ...spec }), rig.turn(2_000)]);
  const ids = rig.keeper.alive.map((child) => child.instanceId);
  const register = (name, instanceId = ids[0]) =>
    rig.keeper.metadata.set(instanceId, [
      ['axm:action', name, JSON.stringify({ action_name: name, action_type: 'custom', arity: 1 })],
    ]);
  return { rig, ids, register };
}

const failure = async (promise) =>
  promise.then(
    () => null,
    (error) => ({ code: error.code, hint: error.hint }),
  );

test('control reports messages of apps by type or as "process:msg", and counts what the keeper dropped', async () => {
  const {
    rig,
    ids: [id],
  } = await running();
  await rig.call('events', { types: ['human:*', 'process:msg'], subscription: 'mine' });
  rig.keeper.say(id, { type: 'human:event', data: { a: 1 } });
  rig.keeper.say(id, { type: 'other', data: 1 });
  rig.keeper.say(id, { type: 'no-data' });
  rig.keeper.say(id, 'a word');
  rig.keeper.say(id, { type: 'axm:option:setPID', data: 1 });
  rig.keeper.miss(id, 7);
  await rig.turn(1);
  const common = { subscription: 'mine', isFromApp: true, process: { id: 0, name: 'api', slot: 0, instanceId: id } };
  expect(rig.happened).toMatchObject([
    { ...common, type: 'human:event', data: { a: 1 } },
    { ...common, type: 'process:msg', raw: { type: 'no-data' } },
    { ...common, type: 'process:msg', raw: 'a word' },
    { ...common, type: 'process:missed', count: 7 },
  ]);
});

test('a message that is nested too deeply to be forwarded does no harm', async () => {
  const {
    rig,
    ids: [id],
  } = await running();
  await rig.call('events');
  rig.keeper.say(id, JSON.parse('['.repeat(500) + ']'.repeat(500)));
  rig.keeper.say(id, { type: 'fine', data: 1 });
  await rig.turn(1);
  expect(rig.happened).toMatchObject([{ type: 'fine' }]);
});

test('followers still receive messages of apps after the keeper is replaced', async () => {
  const { rig } = await running();
  await rig.call('events');
  rig.keeper.die();
  await rig.turn(2_000);
  expect(rig.keeper.isHeard).toBe(true);
});

test("trigger sends the bare word, or with parameters PM2's object, and returns the reply of the action", async () => {
  const {
    rig,
    ids: [id],
    register,
  } = await running();
  register('ping');
  for (const params of [undefined, 'x']) {
    const replies = rig.call('trigger', { targets: ['api'], action: 'ping', params });
    await rig.turn(1);
    rig.keeper.say(id, { type: 'axm:reply', data: { action_name: 'other', return: 0 } });
    rig.control.journal.send({ type: 'trouble', at: 0, hasBegun: true, app: 'api', kind: 'slow' });
    rig.keeper.say(id, { type: 'axm:reply', data: { action_name: 'ping', return: { pong: params ?? null } } });
    await rig.turn(1);
    expect(await replies).toEqual({
      replies: [{ id: 0, name: 'api', slot: 0, outcome: 'replied', reply: { pong: params ?? null } }],
    });
  }
  expect(rig.keeper.sent.map(({ message }) => message)).toEqual(['ping', { msg: 'ping', opts: 'x', name: 'api' }]);
  expect(rig.keeper.isHeard).toBe(false);
});

test('trigger reports for each process why there is no reply', async () => {
  const { rig, ids, register } = await running({ instances: 4, mode: 'cluster' });
  const [silent, ends, has, lost] = ids;
  for (const id of [silent, ends, lost]) register('ping', id);
  register('other', has);
  rig.keeper.takes = ({ instanceId }) => (instanceId === lost ? 'EPIPE' : undefined);
  const seen = watch(rig.call('trigger', { targets: ['all'], action: 'ping' }));
  await rig.turn(1);
  rig.keeper.exit(ends, { code: 1 });
  await rig.turn(4_900);
  expect(seen.state).toBe('pending');
  await rig.turn(200);
  expect(seen.result.replies).toMatchObject([
    { outcome: 'silent' },
    { outcome: 'exited' },
    { outcome: 'no-action', actions: ['other'] },
    { outcome: 'unreachable', reason: expect.stringMatching('cannot be reached|closed its side') },
  ]);
});

test('control does not repeat an action from before its manager died, and the answer gives the reason', async () => {
  const { rig, ids } = await running();
  rig.keeper.metadata.set(ids[0], [['axm:action', 'ping', '{"action_name":"ping"}']]);
  rig.keeper.sent.push({ instanceId: ids[0], message: 'ping', token: 'one' });
  const seen = watch(rig.call('trigger', { targets: ['api'], action: 'ping', token: 'one', timeoutMs: 1_000 }));
  await rig.turn(1_000);
  expect(seen.result.replies).toMatchObject([
    { outcome: 'silent', reason: expect.stringContaining('before the manager died') },
  ]);
  expect(rig.keeper.sent).toHaveLength(1);
});

test('trigger skips programs that are not Node.js or do not run', async () => {
  const { rig } = await running({ kind: 'exec', mode: 'fork', file: '/bin/sh' });
  expect((await rig.call('trigger', { targets: ['api'], action: 'ping' })).replies).toMatchObject([
    { outcome: 'no-node' },
  ]);
  await Promise.all([rig.call('stop', { targets: ['api'] }), rig.turn()]);
  expect((await rig.call('trigger', { targets: ['api'], action: 'ping' })).replies).toMatchObject([
    { outcome: 'no-process' },
  ]);
});

test('a message arrives unchanged, and a line goes to one process', async () => {
  const { rig, ids } = await running({ instances: 2, mode: 'cluster' });
  const message = { id: 1, type: 'process:msg', topic: 'a', data: { deep: [1] } };
  await rig.call('sendMessage', { targets: ['api'], message });
  expect(rig.keeper.sent).toEqual(ids.map((instanceId) => ({ instanceId, message, token: expect.any(String) })));
  expect(await failure(rig.call('sendInput', { target: 'api', input: 'x\n' }))).toEqual({
    code: 'ERR_NCLUST_BAD_SELECTOR',
    hint: 'Give one of the ids 0, 1.',
  });
  expect(await rig.call('sendInput', { target: '1', input: 'x\n' })).toMatchObject({ slots: [{ id: 1, name: 'api' }] });
  expect(rig.keeper.sent.at(-1)).toEqual({ instanceId: ids[1], text: 'x\n', token: expect.any(String) });
});

test.each([
  ['ENOTSUP', 'ERR_NCLUST_NOT_REACHABLE'],
  ['EPIPE', 'ERR_NCLUST_NOT_REACHABLE'],
  ['EAGAIN', 'ERR_NCLUST_NOT_READING'],
  ['ESRCH', 'ERR_NCLUST_NO_PROCESS'],
])('a refusal of the keeper with %s is reported as %s', async (code, expected) => {
  const { rig } = await running();
  rig.keeper.takes = () => code;
  expect(await failure(rig.call('sendInput', { target: 'api', input: 'x' }))).toMatchObject({ code: expected });
});

test('each method reports an outdated keeper, and a list and the process events work anyway', async () => {
  const { rig } = await running();
  for (const verb of ['subscribe-messages', 'app-metadata', 'send-message', 'write', 'inspect'])
    rig.keeper.lacks.add(verb);
  const outdated = { code: 'ERR_NCLUST_KEEPER_OUTDATED', hint: 'Replace it with: nclust update' };
  expect(await failure(rig.call('trigger', { targets: ['api'], action: 'ping' }))).toEqual(outdated);
  expect(await failure(rig.call('sendMessage', { targets: ['api'], message: 1 }))).toEqual(outdated);
  expect(await failure(rig.call('sendInput', { target: 'api', input: 'x' }))).toEqual(outdated);
  expect(await failure(rig.call('inspect', { target: 'api' }))).toEqual(outdated);
  expect(await rig.list({ detail: true })).toMatchObject([{ axm: { actions: [], monitor: {}, options: {} } }]);
  expect(await rig.call('events', { subscription: 'a' })).toEqual({ subscription: 'a', isDeaf: true });
  expect(await rig.call('events', { subscription: 'b', types: ['process:event'] })).toEqual({ subscription: 'b' });
});

test.each([
  ['ws://127.0.0.1:9229/0f2c936f-b1cd-4ac9-aab3-f63b0f33d55e', null],
  ['ws://[::1]:9229/0f2c936f-b1cd-4ac9-aab3-f63b0f33d55e', null],
  ['ws://127.0.0.1:1/x\u001b]52;c;aGk=\u0007', 'ERR_NCLUST_NOT_REACHABLE'],
  ['http://127.0.0.1:1/x', 'ERR_NCLUST_NOT_REACHABLE'],
  ['ws://127.0.0.1:1/x\nsecond', 'ERR_NCLUST_NOT_REACHABLE'],
  [{ toString: 1 }, 'ERR_NCLUST_NOT_REACHABLE'],
])('inspect accepts an address from the app only in the form of Node.js: %j', async (url, code) => {
  const { rig } = await running();
  rig.control.askKeeper = async () => ({ url, was: null });
  const answer = rig.call('inspect', { target: 'api' });
  if (code) expect(await failure(answer)).toMatchObject({ code });
  else expect(await answer).toMatchObject({ url });
});

test('control waits for a silent keeper at most 3 s longer than the process may take', async () => {
  const { rig } = await running();
  rig.control.askKeeper = () => new Promise(() => {});
  const [list, inspect] = [watch(rig.list({ detail: true })), watch(rig.call('inspect', { target: 'api' }))];
  await rig.turn(3_000);
  expect([list.state, inspect.state]).toEqual(['done', 'pending']);
  await rig.turn(5_000);
  expect(inspect.error).toMatchObject({ code: 'ERR_NCLUST_NO_REPLY' });
});

test('only a detailed list shows the metadata of an app', async () => {
  const {
    rig,
    ids: [id],
  } = await running();
  rig.keeper.metadata.set(id, [
    ['axm:action', 'ping', '{"action_name":"ping","arity":2,"opts":{"a":1}}'],
    ['axm:monitor', 'hits', '{"value":3}'],
    ['axm:option:configuration', 'error', 'true'],
  ]);
  expect(await rig.list({ detail: true })).toMatchObject([
    {
      axm: {
        actions: [{ action_name: 'ping', action_type: 'custom', arity: 2, opts: { a: 1 } }],
        monitor: { hits: { value: 3 } },
        options: { error: true },
      },
    },
  ]);
  expect(await rig.list()).not.toHaveProperty('[0].axm');
});
