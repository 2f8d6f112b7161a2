import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { fixturePath } from '../../helpers/fixtures.js';
import { readStat } from '../../helpers/processes.js';
import { runProgram } from '../../helpers/run-program.js';
import { nodeUnderTest, sandbox } from '../../helpers/sandbox.js';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const RUNTIME = join(ROOT, 'bin/nclust-runtime');
const NCLUST = join(ROOT, 'bin/nclust.js');

/**
 * As in a container, the first process of a PID namespace gets only the signals that it handles,
 * and the kernel makes it the parent of every orphan.
 */
const OWN_NAMESPACE = ['--pid', '--fork', '--mount-proc', '--kill-child'];
const hasNamespaces = spawnSync('unshare', [...OWN_NAMESPACE, 'true']).status === 0;

const hasExecve =
  execFileSync(nodeUnderTest(), ['-p', 'typeof process.execve'], { encoding: 'utf8' }).trim() === 'function';

function asFirstProcess(home, command, { env = {}, input } = {}) {
  return runProgram('unshare', [...OWN_NAMESPACE, ...command], { env: { ...home.env, ...env }, cwd: home.work, input });
}

const runtime = (...words) => [RUNTIME, `--node=${nodeUnderTest()}`, ...words];

function childrenOf(parent) {
  return readdirSync('/proc')
    .filter((entry) => /^\d+$/.test(entry))
    .map(Number)
    .filter((pid) => readStat(pid)?.ppid === parent);
}

/** The first process of the namespace, as seen from outside. */
const firstProcess = (run) => childrenOf(run.child.pid ?? 0)[0];

