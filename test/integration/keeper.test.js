import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, constants, existsSync, openSync, readFileSync, readSync } from 'node:fs';
import { get } from 'node:http';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { fixturePath } from '../helpers/fixtures.js';
import { realKeeper, temporaryHome } from '../helpers/keeper.js';
import { isRoot, NOBODY } from '../helpers/other-user.js';
import { isFree, takePort } from '../helpers/ports.js';
import { isRunning, processesOf } from '../helpers/processes.js';
import { waitFor } from '../helpers/wait-for.js';

const ask = (port, path = '/') =>
  new Promise((resolve, reject) => {
    get({ port, path, agent: false }, (response) => {
      let body = '';
      response
        .setEncoding('utf8')
        .on('data', (text) => {
          body += text;
        })
        .on('end', () => resolve({ headers: response.headers, ...JSON.parse(body) }))
        .on('error', reject);
    }).on('error', reject);
  });

test.each(['cluster', 'fork'])('a connection without a living worker waits for the next one (%s)', async (mode) => {
  const keeper = await realKeeper();
  const port = await takePort();
  const { pid } = await keeper.spawnNode('one', 'http-echo', { mode, env: { PORT: String(port) } });
  await keeper.event('listening', 'one');
  process.kill(pid, 'SIGKILL');
  await keeper.event('gone', 'one');

  const answer = ask(port);
  const next = await keeper.spawnNode('two', 'http-echo', { mode, env: { PORT: String(port) } });

  expect(await answer).toMatchObject({ pid: next.pid });
});

test('in fork mode the address is bound when listen() returns, at the first start and later', async () => {
  const keeper = await realKeeper();
  for (const id of ['one', 'two']) {
    await keeper.spawnNode(id, 'port-zero', { mode: 'fork' });
    await keeper.event('listening', id);
    process.kill((await keeper.call('snapshot')).children.at(-1).pid, 'SIGKILL');
    await keeper.event('gone', id);
  }
  const ports = keeper.events.filter((one) => one.event === 'listening').map((one) => one.data.port);
  expect(ports[0]).toBeGreaterThan(0);
  expect(ports[1]).toBe(ports[0]);
});

test.each(['cluster', 'fork'])(
  'a second app on the same address gets EADDRINUSE with the name of the first (%s)',
  async (mode) => {
    const keeper = await realKeeper();
    const env = { PORT: String(await takePort()) };
    await keeper.spawnNode('one', 'http-echo', { env, app: 'shop' });
    await keeper.event('listening', 'one');

    await keeper.spawnNode('two', 'http-echo', { mode, env, app: 'blog' });
    await keeper.event('exited', 'two');
    await keeper.says('two', 'EADDRINUSE');
    expect(keeper.output('two')).toMatch(/address already in use .*held by app "shop"/);
  },
);

test('connections to a released address are refused', async () => {
  const keeper = await realKeeper();
  const port = await takePort();
  await keeper.spawnNode('one', 'http-echo', { env: { PORT: String(port) } });
  await keeper.event('listening', 'one');
  await keeper.retire('one', { killTimeoutMs: 0 });
  await keeper.event('gone', 'one');
  await keeper.call('release', { app: 'api' });

  await expect(ask(port)).rejects.toThrow('ECONNREFUSED');
});

test.each([
  ['cluster', 'port'],
  ['fork', 'port'],
  ['cluster', 'path'],
  ['fork', 'path'],
])('a process that starts to listen while it exits leaves no socket behind (%s, %s)', async (mode, kind) => {
  const keeper = await realKeeper();
  const port = await takePort();
  const path = join(temporaryHome(), 'late.sock');
  const env = kind === 'port' ? { PORT: String(port) } : { SOCKET: path };
  await keeper.spawnNode('one', 'listens-when-told-to-end', { mode, env });
  await keeper.says('one', 'runs');
  // The same order as in control, which releases the sockets before it retires the processes.
  await keeper.call('release', { app: 'api' });
  await keeper.retire('one');
  await keeper.says('one', 'listens');
  await keeper.event('gone', 'one');

  expect((await keeper.call('sockets')).sockets).toEqual([]);
  // In fork mode, a program that calls process.exit() leaves its path behind, as without nclust.
  if (kind === 'port') expect(await isFree(port)).toBe(true);
  else if (mode === 'cluster') expect(existsSync(path)).toBe(false);
});

test.each(['handover', 'finish'])(
  'a retired worker finishes its request and announces the close of the connection (%s)',
  async (drain) => {
    const keeper = await realKeeper();
    const port = await takePort();
    await keeper.spawnNode('one', 'http-echo', { env: { PORT: String(port) } });
    await keeper.event('listening', 'one');
    const slow = ask(port, '/?delay=400');
    await waitFor('the request to arrive', async () => (await ask(port, '/')).pid);

    await keeper.retire('one', { drain });
    expect((await slow).headers.connection).toBe('close');
    await keeper.event('gone', 'one');
  },
);

