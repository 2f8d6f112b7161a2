import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync, unlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { connectKeeper } from '../../../../lib/boot/probe-manager.js';
import { connectOnly, connectOrLaunch } from '../../../../lib/client/connect.js';
import { tryConnect } from '../../../../lib/client/try-connect.js';
import { isRoot, NOBODY } from '../../../helpers/other-user.js';

let home;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'nclust-launch-'));
  mkdirSync(join(home, 'run'));
});

let closers = [];
const cleanUp = () =>
  onTestFinished(async () => {
    for (const close of closers.splice(0)) await close();
    closers = [];
    rmSync(home, { recursive: true, force: true });
  });

/** @param {string} name */
async function listen(name, onSocket = () => {}) {
  const server = createServer((socket) => {
    closers.push(() => socket.destroy());
    socket.on('error', () => {});
    onSocket(socket);
  });
  await new Promise((resolve) => {
    server.listen(join(home, name), () => resolve(undefined));
  });
  closers.push(
    () =>
      new Promise((resolve) => {
        server.close(resolve);
      }),
  );
  return server;
}

/** Starts a listener and stops its process, so that connections wait in its queue. */
async function stoppedListener({ backlog = 511 } = {}) {
  const path = join(home, 'nclust.sock');
  const child = spawn(
    process.execPath,
    ['-e', `require('net').createServer().listen(${JSON.stringify({ path, backlog })}, () => process.send('listens'))`],
    { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] },
  );
  onTestFinished(() => void child.kill('SIGKILL'));
  await once(child, 'message');
  process.kill(child.pid ?? 0, 'SIGSTOP');
  const exited = once(child, 'exit');
  // killNow() blocks this process, so its connection stays in the queue until the listener is dead.
  // A zombie with other running threads ("l") is not dead, because it still holds its socket.
  const isOver = `case "$(ps -o stat= -p ${child.pid})" in *l*) false;; Z*) true;; *) false;; esac`;
  return {
    path,
    exited,
    killNow: () => execFileSync('sh', ['-c', `kill -9 ${child.pid}; until ${isOver}; do :; done`]),
  };
}

test('a listener that dies before it accepts the connection counts as not running, not as an error', async () => {
  cleanUp();
  const listener = await stoppedListener();
  const answer = tryConnect(listener.path, AbortSignal.timeout(5_000));
  listener.killNow();
  expect(await answer).toBeNull();
  await listener.exited;
});

// Runs only on Linux, because on other systems a full queue refuses connections.
test.runIf(process.platform === 'linux')(
  'a full queue of connections does not hide the abort of the caller',
  async () => {
    cleanUp();
    const listener = await stoppedListener({ backlog: 1 });
    /** @type {import('node:net').Socket[]} */
    const queued = [];
    for (;;) {
      const socket = await tryConnect(listener.path, AbortSignal.timeout(5_000));
      if (socket === 'busy') break;
      if (socket) queued.push(socket);
    }
    const reason = new Error('the caller has no more time');
    await expect(connectOnly(home, AbortSignal.timeout(200))).rejects.toMatchObject({ name: 'TimeoutError' });
    await expect(tryConnect(listener.path, AbortSignal.abort(reason))).rejects.toBe(reason);
    for (const socket of queued) socket.on('error', () => {}).destroy();
    listener.killNow();
    await listener.exited;
  },
);

const saying =
  (...lines) =>
  (socket) =>
    socket.write(lines.map((line) => `${JSON.stringify({ v: 1, ...line })}\n`).join(''));

const KEEPER = { keeper: { pid: 1, version: '0.1.0', protocol: 1 } };

