import { execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { fuzzFrames } from '../../helpers/fuzz.js';
import { residentBytes } from '../../helpers/processes.js';
import { sandbox } from '../../helpers/sandbox.js';
import { openWire } from '../../helpers/wire.js';

describe('a malformed message gets an error and does no harm', () => {
  test.each([
    ['garbage', 'hello?\n', -32700, true],
    ['JSON that is not an object', '[1,2]\n', -32600, false],
    ['another version of JSON-RPC', '{"jsonrpc":"1.0","id":1,"method":"hello"}\n', -32600, false],
    ['no method', '{"jsonrpc":"2.0","id":1}\n', -32600, false],
    ['an unknown method', '{"jsonrpc":"2.0","id":9,"method":"selfDestruct","params":{}}\n', -32601, false],
    [
      'parameters of the wrong type',
      '{"jsonrpc":"2.0","id":9,"method":"stop","params":{"targets":42}}\n',
      -32602,
      false,
    ],
    [
      'a spec with a wrong value',
      `${JSON.stringify({ jsonrpc: '2.0', id: 9, method: 'start', params: { token: 't', specs: [{ name: 5 }] } })}\n`,
      -32602,
      false,
    ],
  ])('a malformed message gets an error and does no harm: %s', async (_, bytes, code, closes) => {
    const home = await sandbox();
    await home.app('keeps-alive', { flags: ['--no-wait'] });
    const wire = await openWire(`${home.home}/nclust.sock`);
    wire.write(bytes);
    const answer = JSON.parse((await wire.nextLine()) ?? 'null');
    expect([code, -32000]).toContain(answer.error.code);
    if (answer.error.code === -32000) expect(answer.error.data.code).toMatch(/^ERR_NCLUST_BAD/);
    if (closes) await wire.closed;
    else expect(await wire.request('hello')).toMatchObject({ protocol: 1 });
    wire.close();
    expect(await home.list()).toHaveLength(1);
  });

  test('a line without an end is cut off before it fills the memory', async () => {
    const home = await sandbox();
    await home.app('keeps-alive', { flags: ['--no-wait'] });
    const { controlPid } = await home.daemon();
    const wire = await openWire(`${home.home}/nclust.sock`);
    const megabyte = Buffer.alloc(1 << 20, 'x');
    for (let i = 0; i < 12; i += 1) wire.write(megabyte);
    expect(JSON.parse((await wire.nextLine()) ?? '{}')).toMatchObject({ error: { code: expect.any(Number) } });
    await wire.closed;
    expect(residentBytes(controlPid)).toBeLessThan(200 * 2 ** 20);
    expect(await home.daemon()).toMatchObject({ controlPid });
  });
});

test('control survives 3,000 hostile frames without growing', async () => {
  const home = await sandbox();
  const app = await home.app('http-echo');
  const { controlPid } = await home.daemon();
  await fuzzFrames(`${home.home}/nclust.sock`, { frames: 1_000, seed: 1 });
  const before = residentBytes(controlPid);
  await fuzzFrames(`${home.home}/nclust.sock`, { frames: 2_000, seed: 2 });
  expect(residentBytes(controlPid) - before).toBeLessThan(30 * 2 ** 20);
  expect(await home.daemon()).toMatchObject({ controlPid });
  expect(await app.instances()).toMatchObject([{ status: 'online' }]);
});

test('a client that never reads is dropped, and control serves on', async () => {
  const home = await sandbox();
  await home.nclust('start', home.place('floods-stdout'), '--no-wait', '--no-autorestart', {
    env: { LINES: '400000' },
  });
  const { controlPid } = await home.daemon();
  const deaf = await home.wire();
  await deaf.request('logs', { follow: true, lines: 0 });
  deaf.stopReading();

  await home.waitFor('the flood to end', async () => (await home.list())[0].status === 'stopped', {
    deadlineMs: 40_000,
  });
  expect(residentBytes(controlPid)).toBeLessThan(250 * 2 ** 20);
  expect(await home.daemon()).toMatchObject({ controlPid });
});

test('control recovers after it ran out of file descriptors', async () => {
  const home = await sandbox();
  const app = await home.app('http-echo', { instances: 2 });
  const { controlPid } = await home.daemon();
  const used = Math.max(...readdirSync(`/proc/${controlPid}/fd`).map(Number)) + 1;
  const limit = (files) => execFileSync('prlimit', ['--pid', String(controlPid), `--nofile=${files}`]);

  limit(`${used}:4096`);
  const crowd = await Promise.allSettled(Array.from({ length: 20 }, () => openWire(`${home.home}/nclust.sock`)));
  const opened = crowd.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
  expect(await app.get()).toMatchObject({ pid: expect.any(Number) });
  for (const wire of opened) wire.close();
  limit('4096:4096');

  await home.waitFor('an answer', async () => (await home.list()).length === 2);
  expect(await home.nclust('restart', app.name)).toMatchObject({ exitStatus: 0 });
  expect(await app.instances()).toMatchObject([{ status: 'online' }, { status: 'online' }]);
});
