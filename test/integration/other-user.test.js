import { chmodSync, chownSync, existsSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { linkSync, statSync, symlinkSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { ask } from '../helpers/connections.js';
import { realKeeper } from '../helpers/keeper.js';
import { waitFor } from '../helpers/wait-for.js';

// The keeper runs as root. Its apps run as another user, and root must not trust this user.

const OTHER = 65_534;
const OWNER = { uid: OTHER, gid: OTHER };

/**
 * @param {number} [o.uid]
 * @returns {string}  A folder that is removed after the test.
 */
function folderOf({ uid = OTHER, mode = 0o755 } = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'nclust-user-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  chownSync(folder, uid, uid);
  chmodSync(folder, mode);
  return folder;
}

describe.runIf(process.getuid?.() === 0).each(['cluster', 'fork'])(
  '%s: the Unix socket of an app with another user',
  (mode) => {
    const begin = async () => {
      const keeper = await realKeeper({ isOpen: true });
      const start = (id, path, { before = '', after = '', ...params } = {}) =>
        keeper.spawnNode(id, 'runs-code', {
          mode,
          cwd: '/',
          ...OWNER,
          ...params,
          env: {
            CODE: `
        const fs = require('node:fs');
        ${before}
        const server = http.createServer(answer).on('error', ({ code }) => say('failed', code));
        server.listen(${JSON.stringify(path)}, () => {
          ${after}
          say('listens');
        });`,
          },
        });
      const stop = async (id) => {
        await keeper.retire(id, { drain: 'handover' });
        await keeper.event('gone', id);
      };
      return { keeper, start, stop };
    };

    test('the Unix socket belongs to the app, which can open it to its group', async () => {
      const { keeper, start, stop } = await begin();
      const path = join(folderOf(), 'app.sock');
      await start('one', path, { after: `say('mode', fs.statSync(${JSON.stringify(path)}).mode.toString(8));` });
      await keeper.says('one', 'mode 140755');
      const { pid } = await start('two', path, { after: `fs.chmodSync(${JSON.stringify(path)}, 0o660);` });
      await keeper.says('two', 'listens');
      expect(statSync(path)).toMatchObject({ uid: OTHER, gid: OTHER, mode: 0o140660 });
      await stop('one');
      expect(await ask({ socketPath: path })).toMatchObject({ pid });
    });

    test('the Unix socket cannot be made where the user of the app may not write', async () => {
      const { keeper, start } = await begin();
      const folder = folderOf({ uid: 0 });
      await start('one', join(folder, 'evil.sock'));
      await keeper.says('one', 'failed EACCES');
      expect(readdirSync(folder)).toEqual([]);
    });

    test('the Unix socket is restored if the app clears its path, and removed with the app', async () => {
      const { keeper, start, stop } = await begin();
      const folder = folderOf();
      const path = join(folder, 'app.sock');
      const before = `fs.rmSync(${JSON.stringify(path)}, { force: true });`;
      await start('old', path, { before });
      await keeper.says('old', 'listens');
      const { pid } = await start('next', path, { before });
      await keeper.says('next', 'listens');
      await stop('old');
      expect(await ask({ socketPath: path })).toMatchObject({ pid });
      await stop('next');
      await keeper.call('release', { app: 'api' });
      expect(readdirSync(folder)).toEqual([]);
    });

    test('the Unix socket is bound as the user by the next instance if its folder was created again', async () => {
      const { keeper, start } = await begin();
      const parent = folderOf();
      const folder = join(parent, 'sockets');
      const path = join(folder, 'app.sock');
      const before = `fs.rmSync(${JSON.stringify(folder)}, { recursive: true, force: true });
      fs.mkdirSync(${JSON.stringify(folder)});`;
      await start('old', path, { before });
      await keeper.event('listening', 'old');
      await start('next', path, { before });
      await keeper.says('next', 'listens');
      expect(statSync(path)).toMatchObject({ uid: OTHER, gid: OTHER });
    });

    /**
     * Replaces the folder by a link to a folder of root, with a socket of the same name.
     * @returns {string}  The folder of root.
     */
    const exchange = (folder) => {
      const victim = folderOf({ uid: 0, mode: 0o700 });
      const socket = join(victim, 'app.sock');
      const server = createServer().listen(socket);
      onTestFinished(() => void server.close());
      linkSync(socket, join(victim, '.app.sock.nclust'));
      renameSync(folder, `${folder}.before`);
      symlinkSync(victim, folder);
      onTestFinished(() => rmSync(`${folder}.before`, { recursive: true }));
      return victim;
    };

    test('the Unix socket is not removed through a link to a socket of root', async () => {
      const { keeper, start, stop } = await begin();
      const folder = folderOf();
      await start('one', join(folder, 'app.sock'));
      await keeper.says('one', 'listens');
      await stop('one');
      const victim = exchange(folder);
      await keeper.call('release', { app: 'api' });
      expect(readdirSync(victim).sort()).toEqual(['.app.sock.nclust', 'app.sock']);
    });

    test('the next keeper knows the user of the Unix socket', async () => {
      const { keeper: first, start } = await begin();
      const folder = folderOf();
      await start('one', join(folder, 'app.sock'));
      const { data, handle } = await waitFor('the socket', () => first.events.find((one) => one.event === 'listener'));
      const orphans = (await first.call('snapshot')).children;
      await first.kill();
      const second = await realKeeper({ home: first.home, adopt: orphans, isOpen: true });
      await second.call('inherit', data, handle);
      const victim = exchange(folder);
      await second.call('release', { app: 'api' });
      expect(readdirSync(victim).sort()).toEqual(['.app.sock.nclust', 'app.sock']);
    });

    test('the Unix socket is taken over from an orphan by the next instance', async () => {
      const { keeper: first, start } = await begin();
      const path = join(folderOf(), 'app.sock');
      await start('one', path);
      await first.event('listening', 'one');
      const orphans = (await first.call('snapshot')).children;
      await first.kill();
      const second = await realKeeper({ home: first.home, adopt: orphans, isOpen: true });
      const { pid } = await second.spawnNode('two', 'runs-code', {
        mode,
        cwd: '/',
        ...OWNER,
        env: { CODE: `http.createServer(answer).listen(${JSON.stringify(path)}, () => say('listens'));` },
      });
      await second.says('two', 'listens');
      expect(statSync(path)).toMatchObject({ uid: OTHER, gid: OTHER });
      expect(await ask({ socketPath: path })).toMatchObject({ pid });
    });

    test('the Unix socket belongs to the user who claims it next if the app ran as root before', async () => {
      const { keeper, start, stop } = await begin();
      const folder = folderOf();
      const path = join(folder, 'app.sock');
      await start('root', path, { uid: undefined, gid: undefined });
      await keeper.says('root', 'listens');
      await start('other', path);
      await keeper.says('other', 'listens');
      await stop('root');
      await stop('other');
      const victim = exchange(folder);
      await keeper.call('release', { app: 'api' });
      expect(readdirSync(victim).sort()).toEqual(['.app.sock.nclust', 'app.sock']);
    });
  },
);

test.runIf(process.getuid?.() === 0).each([
  ['a path', 'EACCES', { address: 'PATH', port: -1, addressType: -1 }],
  ['a path that is not a string', 'EINVAL', { address: ['PATH'], port: -1, addressType: -1 }],
  ['a descriptor of the keeper', 'EBADF', { address: null, port: 0, addressType: 4, fd: 0 }],
])('a worker of another user cannot get %s through node:cluster', async (_what, code, query) => {
  const keeper = await realKeeper({ isOpen: true, isHostile: true });
  const folder = folderOf({ uid: 0 });
  const text = JSON.stringify({ cmd: 'NODE_CLUSTER', act: 'queryServer', index: 0, seq: 77, flags: 0, ...query });
  await keeper.spawnNode('one', 'runs-code', {
    cwd: '/',
    ...OWNER,
    env: {
      CODE: `
    process.on('internalMessage', (message, handle) => {
      if (message.ack === 77) say(require('node:util').getSystemErrorName(message.errno), Boolean(handle));
    });
    process.send(${text.replace('PATH', join(folder, 'evil.sock'))});
    setInterval(() => {}, 1_000);`,
    },
  });
  await keeper.says('one', `${code} false`);
  expect(readdirSync(folder)).toEqual([]);
});

describe.runIf(process.getuid?.() === 0)('the standard streams of an app with another user', () => {
  test.each(['cluster', 'fork'])('%s: the standard streams can be opened by name in a Node program', async (mode) => {
    const keeper = await realKeeper({ isOpen: true });
    await keeper.spawnNode('one', 'runs-code', {
      mode,
      cwd: '/',
      ...OWNER,
      env: {
        CODE: `
      const fs = require('node:fs');
      for (const name of ['stdout', 'stderr']) fs.writeSync(fs.openSync('/dev/' + name, 'w'), name + ' is open\\n');`,
      },
    });
    await keeper.says('one', 'stdout is open');
    await keeper.says('one', 'stderr is open');
  });

  test('exec: the standard streams can be opened by name in a shell', async () => {
    const keeper = await realKeeper({ isOpen: true });
    const script = 'exec < /dev/stdin; echo out > /dev/stdout; echo err > /dev/stderr; echo input is open >&2';
    await keeper.spawn('one', { file: '/bin/sh', args: ['-c', script], cwd: '/', ...OWNER });
    for (const text of ['out\n', 'err\n', 'input is open']) await keeper.says('one', text);
  });

  test('the pipes of an app with another user are not used again, because that user may have them open', async () => {
    const keeper = await realKeeper({ isOpen: true });
    const { outPipe, errPipe } = await keeper.spawn('one', { file: '/bin/true', cwd: '/', ...OWNER });
    await keeper.event('gone', 'one');
    expect([outPipe, errPipe].map((pipe) => statSync(pipe).uid)).toEqual([OTHER, OTHER]);
    await keeper.call('forget', { instanceId: 'one' });
    expect([outPipe, errPipe].filter((pipe) => existsSync(pipe))).toEqual([]);
  });
});
