import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { runAsUser, runAsUserSync } from '../../../../../lib/shared/host/run-as-user.js';
import { isRoot, NOBODY } from '../../../../helpers/other-user.js';
import { isRunning, killIfThere } from '../../../../helpers/processes.js';
import { waitFor } from '../../../../helpers/wait-for.js';

const SELF = { uid: null, gid: null };
const LIMITS = { env: { PATH: process.env.PATH }, timeoutMs: 20_000, maxBytes: 1_000 };

let pidFile;

beforeEach(() => {
  const folder = mkdtempSync(join(tmpdir(), 'nclust-as-user-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  pidFile = join(folder, 'pid');
  writeFileSync(pidFile, '');
});

const VARIANTS = { runAsUser, runAsUserSync: async (...args) => runAsUserSync(...args) };

/** Fails the test if the process of `pidFile` does not exit. */
async function expectGone() {
  const pid = Number(readFileSync(pidFile, 'utf8'));
  expect(pid).toBeGreaterThan(1);
  onTestFinished(() => killIfThere(pid));
  await waitFor('the end of the child', () => !isRunning(pid));
}

test('a program ends with the process that has started it', async () => {
  const module = new URL('../../../../../lib/shared/host/run-as-user.js', import.meta.url);
  const code = `
    const { runAsUser } = await import('${module}');
    const script = 'echo $$ > ${pidFile}; exec sleep 1000';
    runAsUser({ uid: null, gid: null }, '/bin/sh', ['-c', script], { env: {}, timeoutMs: 60_000, maxBytes: 1 });
    const { readFileSync } = await import('node:fs');
    const look = () => (readFileSync('${pidFile}', 'utf8').endsWith('\\n') ? process.exit(0) : setImmediate(look));
    look();`;
  execFileSync(process.execPath, ['--input-type=module', '--eval', code]);
  await expectGone();
});

describe.each(Object.entries(VARIANTS))('%s', (_name, start) => {
  const run = (owner, script, limits) => start(owner, '/bin/sh', ['-c', script], { ...LIMITS, ...limits });

  test('the function returns the exit code and the output', async () => {
    const { output, ...outcome } = await run(SELF, 'echo out; echo err >&2; exit 3');
    expect([output.toString(), outcome]).toEqual(['out\n', { code: 3, signal: null, exceeded: null }]);
    expect(await run(SELF, 'kill -9 $$')).toMatchObject({ code: null, signal: 'SIGKILL', exceeded: null });
  });

  test('the function gives the program a session of its own, the folder "/", and no other variables', async () => {
    const { output } = await run(SELF, 'echo $$ $(cut -d" " -f5,6,7 /proc/$$/stat) $(pwd); env | grep TEST');
    const [pid] = output.toString().split(' ');
    expect(output.toString()).toBe(`${pid} ${pid} ${pid} 0 /\n`);
  });

  test.runIf(isRoot)('the function gives the program the user and the group, and no other groups', async () => {
    const { output } = await run(NOBODY, 'id -u; id -g; id -G');
    expect(output.toString()).toBe('65534\n65534\n65534\n');
    expect((await run({ uid: 65_534, gid: null }, 'id -g; id -G')).output.toString()).toBe('65534\n65534\n');
  });

  test('the function kills what a program that has exited leaves behind', async () => {
    const { output } = await run(SELF, `sleep 1000 > /dev/null & echo $! > ${pidFile}; echo done`);
    expect(output.toString()).toBe('done\n');
    await expectGone();
  });

  test('the function kills a program that takes too long, with its children', async () => {
    const script = `sleep 1000 & echo $! > ${pidFile}; wait`;
    expect(await run(SELF, script, { timeoutMs: 500 })).toMatchObject({ code: null, exceeded: 'time' });
    await expectGone();
  });

  test('the function kills a program that writes too much, with its children', async () => {
    const script = `sleep 1000 & echo $! > ${pidFile}; yes`;
    expect(await run(SELF, script)).toMatchObject({ code: null, exceeded: 'bytes' });
    await expectGone();
  });

  test('the function does not wait for a process that has left the group and keeps the output open', async () => {
    const script = `setsid sh -c 'echo $$ > ${pidFile}; exec sleep 1000' & until [ -s ${pidFile} ]; do :; done`;
    expect(await run(SELF, script, { timeoutMs: 500 })).toMatchObject({ exceeded: 'time' });
    const pid = Number(readFileSync(pidFile, 'utf8'));
    expect(isRunning(pid)).toBe(true);
    killIfThere(pid);
  });

  test.runIf(isRoot)('the function returns all output of a user, and throws if the program is missing', async () => {
    const limits = { ...LIMITS, maxBytes: 1_000_000 };
    expect((await run(NOBODY, 'head -c 300000 /dev/zero; exit 3', limits)).output).toHaveLength(300_000);
    expect(await run(NOBODY, 'yes')).toMatchObject({ code: null, exceeded: 'bytes' });
    await expect(start(NOBODY, '/no/such', [], LIMITS)).rejects.toMatchObject({ code: 'ENOENT' });
  });

  test('the function throws if the program is missing', async () => {
    await expect(start(SELF, '/no/such', [], LIMITS)).rejects.toMatchObject({ code: 'ENOENT' });
  });
});

test.runIf(isRoot)('a program of another user gets no socket, over which it could send a descriptor', async () => {
  const { output } = await runAsUser(
    NOBODY,
    '/bin/sh',
    ['-c', 'for one in 0 1 2; do readlink /proc/$$/fd/$one; done'],
    LIMITS,
  );
  expect(output.toString()).toMatch(/^\/dev\/null\n\/.*\/pipe \(deleted\)\n\/dev\/null\n$/);
});
