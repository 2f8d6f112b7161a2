import { existsSync, mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { basename, dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, expect, onTestFinished, test } from 'vitest';
import { ask } from '../helpers/connections.js';
import { realKeeper } from '../helpers/keeper.js';
import { waitFor } from '../helpers/wait-for.js';

// The keeper holds a Unix socket like a port, so that clients can connect to the path as long as
// the app is wanted.

describe.each(['cluster', 'fork'])('a Unix socket path in %s mode', (mode) => {
  const begin = async () => {
    const keeper = await realKeeper();
    const path = join(keeper.home, 'sockets', 'app.sock');
    mkdirSync(dirname(path));
    const start = async (id, before = '', params = {}) => {
      const { pid } = await keeper.spawnNode(id, 'runs-code', {
        mode,
        ...params,
        env: {
          CODE: `${before}
        const server = http.createServer(answer).on('error', (error) => say('failed', error.code, error.message));
        server.listen(${JSON.stringify(path)}, () => say('listens', server.address()));`,
        },
      });
      return pid;
    };
    return { keeper, path, start };
  };

  test('a Unix socket path is shared by the next instance, and clients always find a server', async () => {
    const { keeper, path, start } = await begin();
    await start('old');
    await keeper.says('old', `listens ${path}`);
    const pids = new Set();
    let isDone = false;
    const client = (async () => {
      while (!isDone) pids.add((await ask({ socketPath: path })).pid);
    })();
    const next = await start('next', '', { isGated: true });
    await keeper.says('next', `listens ${path}`);
    expect(pids).not.toContain(next);
    await keeper.call('admit', { instanceId: 'next' });
    await keeper.retire('old', { drain: 'handover' });
    await keeper.event('gone', 'old');
    expect(await ask({ socketPath: path })).toMatchObject({ pid: next });
    isDone = true;
    await client;
  });

  test('a Unix socket path works for an app that removes its old socket before it listens', async () => {
    const { keeper, path, start } = await begin();
    const clears = `require('node:fs').rmSync(${JSON.stringify(path)}, { force: true });`;
    await start('old', clears);
    await keeper.says('old', 'listens');
    const next = await start('next', clears);
    await keeper.says('next', 'listens');
    await keeper.retire('old', { drain: 'handover' });
    await keeper.event('gone', 'old');
    expect(await ask({ socketPath: path })).toMatchObject({ pid: next });
  });

  test.each([
    ['on exit', `process.on('exit', remove); process.on('SIGTERM', () => process.exit());`],
    [
      'with its folder, which it creates again',
      `process.on('SIGTERM', () => { fs.rmSync(folder, { recursive: true }); fs.mkdirSync(folder); process.exit(); });`,
    ],
    ['when it crashes', `process.on('exit', remove); setTimeout(() => { throw new Error('crash'); }, 300);`],
    [
      'on its stop signal, long before it exits',
      `process.on('SIGTERM', () => { remove(); say('removed'); setInterval(() => {}, 1000); });`,
    ],
  ])('a Unix socket path is reachable after an old instance removed it %s', async (when, code) => {
    const { keeper, path, start } = await begin();
    const next = await start('next');
    await keeper.says('next', 'listens');
    await start(
      'old',
      `const fs = require('node:fs'), folder = ${JSON.stringify(dirname(path))};
      const remove = () => fs.unlinkSync(${JSON.stringify(path)});
      ${code}`,
    );
    await keeper.says('old', 'listens');
    if (!when.includes('crashes')) await keeper.retire('old', { drain: 'handover' });
    if (when.includes('signal')) {
      await keeper.says('old', 'removed');
      await waitFor('the path', () => existsSync(path));
      expect(keeper.events.filter(({ event }) => event === 'exited')).toEqual([]);
      await keeper.retire('old', { killTimeoutMs: 0 });
    }
    await keeper.event('gone', 'old');
    expect(await ask({ socketPath: path })).toMatchObject({ pid: next });
  });

  test('a Unix socket path is removed with the app, without leftovers', async () => {
    const { keeper, path, start } = await begin();
    await start('one');
    await keeper.says('one', 'listens');
    await keeper.retire('one');
    await keeper.event('gone', 'one');
    expect(existsSync(path)).toBe(true);
    await keeper.call('release', { app: 'api' });
    expect(readdirSync(dirname(path)).filter((name) => name.includes(basename(path)))).toEqual([]);
  });

  test('a Unix socket path gives EADDRINUSE if it is taken, and stays with its owner', async () => {
    const { keeper, path, start } = await begin();
    const other = createServer().listen(path);
    await start('one');
    await keeper.says('one', 'failed EADDRINUSE');
    other.close();
    writeFileSync(path, 'a file');
    await start('two');
    await keeper.says('two', 'failed EADDRINUSE');
    expect(readdirSync(dirname(path)).filter((name) => name.startsWith('.'))).toEqual([]);
  });

  test('a Unix socket path is restored by the next instance in a new folder, even for running instances', async () => {
    const { keeper, path, start } = await begin();
    const old = await start('old');
    await keeper.event('listening', 'old');
    rmSync(dirname(path), { recursive: true });
    mkdirSync(dirname(path));
    const next = await start('next', '', { isGated: true });
    await keeper.says('next', `listens ${path}`);
    await waitFor('the old instance to use the restored path', () =>
      ask({ socketPath: path }).then(({ pid }) => pid === old),
    );
    await keeper.call('admit', { instanceId: 'next' });
    await keeper.retire('old', { drain: 'handover' });
    await keeper.event('gone', 'old');
    expect(await ask({ socketPath: path })).toMatchObject({ pid: next });
    await keeper.retire('next');
    await keeper.event('gone', 'next');
    await keeper.call('release', { app: 'api' });
    expect(readdirSync(dirname(path))).toEqual([]);
  });

  test('a Unix socket path is restored by unpark in a folder that was created again', async () => {
    const { keeper, path, start } = await begin();
    const old = await start('old');
    await keeper.event('listening', 'old');
    await keeper.call('park', { instanceId: 'old' });
    rmSync(dirname(path), { recursive: true });
    mkdirSync(dirname(path));
    await start('next', '', { isGated: true });
    await keeper.says('next', `listens ${path}`);
    await keeper.call('unpark', { instanceId: 'old' });
    expect(await ask({ socketPath: path })).toMatchObject({ pid: old });
  });

  test('a Unix socket path stays with a program that took it after its folder was created again', async () => {
    const { keeper, path, start } = await begin();
    await start('old');
    await keeper.event('listening', 'old');
    rmSync(dirname(path), { recursive: true });
    mkdirSync(dirname(path));
    const stranger = createServer((socket) => socket.end('stranger')).listen(path);
    onTestFinished(() => void stranger.close());
    await start('next');
    await keeper.says('next', `listens ${path}`);
    expect(await text(connect(path))).toBe('stranger');
  });

  test('a Unix socket path can be as long as the system allows', async () => {
    const keeper = await realKeeper();
    const longest = process.platform === 'linux' ? 107 : 103;
    const path = join(keeper.home, 'd'.repeat(longest - keeper.home.length - '/'.length - '/a.sock'.length), 'a.sock');
    mkdirSync(dirname(path));
    const code =
      `http.createServer(answer).on('error', (error) => say('failed', ` +
      `error.code)).listen(${JSON.stringify(path)}, () => say('listens'));`;
    for (const id of ['old', 'next']) {
      const { pid } = await keeper.spawnNode(id, 'runs-code', { mode, env: { CODE: code } });
      await keeper.says(id, 'listens');
      if (id === 'next') await keeper.retire('old', { drain: 'handover' }).then(() => keeper.event('gone', 'old'));
      expect(await ask({ socketPath: path })).toMatchObject({ pid });
    }
  });

  test('a Unix socket path is open to every user with readableAll and writableAll', async () => {
    const { keeper, path } = await begin();
    const options = JSON.stringify({ path, readableAll: true, writableAll: true });
    for (const id of ['old', 'next']) {
      const { pid } = await keeper.spawnNode(id, 'runs-code', {
        mode,
        env: { CODE: `http.createServer(answer).listen(${options}, () => say('listens'));` },
      });
      await keeper.says(id, 'listens');
      expect(statSync(path).mode & 0o666).toBe(0o666);
      if (id === 'next') await keeper.retire('old', { drain: 'handover' }).then(() => keeper.event('gone', 'old'));
      expect(await ask({ socketPath: path })).toMatchObject({ pid });
    }
  });

  test('a Unix socket path works again after close()', async () => {
    const { keeper, path } = await begin();
    await keeper.spawnNode('one', 'runs-code', {
      mode,
      env: {
        CODE: `
      const server = http.createServer(answer);
      const again = () => server.listen(${JSON.stringify(path)}, () => say('again'));
      server.listen(${JSON.stringify(path)}, () => server.close(again));`,
      },
    });
    await keeper.says('one', 'again');
    expect(await ask({ socketPath: path })).toMatchObject({ pid: expect.any(Number) });
  });
});
