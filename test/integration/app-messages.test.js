import { readdirSync, readFileSync, readlinkSync, statSync, writeFileSync } from 'node:fs';
import { get } from 'node:http';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { realKeeper } from '../helpers/keeper.js';
import { waitFor } from '../helpers/wait-for.js';

const MODES = ['fork', 'cluster'];
const STAYS = 'setInterval(() => {}, 1 << 30);';

async function running(code, params = {}) {
  const keeper = await realKeeper();
  await keeper.call('subscribe-messages', { isOn: true });
  const { pid } = await keeper.spawnNode('one', 'runs-code', {
    mode: 'fork',
    ...params,
    env: { CODE: `${code};${STAYS} say('runs');` },
  });
  await keeper.says('one', 'runs');
  const said = () =>
    keeper.events.filter(({ event }) => event === 'app-message').map(({ data }) => JSON.parse(data.text));
  const refusal = (verb, more) =>
    keeper.call(verb, { instanceId: 'one', ...more }).then(
      () => null,
      (error) => error.code,
    );
  return { keeper, pid, said, refusal };
}

test.each(MODES)('%s: messages from an app and to an app arrive unchanged', async (mode) => {
  const { keeper, said } = await running(
    "process.on('message', (message) => process.send({ type: 'echo', data: message })); process.send('a " +
      "word'); process.send({ type: 'mine', data: [1] });",
    { mode },
  );
  await waitFor('both messages of the app', () => said().length === 2);
  const packet = { id: 0, type: 'process:msg', topic: 'x', data: { deep: [{ a: 'ü' }] } };
  await keeper.call('send-message', { instanceId: 'one', message: packet });
  await waitFor('the echo', () => said().length === 3);
  expect(said()).toEqual(['a word', { type: 'mine', data: [1] }, { type: 'echo', data: packet }]);
});

test('a message repeated with the same token is delivered once, unless it failed before', async () => {
  const { keeper, said } = await running(
    "process.on('message', (message) => process.send({ type: 'echo', data: message }));",
  );
  const give = (message, token) => keeper.call('send-message', { instanceId: 'one', message, token });
  expect([await give('a', 't1'), await give('a', 't1'), await give('a', 't2')]).toEqual([
    { isRepeated: false },
    { isRepeated: true },
    { isRepeated: false },
  ]);
  await keeper.call('send-message', { instanceId: 'one', message: 'last' });
  await waitFor('the last echo', () => said().at(-1)?.data === 'last');
  expect(said().map(({ data }) => data)).toEqual(['a', 'a', 'last']);
  const write = () =>
    keeper.call('write', { instanceId: 'one', text: 'x'.repeat(100_000), token: 't3' }).catch((error) => error.code);
  expect([await write(), await write()]).toEqual(['EAGAIN', 'EAGAIN']);
});

test('"ready" is an event and not a message', async () => {
  const { keeper, said } = await running("process.send('ready'); process.send('not ready');");
  await keeper.event('ready', 'one');
  await waitFor('the message of the app', () => said().length === 1);
  expect(said()).toEqual(['not ready']);
});

test('an app that floods the keeper with messages neither fills its memory nor blocks it', async () => {
  const { keeper } = await running(
    "const fill = () => { for (let at = 0; at < 500; at++) process.send({ type: 'flood', data: " +
      "'x'.repeat(200) }); setImmediate(fill); }; fill();",
  );
  await keeper.event('app-messages-dropped', 'one');
  const before = memoryOf(keeper.pid);
  for (let round = 0; round < 3; round++) {
    const seen = keeper.events.filter(({ event }) => event === 'app-messages-dropped').length;
    await waitFor(
      'another second of it',
      () => keeper.events.filter(({ event }) => event === 'app-messages-dropped').length > seen,
    );
    await keeper.call('snapshot');
  }
  expect(memoryOf(keeper.pid) - before).toBeLessThan(40 * 1024);
  const {
    data: { count },
  } = keeper.events.filter(({ event }) => event === 'app-messages-dropped')[1];
  expect(count).toBeGreaterThan(1_000);
});

test('messages and the inspector are refused for a program other than Node.js', async () => {
  const keeper = await realKeeper();
  await keeper.spawn('one', { file: '/bin/sh', args: ['-c', 'exec sleep 1000'] });
  const refusal = (verb, more) =>
    keeper.call(verb, { instanceId: 'one', ...more }).then(
      () => null,
      (error) => error.code,
    );
  expect(await refusal('send-message', { message: 'x' })).toBe('ENOTSUP');
  expect(await refusal('inspect', { isOn: true, timeoutMs: 1_000 })).toBe('ENOTSUP');
  expect(await keeper.call('send-message', { instanceId: 'nobody', message: 'x' }).catch((error) => error.code)).toBe(
    'ESRCH',
  );
});

test('a Node program that has closed its channel gets no messages', async () => {
  const { refusal } = await running('process.disconnect();');
  await waitFor('the channel to be closed', async () => (await refusal('send-message', { message: 'x' })) === 'EPIPE');
});

test.each([
  ['a Node program in fork mode', { mode: 'fork' }],
  [
    'any program',
    {
      mode: 'exec',
      file: '/bin/sh',
      args: ['-c', 'echo runs-code runs; while read line; do echo "got $line"; done; echo the end'],
    },
  ],
])('standard input: %s reads what the keeper writes', async (_what, params) => {
  const { keeper } = await running("process.stdin.on('data', (text) => say('got', String(text)));", params);
  await keeper.call('write', { instanceId: 'one', text: 'hello\n' });
  await keeper.says('one', 'got hello');
});