test('an app that handles SIGTERM gets SIGTERM after the drain, and its handler runs', async () => {
  const keeper = await realKeeper();
  const port = await takePort();
  await keeper.spawnNode('one', 'http-says-goodbye', { env: { PORT: String(port) } });
  await keeper.event('listening', 'one');
  await ask(port);

  await keeper.retire('one');
  await keeper.says('one', 'got SIGTERM');
  expect(await keeper.event('exited', 'one')).toMatchObject({ data: { code: 0, signal: null } });
});

test.each([
  ['SIGTERM,SIGINT', null, 'SIGTERM'],
  ['SIGINT', null, 'SIGINT'],
  ['SIGTERM,SIGINT,SIGUSR2', 'SIGUSR2', 'SIGUSR2'],
])('with handlers for %s and stop signal %s the program gets %s', async (handles, signal, expected) => {
  const keeper = await realKeeper();
  await keeper.spawnNode('one', 'names-the-signal', { env: { HANDLES: handles } });
  await keeper.says('one', 'is there');
  await keeper.retire('one', { signal });
  await keeper.says('one', `got ${expected}`);
  await keeper.event('gone', 'one');
});

test('a program that ignores its signal is killed at the deadline, and a second retire can shorten it', async () => {
  const keeper = await realKeeper();
  await keeper.spawnNode('one', 'ignores-sigterm');
  await keeper.says('one', 'is there');
  await keeper.retire('one', { killTimeoutMs: 60_000 });
  await keeper.says('one', 'ignores SIGTERM');
  await keeper.retire('one', { killTimeoutMs: 100 });
  expect(await keeper.event('exited', 'one')).toMatchObject({ data: { code: null, signal: 'SIGKILL' } });
});

test('"gone" is reported when the last process of the tree has exited, even a double-forked one', async () => {
  const keeper = await realKeeper();
  await keeper.spawnNode('one', 'double-forks', { mode: 'fork' });
  await keeper.says('one', 'has left one behind');
  expect(keeper.processes()).toHaveLength(2);

  await keeper.retire('one');
  await keeper.event('gone', 'one');
  expect(keeper.processes()).toEqual([]);
});

test('processes that a crashed program leaves behind are ended', async () => {
  const keeper = await realKeeper();
  const { pid } = await keeper.spawnNode('one', 'double-forks', { mode: 'fork' });
  await keeper.says('one', 'has left one behind');
  process.kill(pid, 'SIGKILL');
  await keeper.event('gone', 'one');
  expect(keeper.processes()).toEqual([]);
});

test.runIf(isRoot)('processes of another user that a crashed program leaves behind are ended', async () => {
  const keeper = await realKeeper();
  const { pid } = await keeper.spawnNode('one', 'runs-code', {
    mode: 'fork',
    env: {
      CODE: `
        const left = require('child_process').spawn('sleep', ['1000'], { uid: ${NOBODY.uid}, stdio: 'ignore' });
        left.on('spawn', () => say('left', left.pid));`,
    },
  });
  await keeper.says('one', 'left');
  const left = Number(/left (\d+)/.exec(keeper.output('one'))?.[1]);
  process.kill(pid, 'SIGKILL');
  await keeper.event('gone', 'one');
  expect(isRunning(left)).toBe(false);
});

test('control can read the output that was written before it connected', async () => {
  const keeper = await realKeeper();
  const facts = await keeper.spawn('one', { file: '/bin/sh', args: ['-c', 'echo early words'], read: false });
  await keeper.event('gone', 'one');
  const fd = openSync(facts.outPipe, constants.O_RDONLY | constants.O_NONBLOCK);
  const text = Buffer.alloc(64);
  expect(text.toString('utf8', 0, readSync(fd, text))).toBe('early words\n');
  closeSync(fd);
});

test.each(['exit', 'throw', 'kill'])('all 100,000 lines before %s arrive', async (end) => {
  const keeper = await realKeeper();
  await keeper.spawnNode('one', 'floods-stdout', { env: { LINES: '100000', END: end } });
  await keeper.event('exited', 'one');
  await keeper.says('one', 'floods-stdout out 100000\n');
  const lines = keeper
    .output('one')
    .split('\n')
    .filter((line) => line.startsWith('floods-stdout out'));
  expect(lines).toHaveLength(100_000);
});

