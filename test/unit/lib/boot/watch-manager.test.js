import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { superviseManager } from '../../../../lib/boot/watch-manager.js';
import { homePaths } from '../../../../lib/shared/paths.js';
import { waitFor } from '../../../helpers/wait-for.js';

let paths;
beforeEach(() => {
  const home = mkdtempSync(join(tmpdir(), 'nclust-attend-'));
  paths = homePaths(home);
  mkdirSync(paths.run);
  return () => rmSync(home, { recursive: true, force: true });
});

async function listen(path, onSocket) {
  const sockets = new Set();
  const server = createServer((socket) => {
    sockets.add(
      socket
        .on('error', () => {})
        .on('close', () => sockets.delete(socket))
        .resume(),
    );
    onSocket(socket);
  });
  await new Promise((resolve) => {
    server.listen(path, () => resolve(undefined));
  });
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
}

const keeper = (onSocket) => listen(join(paths.run, 'keeper.1.sock'), onSocket);
const control = (onSocket) => listen(paths.sock, onSocket);
const greet = (socket) =>
  void socket.write('{"v":1,"keeper":{"pid":1234}}\n{"v":1,"event":"control-ready","pid":5678}\n');
const answer = (slots) => (socket) =>
  void socket.write(`${JSON.stringify({ jsonrpc: '2.0', id: 1, result: { slots } })}\n`);

function attended(watchdogMs) {
  const over = new AbortController();
  const said = [];
  const ended = [];
  const notifier = {
    watchdogMs,
    send: (...fields) => void said.push(...fields),
    sent: async () => {},
  };
  const done = superviseManager({
    paths,
    notifier,
    keeperPid: () => 1234,
    endHung: (pid, what) => void ended.push(`${what} ${pid}`),
    signal: over.signal,
  });
  const end = () => {
    over.abort();
    return done;
  };
  onTestFinished(end);
  return { said, ended, end };
}

test('systemd is notified at the interval it asked for while keeper and control answer', async () => {
  await keeper(greet);
  await control(answer([{ status: 'online', restarts: 0 }]));
  const { said, ended } = attended(100);
  await waitFor('pings', () => said.filter((field) => field === 'WATCHDOG=1').length >= 3);
  expect(said.slice(0, 3)).toEqual(['READY=1', 'STATUS=1 of 1 instances are up', 'WATCHDOG=1']);
  expect(ended).toEqual([]);
});

test.each([
  ['control', () => Promise.all([keeper(greet), control(() => {})]), 'control 5678'],
  ['the keeper', () => Promise.all([keeper(() => {}), control(answer([]))]), 'keeper 1234'],
])(
  '%s that does not answer while the other process does is killed, and systemd is not notified',
  async (_, begin, who) => {
    await begin();
    const { said, ended } = attended(200);
    await waitFor('its end', () => ended.length > 0);
    expect(ended[0]).toBe(who);
    expect(said).toEqual([]);
  },
);

test('probes without an answer do not stop the watch, even after a garbage collection', async () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc');
  let [isSilent, looks] = [false, 0];
  await keeper((socket) => {
    looks += 1;
    if (isSilent) collect();
    else greet(socket);
  });
  await control((socket) => {
    if (!isSilent) answer([])(socket);
  });
  const { said, ended } = attended(20);
  await waitFor('READY=1', () => said.includes('READY=1'));
  isSilent = true;
  const before = looks;
  await waitFor('50 looks', () => looks - before >= 50);
  isSilent = false;
  const count = said.length;
  await waitFor('the next ping', () => said.length > count);
  expect(ended).toEqual([]);
});

test('the watch stops in the middle of a probe', async () => {
  let looks = 0;
  await Promise.all([
    keeper(() => {
      looks += 1;
    }),
    control(() => {}),
  ]);
  const { end } = attended(600_000);
  await waitFor('a look', () => looks === 1);
  await end();
});