describe.skipIf(!hasNamespaces)('the runtime as the first process of a container', () => {
  test.each([
    ['0', 0],
    ['5', 5],
    ['127', 127],
  ])('the runtime exits with the status of the app: %s', async (code, exitStatus) => {
    const home = await sandbox();
    expect(
      (
        await asFirstProcess(home, runtime(fixturePath('crashes-after'), '--no-autorestart'), { env: { CODE: code } })
          .done
      ).exitStatus,
    ).toBe(exitStatus);
  });

  test.each(['SIGTERM', 'SIGINT', 'SIGQUIT'])('the runtime stops the apps on %s and then exits', async (signal) => {
    const home = await sandbox();
    const run = asFirstProcess(home, runtime(fixturePath('names-the-signal')));
    await home.waitFor('the app to run', () => run.stdout().includes('is there'));
    process.kill(firstProcess(run), signal);
    const result = await run.done;
    expect(result.exitStatus).toBe(0);
    expect(result.stdout).toContain('got SIG');
  });

  test('the runtime exits on a signal that arrives before anything runs', async () => {
    const home = await sandbox();
    const programs = join(home.work, 'programs');
    mkdirSync(programs);
    // The signal comes from a fake readlink, because readlink is the first program that the runtime
    // calls.
    writeFileSync(join(programs, 'readlink'), '#!/bin/sh\nkill -s TERM 1\nPATH=/usr/bin:/bin exec readlink "$@"\n', {
      mode: 0o755,
    });
    const result = await asFirstProcess(home, runtime(fixturePath('names-the-signal')), {
      env: { PATH: `${programs}:${process.env.PATH}` },
    }).done;
    expect(result).toMatchObject({ exitStatus: 143, stdout: '', stderr: '' });
  });

  test.skipIf(hasExecve)('the runtime exits on a signal that arrives while it reads the config', async () => {
    const home = await sandbox();
    writeFileSync(
      join(home.work, 'app.config.cjs'),
      `process.kill(1, 'SIGTERM'); module.exports = { apps: [{ script: ` +
        `${JSON.stringify(fixturePath('names-the-signal'))} }] };`,
    );
    const result = await asFirstProcess(home, [nodeUnderTest(), NCLUST, 'run', 'app.config.cjs']).done;
    expect(result).toMatchObject({ exitStatus: 143, stdout: '', stderr: '' });
  });

  test('the runtime reloads on SIGHUP', async () => {
    const home = await sandbox();
    const run = asFirstProcess(home, runtime(fixturePath('names-the-signal')));
    await home.waitFor('the app to be online', async () =>
      (await home.list()).some(({ status }) => status === 'online'),
    );
    process.kill(firstProcess(run), 'SIGHUP');
    await home.waitFor('the new process', async () => run.stdout().match(/is there/g)?.length === 2);
    process.kill(firstProcess(run), 'SIGTERM');
    expect((await run.done).exitStatus).toBe(0);
  });

  test('the runtime reaps orphans that have exited', async () => {
    const home = await sandbox();
    const run = asFirstProcess(home, runtime(fixturePath('orphans-that-end.cjs')), { env: { COUNT: '5' } });
    await home.waitFor('the app to leave its orphans', () => run.stdout().includes('has left them behind'));
    const first = firstProcess(run);
    await home.waitFor('its own child to be the only one left', () => childrenOf(first).length === 1);
    process.kill(first, 'SIGTERM');
    expect((await run.done).exitStatus).toBe(0);
  });

  test('the runtime reads a config from stdin', async () => {
    const home = await sandbox();
    const input = JSON.stringify({ apps: [{ name: 'api', script: fixturePath('crashes-after'), autorestart: false }] });
    expect((await asFirstProcess(home, runtime('-'), { input, env: { CODE: '6' } }).done).exitStatus).toBe(6);
  });

  test.skipIf(!hasExecve)('nclust run becomes the shell that reaps orphans, without a warning', async () => {
    const home = await sandbox();
    const run = asFirstProcess(home, [nodeUnderTest(), NCLUST, 'run', fixturePath('orphans-that-end.cjs')]);
    await home.waitFor('the app to leave its orphans', () => run.stdout().includes('has left them behind'));
    const first = firstProcess(run);
    expect(readFileSync(`/proc/${first}/cmdline`, 'utf8').split('\0').slice(0, 2)).toEqual(['sh', RUNTIME]);
    await home.waitFor('its own child to be the only one left', () => childrenOf(first).length === 1);
    process.kill(first, 'SIGTERM');
    expect(await run.done).toMatchObject({ exitStatus: 0, stderr: '' });
  });

  test.skipIf(hasExecve)('nclust run stays if Node.js cannot exec, and prints once what to do', async () => {
    const home = await sandbox();
    const run = asFirstProcess(home, [nodeUnderTest(), NCLUST, 'run', fixturePath('orphans-that-end.cjs')]);
    await home.waitFor('the hint', () => run.stderr().includes('docker run --init'), { deadlineMs: 30_000 });
    process.kill(firstProcess(run), 'SIGTERM');
    const result = await run.done;
    expect(result.exitStatus).toBe(0);
    expect(result.stderr.match(/stays a zombie/g)).toHaveLength(1);
  });

  test('the runtime uses /dev/shm as its home if nothing else can be written to', async () => {
    const home = await sandbox();
    const root = join(home.work, 'root');
    mkdirSync(root);
    const inside = `
      mount --make-rprivate / &&
      mount --rbind / ${root} && mount -o remount,bind,ro ${root} &&
      mount -t proc proc ${root}/proc && mount -t tmpfs tmpfs ${root}/dev/shm &&
      mount --bind ${root}/tmp ${root}/tmp && mount -o remount,bind,ro ${root}/tmp &&
      exec chroot ${root} "$@"`;
    const command = [
      'sh',
      '-c',
      inside,
      'sh',
      'sh',
      '-c',
      'touch /written 2>/dev/null; exec "$@"',
      'sh',
      ...runtime(fixturePath('names-the-signal'), '--cwd', '/'),
    ];
    const run = runProgram('unshare', ['--mount', '--pid', '--fork', '--kill-child', ...command], {
      env: { ...home.env, NCLUST_HOME: undefined },
      cwd: '/',
    });
    await home.waitFor('the app to run', () => run.stdout().includes('is there'));
    expect(existsSync('/written')).toBe(false);
    process.kill(firstProcess(run), 'SIGTERM');
    expect(await run.done).toMatchObject({ exitStatus: 0, stdout: expect.stringContaining('got SIG') });
  });
});