test.each([
  [{ mode: 'exec', file: '/no/such/program' }, 'ENOENT', /no.such.program/],
  [{ mode: 'exec', file: fixturePath('keeps-alive.js') }, 'EACCES', /keeps-alive/],
  [
    { mode: 'exec', file: '/bin/sleep', cwd: '/no/such/folder' },
    'ENOENT',
    /working directory .no.such.folder does not exist/,
  ],
  [{ mode: 'fork', file: '/no/such/node', script: 'x.js' }, 'ENOENT', /no.such.node/],
  [{ mode: 'cluster', file: '/no/such/node', script: 'x.js' }, 'ENOENT', /no.such.node/],
  [
    { mode: 'cluster', file: process.execPath, script: 'x.js', cwd: '/no/such/folder' },
    'ENOENT',
    /working directory .no.such.folder does not exist/,
  ],
])('a program that cannot be started gives an error with the system code: %o', async (params, code, message) => {
  const keeper = await realKeeper();
  await expect(keeper.spawn('one', params)).rejects.toMatchObject({ code, message: expect.stringMatching(message) });
  expect((await keeper.call('snapshot')).children).toEqual([]);
});

test('an unknown verb, an unknown instance and bad params give errors, and the keeper runs on', async () => {
  const keeper = await realKeeper();
  await expect(keeper.call('constructor')).rejects.toMatchObject({ code: 'ENOSYS' });
  await expect(keeper.call('retire', { instanceId: 'nobody' })).rejects.toMatchObject({ code: 'ESRCH' });
  await expect(keeper.call('spawn', { instanceId: 'one' })).rejects.toBeDefined();
  expect(await keeper.call('snapshot')).toMatchObject({ pid: keeper.pid, protocol: 1 });
});

test('a retire right after its spawn is not lost', async () => {
  const keeper = await realKeeper();
  const ids = Array.from({ length: 20 }, (_, index) => `s${index}`);
  const spawns = ids.map((id) => keeper.spawn(id, { file: '/bin/sleep', args: ['1000'], read: false }));
  await Promise.all(ids.map((id) => keeper.retire(id)));
  await Promise.all(spawns);
  for (const id of ids) await keeper.event('gone', id);
  expect(keeper.processes()).toEqual([]);
});

test('an app that logs much runs on without keeper and control, and every line is in its log file', async () => {
  const keeper = await realKeeper();
  const port = await takePort();
  const out = join(keeper.home, 'logs', 'app-out.log');
  const code =
    `let line = 0; http.createServer((request, response) => { for (let i = 0; i < 500; i++) ` +
    `say('line', line += 1, 'x'.repeat(80)); answer(request, response); }).listen(${port});`;
  await keeper.spawnNode('one', 'runs-code', { env: { CODE: code }, logFiles: { out, err: null }, read: false });
  await keeper.event('listening', 'one');
  await keeper.kill();
  for (let round = 0; round < 6; round += 1) await ask(port);

  const lines = await waitFor('all lines', () => {
    const found = readFileSync(out, 'utf8').trimEnd().split('\n');
    return found.length === 3_000 && found;
  });
  expect(lines.map((line) => Number(line.split(' ')[2]))).toEqual(
    Array.from({ length: 3_000 }, (_, index) => index + 1),
  );
});

test('notes are kept for the next control', async () => {
  const keeper = await realKeeper();
  await keeper.call('note', { key: 'api/0', value: { restarts: 3 } });
  await keeper.call('note', { key: 'api/1', value: 1 });
  await keeper.call('note', { key: 'api/1', value: null });
  expect((await keeper.call('snapshot')).notes).toEqual({ 'api/0': { restarts: 3 } });
});

test('the next keeper adopts the instances of a dead one with their sockets, and can retire them', async () => {
  const first = await realKeeper();
  const port = await takePort();
  const orphan = await first.spawnNode('one', 'http-says-goodbye', { env: { PORT: String(port) } });
  const { data, handle } = await waitFor('the socket', () => first.events.find((one) => one.event === 'listener'));
  const facts = (await first.call('snapshot')).children[0];
  await first.event('listening', 'one');
  await first.kill();
  expect(await ask(port)).toMatchObject({ pid: orphan.pid });

  const second = await realKeeper({ home: first.home });
  await second.call('inherit', { app: data.app, scope: data.scope, claim: data.claim }, handle);
  await second.call('adopt', { ...facts, mode: 'cluster' });
  const fresh = await second.spawnNode('two', 'http-says-goodbye', { env: { PORT: String(port) } });
  await second.event('listening', 'two');
  await second.retire('one', { drain: 'handover' });
  await second.event('gone', 'one');
  await first.says('one', 'got SIGTERM');
  expect(await ask(port)).toMatchObject({ pid: fresh.pid });
});

