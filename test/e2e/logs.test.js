import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { sandbox } from '../helpers/sandbox.js';

const LINES = 20_000;

const linesOf = (file) => (existsSync(file) ? readFileSync(file, 'utf8').split('\n').filter(Boolean) : []);

const expected = (name, count = LINES, step = 1) =>
  Array.from({ length: count / step }, (_, i) => `floods-stdout ${name} ${(i + 1) * step}`);

/** The most bytes that control reads at once: the size of a pipe. */
const READ_BYTES = 64 * 1024;
const bytesOf = (lines) => lines.reduce((sum, line) => sum + line.length + 1, 0);

describe('logs lose no line', () => {
  test.each(['exit', 'throw', 'kill', 'nothing'])('the log loses no line when the app ends with: %s', async (end) => {
    const home = await sandbox();
    await home.nclust('start', home.place('floods-stdout'), '--no-wait', '--no-autorestart', {
      env: { LINES: String(LINES), END: end },
    });
    const slot = await home.waitFor(
      'the app to be listed as stopped',
      async () => (await home.list()).find((one) => one.status === 'stopped'),
      { deadlineMs: 30_000 },
    );

    expect(linesOf(slot.outFile)).toEqual(expected('out'));
    expect(linesOf(slot.errorFile).filter((line) => line.startsWith('floods-stdout'))).toEqual(
      expected('err', LINES, 10),
    );
    if (end === 'throw') expect(readFileSync(slot.errorFile, 'utf8')).toContain('floods-stdout is done');
  });

  test('SIGKILL of control while the app writes loses at most the bytes that control had not yet written', async () => {
    const home = await sandbox();
    await home.nclust('start', home.place('floods-stdout'), '--no-wait', '--no-autorestart', {
      env: { LINES: '200000', END: 'exit' },
    });
    const [{ outFile }] = await home.list();
    const kills = [100, 40_000, 90_000];
    for (const at of kills) {
      await home.waitFor(`${at} lines`, () => linesOf(outFile).length > at, { deadlineMs: 30_000 });
      const { controlPid } = await home.daemon();
      process.kill(controlPid, 'SIGKILL');
      await home.waitFor('the next control', async () => (await home.daemon()).controlPid !== controlPid);
    }
    await home.waitFor(
      'the app to be listed as stopped',
      async () => (await home.list()).find((one) => one.status === 'stopped'),
      {
        deadlineMs: 30_000,
      },
    );
    // docs/logs.md promises this: a death of control loses at most the bytes of one read, and may
    // cut a line.
    const written = expected('out', 200_000);
    const place = new Map(written.map((line, at) => [line, at]));
    const lines = linesOf(outFile);
    const whole = lines.flatMap((line) => place.get(line) ?? []);
    expect(lines.length - whole.length).toBeLessThanOrEqual(kills.length);
    expect(whole.filter((at, nth) => nth > 0 && at <= whole[nth - 1])).toEqual([]);
    expect(bytesOf(written) - bytesOf(lines)).toBeLessThanOrEqual(kills.length * READ_BYTES);
  });
});

test('each instance of a cluster has its own files; a fork app has one pair without number', async () => {
  const home = await sandbox();
  const cluster = await home.app('http-echo', { name: 'many', instances: 2 });
  const fork = await home.app('http-echo', { name: 'one' });
  expect((await cluster.instances()).map((slot) => slot.outFile)).toEqual([
    `${home.home}/logs/many-out-0.log`,
    `${home.home}/logs/many-out-1.log`,
  ]);
  expect((await fork.instances()).map((slot) => [slot.outFile, slot.errorFile])).toEqual([
    [`${home.home}/logs/one-out.log`, `${home.home}/logs/one-error.log`],
  ]);
  for (const slot of await home.list())
    await home.waitFor(`the log of ${slot.name}`, () =>
      linesOf(slot.outFile).some((line) => line.includes(`http-echo ${slot.pid} listens`)),
    );
});

test('logs shows the last lines of both streams or of one', async () => {
  const home = await sandbox();
  await home.nclust('start', home.place('floods-stdout'), '--no-wait', '--no-autorestart', { env: { LINES: '1000' } });
  await home.waitFor('the app to be listed as stopped', async () =>
    (await home.list()).find((one) => one.status === 'stopped'),
  );

  const out = await home.nclust('logs', 'floods-stdout', '--nostream', '--raw', '--out', '--lines', '3');
  expect(out).toMatchObject({
    exitStatus: 0,
    stdout: 'floods-stdout out 998\nfloods-stdout out 999\nfloods-stdout out 1000\n',
  });
  const err = await home.nclust('logs', 'floods-stdout', '--nostream', '--raw', '--err', '--lines', '2');
  expect(err.stdout).toBe('floods-stdout err 990\nfloods-stdout err 1000\n');
  const named = await home.nclust('logs', '--nostream', '--lines', '2');
  expect(named.stdout).toMatch(/floods-stdout/);
  const json = await home.nclust('logs', 'floods-stdout', '--nostream', '--json', '--out', '--lines', '1');
  expect(JSON.parse(json.stdout.trim().split('\n').at(-1) ?? '')).toMatchObject({});
});

test('logs follows new lines across a restart and a kill of control', async () => {
  const home = await sandbox();
  const app = await home.app('http-echo');
  const following = home.follow('logs', app.name, '--raw', '--lines', '1');
  const [first] = await app.pids();
  await home.waitFor('the last line of the first process', () =>
    following.stdout().includes(`http-echo ${first} listens`),
  );
  await home.nclust('restart', app.name);
  const [second] = await app.pids();
  await home.waitFor('the line of the second process', () =>
    following.stdout().includes(`http-echo ${second} listens`),
  );
  const { controlPid } = await home.daemon();
  process.kill(controlPid, 'SIGKILL');
  await home.waitFor('the next control', async () => (await home.daemon()).controlPid !== controlPid);
  await home.nclust('restart', app.name);
  const [third] = await app.pids();
  await home.waitFor('the line of the third process', () => following.stdout().includes(`http-echo ${third} listens`));
  following.child.kill('SIGINT');
  const result = await following.done;
  expect(result.signal === 'SIGINT' || result.exitStatus === 0 || result.exitStatus === 130).toBe(true);
});
