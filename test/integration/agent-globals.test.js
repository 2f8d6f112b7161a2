import { fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { nodeUnderTest } from '../helpers/sandbox.js';
import { waitFor } from '../helpers/wait-for.js';

// Apps replace globals: a DOM for server rendering brings timers that return numbers, test tools
// bring timers that never fire. Here the test is the keeper, and speaks the agent's protocol.

const AGENT = fileURLToPath(new URL('../../daemon/agent/', import.meta.url));

const NUMBERS =
  `for (const name of ['setTimeout', 'setInterval', 'setImmediate']) { const real = ` +
  `globalThis[name]; let last = 0; globalThis[name] = (...args) => { real(...args); return ++last; }; }`;
const NEVER = `globalThis.later = setTimeout; globalThis.setTimeout = () => 1;`;
const NO_PERFORMANCE = 'globalThis.performance = undefined;';
const STAYS = 'setInterval(() => {}, 1 << 30);';
const ECHO =
  `const server = require('node:http').createServer((request, response) => ` +
  `response.end()).listen(0, '127.0.0.1', () => console.log('port', server.address().port));`;

function worker(code, { settings = {}, execArgv = [] } = {}) {
  const home = mkdtempSync(join(tmpdir(), 'nclust-globals-'));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  const script = join(home, 'app.cjs');
  writeFileSync(script, code);
  const child = fork(script, [], {
    execPath: nodeUnderTest(),
    execArgv: [...execArgv, '--require', join(AGENT, 'agent.cjs')],
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    env: {
      PATH: process.env.PATH,
      NCLUST_HOME: home,
      NCLUST_INSTANCE: 'one',
      NCLUST_AGENT: JSON.stringify({ metrics: false, ...settings }),
    },
  });
  const exited = once(child, 'exit');
  const ended = once(child, 'close');
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await exited;
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream?.on('data', (text) => {
      output += text;
    });
  const heard = [];
  child.on('internalMessage', (message, handle) => {
    if (handle) onTestFinished(() => void handle.close());
    if (message.cmd === 'NODE_NCLUST') heard.push(message);
  });
  const context = () => `${output}\n${JSON.stringify(heard)}`;
  return {
    home,
    heard,
    ended: () => ended,
    output: () => output,
    isAlive: () => child.exitCode === null && child.signalCode === null,
    disconnect: () => child.disconnect(),
    tell: (act, more = {}) => child.send({ cmd: 'NODE_NCLUST', act, ...more }),
    hears: (act, which = () => true) =>
      waitFor(`"${act}"`, () => heard.find((message) => message.act === act && which(message)), { context }),
    says: (text) => waitFor(`"${text}"`, () => output.includes(text), { context }),
  };
}

async function nextKeeper(home, greeting = '') {
  mkdirSync(join(home, 'run'), { recursive: true });
  const heard = [];
  const keeperSocket = createServer((socket) => {
    onTestFinished(() => void socket.destroy());
    socket.write(greeting);
    createInterface(socket).on('line', (line) => heard.push(JSON.parse(line)));
  });
  await once(keeperSocket.listen(join(home, 'run', 'keeper.1.sock')), 'listening');
  onTestFinished(() => void keeperSocket.close());
  return heard;
}

test.each([
  ['the app', NUMBERS, []],
  ['a module preloaded before the agent', '', [NUMBERS]],
])('an app can listen even if timers return numbers, replaced by %s', async (_who, code, preloads) => {
  const folder = mkdtempSync(join(tmpdir(), 'nclust-globals-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const execArgv = preloads.flatMap((text, index) => {
    writeFileSync(join(folder, `${index}.cjs`), text);
    return ['--require', join(folder, `${index}.cjs`)];
  });
  const app = worker(code + ECHO, { execArgv });
  await app.says('port');
  await app.hears('bound');
});

test.each([
  ['return numbers', NUMBERS],
  ['never fire', NEVER],
])('an app whose timers %s survives its keeper and connects to the next one', async (_what, code) => {
  const app = worker(`${code}${STAYS} console.log('runs'); process.on('disconnect', () => console.log('lost'));`);
  await app.says('runs');
  app.disconnect();
  await app.says('lost');
  const heard = await nextKeeper(app.home);
  await waitFor('the orphan to connect to the next keeper', () => heard.length === 2 || !app.isAlive());
  expect([heard, app.output()]).toEqual([[{ v: 1, orphan: 'one' }, { act: 'hello' }], 'runs\nlost\n']);
});

test('an app without metrics whose timers return numbers still sends vitals during a reload', async () => {
  const app = worker(`${NUMBERS}${STAYS} console.log('runs');`);
  await app.says('runs');
  app.tell('sample', { everyMs: 10 });
  expect(await app.hears('vitals')).toMatchObject({ responses: 0 });
});

test('an orphan survives a line that is not JSON from its keeper', async () => {
  const app = worker(`${STAYS} console.log('runs');`);
  await app.says('runs');
  app.disconnect();
  const heard = await nextKeeper(app.home, 'no JSON\n{"act":"ping","seq":7}\n');
  await waitFor('the answer to the ping', () => heard.find(({ seq }) => seq === 7), { context: app.output });
});

test.each(['return numbers', 'never fire'])('an app whose timers %s can be profiled', async (what) => {
  const app = worker(`${what === 'never fire' ? NEVER : NUMBERS}${STAYS} console.log('runs');`);
  const file = join(app.home, 'profile');
  writeFileSync(file, '');
  await app.says('runs');
  app.tell('profile', { seq: 1, step: 'begin', kind: 'cpu', file, durationMs: 50 });
  expect(await app.hears('answer', ({ seq }) => seq === 1)).not.toHaveProperty('failure');
  app.tell('profile', { seq: 2, step: 'end', file });
  expect(await app.hears('answer', ({ seq }) => seq === 2)).toMatchObject({ bytes: expect.any(Number) });
  expect(JSON.parse(readFileSync(file, 'utf8'))).toMatchObject({ nodes: expect.any(Array) });
  app.tell('profile', { seq: 3, step: 'stack', durationMs: 50 });
  expect(await app.hears('answer', ({ seq }) => seq === 3)).toMatchObject({ stack: { resources: expect.any(Object) } });
});

test('an app whose timers never fire drains even if a WebSocket client does not answer the close frame', async () => {
  const app = worker(
    `${NEVER}${ECHO} server.on('upgrade', (request, socket) => socket.write('HTTP/1.1 101 Switching ` +
      `Protocols\\r\\nConnection: Upgrade\\r\\nUpgrade: websocket\\r\\n\\r\\n'));`,
  );
  await app.says('port');
  const client = connect({
    port: Number(/port (\d+)/.exec(app.output())?.[1]),
    host: '127.0.0.1',
    allowHalfOpen: true,
  });
  onTestFinished(() => void client.destroy());
  client.write(
    'GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\r\n',
  );
  await once(client, 'data');
  app.tell('drain', { mode: 'finish' });
  await app.hears('drained');
});

test('a socket is closed at a quiet moment even if the app has neither timers nor performance', async () => {
  const code = `
    const { requireOnDemand } = require(${JSON.stringify(join(AGENT, 'loader.cjs'))});
    ${NEVER}${NO_PERFORMANCE}
    let isSync = true;
    requireOnDemand('./parking.cjs').callWhenQuiet(() => console.log(isSync ? 'at once' : 'quiet'));
    isSync = false;
    globalThis.later(() => {}, 2_000);`;
  const child = spawn(nodeUnderTest(), ['-e', code], { stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  expect(String((await once(child.stdout, 'data'))[0])).toBe('quiet\n');
});

test.each([
  ['call sites', 'Error.prepareStackTrace = (error, sites) => sites;', 'array'],
  ['nothing', 'Error.prepareStackTrace = () => undefined;', 'undefined'],
  ['a string', 'Error.prepareStackTrace = ({ message }) => message;', 'text'],
])('an app that turns its stacks into %s gets the listen error with its port', async (_what, code, stack) => {
  const app = worker(
    `${code}
    const kind = (stack) => Array.isArray(stack) ? 'array' : stack === undefined ? 'undefined' : 'text';
    const server = require('node:http').createServer();
    server.on('error', ({ code, port, stack }) => console.log('failed', code, port, kind(stack)));
    server.listen(7777, () => console.log('listens'));${STAYS}`,
    { settings: { isCluster: true } },
  );
  const { seq } = await app.hears('listen');
  app.tell('refused', { seq, code: 'EADDRINUSE', message: 'by another app' });
  await app.says('failed');
  expect(app.output()).toBe(`failed EADDRINUSE 7777 ${stack}\n`);
});

test('an app whose stacks throw gets the listen error', async () => {
  const app = worker(
    `Error.prepareStackTrace = () => { throw new Error('no stack'); };
    require('node:http').createServer().on('error', ({ code }) => console.log('failed', code)).listen(7777);${STAYS}`,
    { settings: { isCluster: true } },
  );
  const { seq } = await app.hears('listen');
  app.tell('refused', { seq, code: 'EADDRINUSE', message: 'by another app' });
  await app.says('failed EADDRINUSE');
});

test.each(['stdout', 'stderr'])(
  'an app that replaced process.%s keeps its own stream after a call of the original getter',
  async (name) => {
    const app = worker(`
    const node = Object.getOwnPropertyDescriptor(process, '${name}');
    const own = { write() {} };
    Object.defineProperty(process, '${name}', { configurable: true, get: () => own });
    for (const suffix of ['\\n', ' still'])
      node.get.call(process).write(process.${name} === own ? 'own' + suffix : 'replaced');`);
    await app.ended();
    expect(app.output()).toBe('own\nown still');
  },
);

test('an app that has frozen process can write to stdout', async () => {
  const app = worker(`Object.freeze(process); process.stdout.write('frozen '); process.stdout.write('and well');`);
  await app.ended();
  expect(app.output()).toContain('frozen and well');
});