test('a keeper whose control dies at once starts another one', async () => {
  const home = temporaryHome();
  const control = spawn(
    process.execPath,
    [
      '-e',
      `
    const { spawn } = require('node:child_process');
    const { openSync } = require('node:fs');
    const log = openSync(process.env.NCLUST_HOME + '/nclust.log', 'a');
    spawn(process.execPath, [process.env.KEEPER], {
      detached: true,
      env: { ...process.env, NCLUST_KEEPER_INHERIT: '1' },
      stdio: ['ignore', log, log, 'pipe', 'ipc'],
    });
    process.exit(0);`,
    ],
    {
      env: {
        PATH: process.env.PATH,
        NCLUST_HOME: home,
        KEEPER: fileURLToPath(new URL('../../daemon/keeper/main.js', import.meta.url)),
      },
    },
  );
  await once(control, 'exit');
  const { pid } = await waitFor('a control', () => processesOf(home).find((one) => one.role === 'control'));
  expect(pid).toBeGreaterThan(0);
  for (const one of processesOf(home)) process.kill(one.pid, 'SIGKILL');
  await waitFor('an empty home', () => processesOf(home).length === 0);
});

test('an app that calls process.disconnect() still gets its stop signal', async () => {
  const keeper = await realKeeper();
  const code = `
    process.on('SIGTERM', () => { say('SIGTERM'); process.exit(0); });
    http.createServer(answer).listen(0, () => {
      process.on('disconnect', () => say('alone'));
      process.disconnect();
    });`;
  await keeper.spawnNode('one', 'runs-code', { mode: 'fork', env: { CODE: code } });
  await keeper.says('one', 'alone');
  await keeper.retire('one', { killTimeoutMs: 4_000 });
  await keeper.says('one', 'SIGTERM');
  await keeper.event('gone', 'one');
});

test('unread output of an orphan is complete after the next keeper has started', async () => {
  const first = await realKeeper();
  const facts = await first.spawn('one', { file: '/bin/sh', args: ['-c', 'echo hello; sleep 1000'], read: false });
  await waitFor('the line in the pipe', () => first.processes().some((one) => one.command.includes('sleep')));
  const orphans = (await first.call('snapshot')).children;
  await first.kill();
  await realKeeper({ home: first.home, adopt: orphans });
  const fd = openSync(facts.outPipe, constants.O_RDONLY | constants.O_NONBLOCK);
  const text = Buffer.alloc(64);
  expect(text.toString('utf8', 0, readSync(fd, text))).toBe('hello\n');
  closeSync(fd);
});

async function plant(keeper, uid) {
  const env = { PATH: process.env.PATH, NCLUST_INSTANCE: keeper.fullId('one'), NCLUST_HOME: keeper.home };
  const child = spawn('/bin/sh', ['-c', 'trap "" INT TERM; echo ready; while :; do sleep 1; done'], {
    env,
    uid,
    cwd: '/',
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  await once(child.stdout, 'data');
  return child;
}

test.runIf(process.getuid?.() === 0)(
  'a process of another user with the environment of an instance is left alone, and retire does not wait for it',
  async () => {
    const keeper = await realKeeper();
    await keeper.spawn('one', { file: '/bin/sleep', args: ['1000'] });
    const stranger = await plant(keeper, 65_534);
    await keeper.retire('one');
    await keeper.event('gone', 'one');
    expect(isRunning(stranger.pid ?? 0)).toBe(true);
  },
);

test.runIf(process.getuid?.() === 0)(
  'a process that has left the tree is ended with its app of another user',
  async () => {
    const keeper = await realKeeper();
    await keeper.spawn('one', { file: '/bin/sleep', args: ['1000'], cwd: '/', uid: 65_534, gid: 65_534 });
    const relative = await plant(keeper, 65_534);
    await keeper.retire('one', { killTimeoutMs: 500 });
    await keeper.event('gone', 'one');
    expect(isRunning(relative.pid ?? 0)).toBe(false);
  },
);

test.runIf(process.getuid?.() === 0)(
  'a process of another user does not keep the rest of the tree from being ended',
  async () => {
    const keeper = await realKeeper({ uid: 65_534 });
    // Uses a shell, because the user of the keeper may not be able to read the fixtures.
    const { pid } = await keeper.spawn('one', {
      file: '/bin/sh',
      args: ['-c', 'trap "" INT TERM; echo ready; while :; do sleep 1; done'],
    });
    await keeper.says('one', 'ready');
    const stranger = spawn('sleep', ['1000'], {
      env: { NCLUST_INSTANCE: keeper.fullId('one'), NCLUST_HOME: keeper.home },
    });
    await once(stranger, 'spawn');
    await keeper.retire('one', { killTimeoutMs: 300 });
    await keeper.event('gone', 'one');
    expect(isRunning(pid)).toBe(false);
    stranger.kill('SIGKILL');
  },
);