describe('connectOnly', () => {
  test('connectOnly finds control', async () => {
    cleanUp();
    await listen('nclust.sock');
    const socket = await connectOnly(home);
    expect(socket).not.toBeNull();
    socket?.destroy();
  });

  test.each([
    ['an empty home', () => {}],
    ['no home', () => rmSync(home, { recursive: true })],
    [
      'a home with a socket of a dead keeper',
      async () => {
        writeFileSync(join(home, 'run', 'keeper.3.left'), '');
      },
    ],
    [
      'a home with a plain file in place of the socket',
      async () => {
        writeFileSync(join(home, 'run', 'keeper.3.sock'), '');
      },
    ],
  ])('connectOnly finds no manager in %s, and changes nothing', async (_, prepare) => {
    cleanUp();
    await prepare();
    expect(await connectOnly(home)).toBeNull();
  });

  test.each([
    ['a folder above the home', 'folder', 'folder/home'],
    ['the home', 'home', 'home'],
  ])('connectOnly sends nothing to a socket if all may write to %s, and names what to close', async (_, open, at) => {
    cleanUp();
    const exposed = join(home, open);
    mkdirSync(join(home, at, 'run'), { recursive: true });
    chmodSync(exposed, 0o777);
    let connections = 0;
    for (const name of ['nclust.sock', 'run/keeper.1.sock']) await listen(join(at, name), () => (connections += 1));
    await expect(connectOnly(join(home, at))).rejects.toMatchObject({
      code: 'ERR_NCLUST_HOME_EXPOSED',
      hint: expect.stringContaining(`chmod o-w "${exposed}"`),
      data: { folder: exposed },
    });
    chmodSync(exposed, 0o755);
    (await connectOnly(join(home, at)))?.destroy();
    expect(connections).toBe(1);
  });

  test.runIf(isRoot)('connectOnly connects root to the manager of another user', async () => {
    cleanUp();
    await listen('nclust.sock');
    chownSync(home, NOBODY.uid, NOBODY.gid);
    const socket = await connectOnly(home);
    expect(socket).not.toBeNull();
    socket?.destroy();
  });

  test('connectOnly finds no manager without a home, even in a folder that every user may write to', async () => {
    cleanUp();
    chmodSync(home, 0o777);
    expect(await connectOnly(join(home, 'missing'))).toBeNull();
  });

  test('connectOnly waits while the keeper restarts control, through failed boots', async () => {
    cleanUp();
    await listen('run/keeper.2.sock', async (socket) => {
      saying(KEEPER, { event: 'control-failed', message: 'disk full' })(socket);
      await listen('nclust.sock');
      saying({ event: 'control-ready', pid: 3 })(socket);
    });
    const socket = await connectOnly(home);
    expect(socket).not.toBeNull();
    socket?.destroy();
  });

  test('connectOnly finds no manager if the keeper exits while it waits', async () => {
    cleanUp();
    await listen('run/keeper.2.sock', (socket) => {
      unlinkSync(join(home, 'run', 'keeper.2.sock'));
      socket.end(`${JSON.stringify({ v: 1, ...KEEPER })}\n`);
    });
    expect(await connectOnly(home)).toBeNull();
  });

  test('connectOnly connects only to the keeper socket with the highest number', async () => {
    cleanUp();
    let knocks = 0;
    await listen('run/keeper.9.sock', () => (knocks += 1));
    await listen('run/keeper.10.sock', async (socket) => {
      await listen('nclust.sock');
      saying(KEEPER, { event: 'control-ready', pid: 3 })(socket);
    });
    (await connectOnly(home))?.destroy();
    expect(knocks).toBe(0);
  });

  test('connectOnly ignores a socket that sends garbage', async () => {
    cleanUp();
    await listen('run/keeper.1.sock', async (socket) => {
      socket.write('hello?\nnull\n[]\n');
      await listen('nclust.sock');
      saying({ event: 'control-ready' })(socket);
    });
    const socket = await connectOnly(home);
    expect(socket).not.toBeNull();
    socket?.destroy();
  });
});

describe('connectOrLaunch', () => {
  test('connectOrLaunch connects to the running control', async () => {
    cleanUp();
    await listen('nclust.sock');
    (await connectOrLaunch(home)).destroy();
  });

  test('connectOrLaunch waits at the socket of a keeper whose control is still starting', async () => {
    cleanUp();
    await listen('run/keeper.1.sock', async (socket) => {
      await listen('nclust.sock');
      saying(KEEPER, { event: 'control-ready', pid: 3 })(socket);
    });
    (await connectOrLaunch(home)).destroy();
  });

  test('connectOrLaunch refuses an unusable home before it starts a process', async () => {
    cleanUp();
    const file = join(home, 'file');
    writeFileSync(file, '');
    await expect(connectOrLaunch(file)).rejects.toMatchObject({ code: 'ERR_NCLUST_HOME_NOT_DIRECTORY' });
  });
});

test.runIf(process.platform === 'linux')(
  'the keeper of a home that was removed is named, but not visited',
  async () => {
    cleanUp();
    const code = "process.title = 'nclust keeper (home)'; process.send('up'); setInterval(() => {}, 1 << 30)";
    const keeper = spawn(process.execPath, ['-e', code], {
      env: { ...process.env, NCLUST_HOME: home },
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    });
    onTestFinished(() => void keeper.kill('SIGKILL'));
    await once(keeper, 'message');
    rmSync(home, { recursive: true });
    const failure = await connectOnly(home).catch((error) => error);
    expect(failure).toMatchObject({
      code: 'ERR_NCLUST_DAEMON_UNREACHABLE',
      message: expect.stringContaining(`was removed, so its manager (keeper ${keeper.pid})`),
      hint: expect.stringContaining(`mkdir -m 700 ${home}`),
    });
    // A process that watches the manager must not fail.
    expect(await connectKeeper(join(home, 'run'), AbortSignal.timeout(10_000))).toBe(null);
  },
);
