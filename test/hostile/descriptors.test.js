// An app of another user sends descriptors of every kind over every descriptor that connects it to
// the manager. None of them may reach the manager: Node.js aborts at a file, and a connection with
// SO_LINGER blocks the process that closes it last.
import { once } from 'node:events';
import { chmodSync, cpSync, existsSync, readFileSync, symlinkSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { describe, expect, onTestFinished, test } from 'vitest';
import { fixturePath } from '../helpers/fixtures.js';
import { countDescriptors } from '../helpers/footprint.js';
import { openInstallation } from '../helpers/installation.js';
import { isRoot, NOBODY, userFolders } from '../helpers/other-user.js';
import { takePort } from '../helpers/ports.js';
import { sandbox } from '../helpers/sandbox.js';
import { slowdown } from '../helpers/wait-for.js';

const ANSWER_MS = 1_000;
const TEST_MS = 120_000;
const PYTHON = ['/usr/bin/python3', '/usr/local/bin/python3'].find((path) => existsSync(path));
const KINDS = [
  'null',
  'file',
  'directory',
  'epoll',
  'eventfd',
  'memfd',
  'pty',
  'seqpacket',
  'dgram',
  'stream',
  'pipe',
  'udp',
  'tcp',
  'lingering',
  'path',
];

const of = (result, kinds = KINDS) => Object.fromEntries(kinds.map((kind) => [kind, result]));
/** By descriptor: what the system answers. */
const NODE = { 0: 'ENOTSOCK', 1: 'ENOTSOCK', 2: 'ENOTSOCK', 3: 'EPIPE', 4: 'ENOTSOCK' };
const MODES = {
  cluster: { script: 'starts-python.js', flags: ['-i', '1'], results: NODE },
  fork: { script: 'starts-python.js', flags: [], results: NODE },
  // nclust gives Python no channel, so the interpreter has another name. A TCP connection takes the
  // bytes, and ignores the descriptors.
  'another program': {
    script: 'sends-descriptors.py',
    flags: ['--interpreter', './snake'],
    results: { 0: 'ENOTSOCK', 1: 'ENOTSOCK', 2: 'ENOTSOCK', 3: 'sent' },
  },
};

async function openHome() {
  const home = await sandbox({ isHostile: true, bin: openInstallation() });
  chmodSync(join(home.work, '..'), 0o755);
  return home;
}

/** Accepts one connection, and reads nothing from it. */
async function openSilentPeer() {
  const server = createServer({ pauseOnConnect: true }).listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  const connection = once(server, 'connection');
  await once(server, 'listening');
  return {
    port: String(server.address().port),
    async connected() {
      const [socket] = await connection;
      onTestFinished(() => void socket.destroy());
    },
  };
}

describe.runIf(isRoot && PYTHON).each(Object.entries(MODES))('%s', (_mode, { script, flags, results }) => {
  const attack = async (env) => {
    const { own, plant } = userFolders();
    const home = await openHome();
    const app = await home.app('http-echo', { name: 'good' });
    const before = await home.daemon();
    const countAll = () => countDescriptors(before.keeperPid) + countDescriptors(before.controlPid);
    const wire = await home.wire();
    await wire.request('list', {});
    const descriptors = countAll();

    for (const name of ['starts-python.js', 'sends-descriptors.py'])
      plant(name, (path) => cpSync(fixturePath(name), path));
    plant('snake', (path) => symlinkSync(PYTHON ?? '', path));
    const words = ['start', join(own, script), '--name', 'bad', '--cwd', own, '--no-autorestart', '--no-wait'];
    const started = await home.nclust(...words, '--uid', String(NOBODY.uid), '--gid', String(NOBODY.gid), ...flags, {
      cwd: own,
      env: { PYTHON, SCRIPT: join(own, 'sends-descriptors.py'), ...env },
    });
    expect(started, started.stderr).toMatchObject({ exitStatus: 0 });

    let slowestMs = 0;
    const answers = async () => {
      const startedMono = performance.now();
      await wire.request('list', { targets: ['good'], detail: true });
      expect((await fetch(app.url)).status).toBe(200);
      slowestMs = Math.max(slowestMs, performance.now() - startedMono);
    };
    const most = { descriptors: 0 };
    await home.waitFor(
      'all descriptors to be sent',
      async () => {
        await answers();
        most.descriptors = Math.max(most.descriptors, countAll() - descriptors);
        return existsSync(join(own, 'sent'));
      },
      { deadlineMs: TEST_MS / 2 },
    );
    const sent = JSON.parse(readFileSync(join(own, 'sent'), 'utf8'));
    for (const command of ['restart', 'delete']) {
      const { exitStatus, stderr } = await home.nclust(command, 'bad', '--no-wait', { timeoutMs: 20_000 });
      expect(exitStatus, stderr).toBe(0);
      await answers();
    }
    await home.waitFor('the descriptors of the app to be closed', () => {
      expect(countAll() - descriptors).toBeLessThanOrEqual(0);
      return true;
    });
    const { keeperPid, controlPid } = await home.daemon();
    expect([keeperPid, controlPid]).toEqual([before.keeperPid, before.controlPid]);
    expect(slowestMs).toBeLessThan(ANSWER_MS * slowdown());
    return { sent, most };
  };

  test('descriptors of every kind do not reach the manager', { timeout: TEST_MS * slowdown() }, async () => {
    const { sent } = await attack({});
    expect(sent).toEqual(Object.fromEntries(Object.entries(results).map(([fd, result]) => [fd, of(result)])));
  });

  test('25,000 descriptors do not fill the manager', { timeout: TEST_MS * slowdown() }, async () => {
    const { most } = await attack({ KINDS: 'seqpacket', COUNT: '25000' });
    expect(most.descriptors).toBeLessThan(30);
  });
});

describe.runIf(isRoot && PYTHON).each([
  ['TCP', false],
  ['Unix', true],
])('the %s socket that an app shares with the manager', (_kind, isPath) => {
  test('a shared socket does not block the manager when it is closed', { timeout: TEST_MS * slowdown() }, async () => {
    const { own, plant } = userFolders();
    const peer = await openSilentPeer();
    const home = await openHome();
    for (const name of ['shares-its-socket.js', 'makes-socket-linger.py'])
      plant(name, (path) => cpSync(fixturePath(name), path));
    const words = ['start', join(own, 'shares-its-socket.js'), '--name', 'bad', '-i', '1', '--cwd', own, '--no-wait'];
    const user = ['--uid', String(NOBODY.uid), '--gid', String(NOBODY.gid), '--restart-delay', '60s'];
    const started = await home.nclust(...words, ...user, {
      env: {
        PYTHON,
        SCRIPT: join(own, 'makes-socket-linger.py'),
        PEER: peer.port,
        PORT: String(await takePort()),
        ...(isPath ? { SOCKET_PATH: join(own, 'app.sock') } : {}),
      },
    });
    expect(started, started.stderr).toMatchObject({ exitStatus: 0 });
    await peer.connected();
    // The manager has the last copies of the socket, and keeps them for the next instance.
    await home.waitFor('the app to die', async () => (await home.list())[0].status === 'waiting restart');
    expect(existsSync(join(own, 'sent'))).toBe(true);
    const before = await home.daemon();
    const wire = await home.wire();
    const descriptors = countDescriptors(before.keeperPid) + countDescriptors(before.controlPid);

    for (const command of ['stop', 'delete']) {
      const { exitStatus, stderr } = await home.nclust(command, 'bad', { timeoutMs: 20_000 });
      expect(exitStatus, stderr).toBe(0);
    }
    let slowestMs = 0;
    await home.waitFor('the socket to be closed', async () => {
      const startedMono = performance.now();
      await wire.request('list', {});
      slowestMs = Math.max(slowestMs, performance.now() - startedMono);
      return countDescriptors(before.keeperPid) + countDescriptors(before.controlPid) < descriptors;
    });
    expect(await home.daemon()).toMatchObject(before);
    expect(slowestMs).toBeLessThan(ANSWER_MS * slowdown());
  });
});

test.runIf(isRoot && PYTHON)(
  'the connection of a program without the agent does not block the manager when it is closed',
  { timeout: TEST_MS * slowdown() },
  async () => {
    const { own, plant } = userFolders();
    const peer = await openSilentPeer();
    const home = await openHome();
    await home.app('http-echo', { name: 'good' });
    plant('moves.py', (path) => cpSync(fixturePath('moves-its-channel.py'), path));
    plant('snake', (path) => symlinkSync(PYTHON ?? '', path));
    const words = ['start', join(own, 'moves.py'), '--name', 'bad', '--cwd', own, '--no-autorestart', '--no-wait'];
    const user = ['--uid', String(NOBODY.uid), '--gid', String(NOBODY.gid), '--interpreter', './snake'];
    const started = await home.nclust(...words, ...user, { cwd: own, env: { PEER: peer.port } });
    expect(started, started.stderr).toMatchObject({ exitStatus: 0 });
    await peer.connected();
    const { exitStatus, stderr, durationMs } = await home.nclust('restart', 'good', { timeoutMs: 30_000 });
    expect(exitStatus, stderr).toBe(0);
    expect(durationMs).toBeLessThan(5_000 * slowdown());
  },
);