test('standard input: a cluster worker has none, and a program can close its own', async () => {
  const worker = await running('', { mode: 'cluster' });
  expect(await worker.refusal('write', { text: 'x' })).toBe('ENOTSUP');
  expect(readlinkSync(`/proc/${worker.pid}/fd/0`)).toBe('/dev/null');
  const closed = await running("require('node:fs').closeSync(0);");
  await waitFor('the write to be refused', async () => (await closed.refusal('write', { text: 'x' })) === 'EPIPE');
});

test('standard input: a write is refused once 64 KiB wait to be read', async () => {
  const { keeper, refusal } = await running('');
  const text = 'x'.repeat(32 * 1024);
  let taken = 0;
  await waitFor('a write to be refused', async () => {
    const code = await refusal('write', { text });
    taken += code === null ? text.length : 0;
    return code === 'EAGAIN';
  });
  // Up to 64 KiB wait in the keeper, and up to 64 KiB in the kernel.
  expect(taken).toBeLessThanOrEqual(128 * 1024);
  expect(await keeper.call('snapshot')).toMatchObject({ children: [{ exit: null }] });
});

test('standard input: a program that does not read it is not affected by the death of the keeper', async () => {
  const { keeper, pid } = await running(
    "require('node:http').createServer(answer).listen(0, () => 0); setInterval(() => say('lives', Date.now()), 20);",
  );
  await keeper.kill();
  const before = keeper.output('one').length;
  await waitFor('the program to write on', () => keeper.output('one').length > before + 200);
  expect(keeper.processes().map((one) => one.pid)).toContain(pid);
});

test('standard input: a program that reads it sees its end when the keeper dies', async () => {
  const { keeper } = await running('', {
    mode: 'exec',
    file: '/bin/sh',
    args: ['-c', 'echo runs-code runs; cat; echo the end'],
  });
  await keeper.call('write', { instanceId: 'one', text: 'something\n' });
  await keeper.says('one', 'something');
  await keeper.kill();
  await keeper.says('one', 'the end');
});

test('standard input: it is a pipe, because bash takes a socket for a start by ssh', async () => {
  const keeper = await realKeeper();
  writeFileSync(join(keeper.home, '.bashrc'), 'echo sourced');
  const { pid } = await keeper.spawn('one', {
    file: '/bin/bash',
    args: ['-c', 'echo runs; read line; echo "got $line"; sleep 1000'],
    env: { HOME: keeper.home },
  });
  await keeper.says('one', 'runs');
  expect(statSync(`/proc/${pid}/fd/0`).isFIFO()).toBe(true);
  await keeper.call('write', { instanceId: 'one', text: 'x\n' });
  await keeper.says('one', 'got x');
  expect(keeper.output('one')).not.toContain('sourced');
});

test('the keeper closes the standard input of programs that have exited or failed to start', async () => {
  const keeper = await realKeeper();
  const files = () => readdirSync(`/proc/${keeper.pid}/fd`).length;
  const round = async (id) => {
    await keeper.spawn(id, { file: '/bin/true', read: false });
    await keeper.event('gone', id);
    await keeper.call('forget', { instanceId: id });
    await keeper.spawn(`no-${id}`, { file: '/no/such/program', read: false }).catch(() => {});
  };
  await round('first');
  const before = files();
  for (let count = 0; count < 40; count++) await round(`next-${count}`);
  await waitFor('the files to be closed', () => files() <= before + 1);
});

test.each(MODES)('%s: the inspector is opened on request, on a port of its own, and closed again', async (mode) => {
  const { keeper } = await running('', { mode });
  await keeper.spawnNode('two', 'runs-code', { mode, env: { CODE: STAYS } });
  const inspect = (instanceId, isOn) => keeper.call('inspect', { instanceId, isOn, timeoutMs: 10_000 });
  expect(await inspect('one', false)).toEqual({ url: null, was: null });
  const one = await inspect('one', true);
  const two = await inspect('two', true);
  expect(one).toEqual({ url: expect.stringMatching(/^ws:\/\/127\.0\.0\.1:\d+\/[0-9a-f-]+$/), was: null });
  expect(new URL(one.url).port).not.toBe(new URL(two.url).port);
  expect(await versionAt(one.url)).toMatch('node.js');
  expect(await inspect('one', true)).toEqual({ url: one.url, was: one.url });
  expect(await inspect('one', false)).toEqual({ url: null, was: one.url });
  await expect(versionAt(one.url)).rejects.toThrow('ECONNREFUSED');
});

test.each(MODES)('%s: the app does not see that the address of its inspector is secret', async (mode) => {
  const keeper = await realKeeper();
  const seen = '[process.execArgv, process.debugPort, process.env.NODE_OPTIONS]';
  const code = `console.log('found', JSON.stringify(${seen}));${STAYS}`;
  const execArgv = ['--no-warnings', '--inspect-publish-uid=stderr'];
  await keeper.spawnNode('one', 'runs-code', { mode, execArgv, env: { CODE: code } });
  await keeper.says('one', 'found');
  expect(keeper.output('one')).toContain('found [["--no-warnings"],0,null]');
});

/** @param {string} url */
function versionAt(url) {
  return new Promise((resolve, reject) => {
    get(`http://${new URL(url).host}/json/version`, { agent: false }, (response) =>
      response.setEncoding('utf8').on('data', resolve),
    ).on('error', reject);
  });
}

/** @returns {number}  In KiB. */
function memoryOf(pid) {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);
}
