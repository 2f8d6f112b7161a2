import { cpSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { install } from '../../helpers/installation.js';
import { serve } from '../../helpers/reloads.js';
import { runProgram } from '../../helpers/run-program.js';
import { nodeUnderTest, sandbox } from '../../helpers/sandbox.js';

/** @import { Sandbox } from '../../helpers/sandbox.js' */

/** Longer than the time limit of each command beside a hung manager. */
const LIMIT_MS = 40_000;

describe('while the keeper hangs', () => {
  test('each command ends with the reason, and its change follows when the keeper goes on', async () => {
    const home = await sandbox();
    const app = await serve(home, 'http-echo', { instances: 2 });
    const before = await app.pids();
    const { keeperPid } = await home.daemon();
    process.kill(keeperPid, 'SIGSTOP');
    const commands = [
      ['restart', app.name],
      ['reload', app.name],
      ['scale', app.name, '3'],
      ['stop', app.name],
      ['start', app.name],
      ['start', home.place('keeps-alive')],
    ];
    for (const words of commands) {
      const { exitStatus, stderr } = await home.nclust(...words, { timeoutMs: LIMIT_MS });
      expect([words, exitStatus, stderr]).toEqual([words, 3, expect.stringContaining(`pid ${keeperPid}`)]);
    }
    expect(await home.nclust('doctor', { timeoutMs: LIMIT_MS })).toMatchObject({
      exitStatus: 1,
      stdout: expect.stringMatching(`^bad +The keeper \\(pid ${keeperPid}\\) does not answer`),
    });
    // A worker reports through the keeper, so its silence does not mean that it is blocked.
    const why = await home.nclust('why', app.name);
    expect(why.stdout).not.toContain('blocked');
    const listed = await home.nclust('list');
    expect(listed.stdout + listed.stderr).toContain(`The keeper (pid ${keeperPid}) does not answer`);
    expect(home.logTail()).toContain('"keeper-silent"');
    expect(await app.get()).toMatchObject({ slot: expect.any(String) });

    process.kill(keeperPid, 'SIGCONT');
    await home.waitFor('the changes', async () => {
      const slots = await app.instances();
      return slots.length === 3 && slots.every(({ pid, status }) => status === 'online' && !before.includes(pid));
    });
    expect((await home.nclust('list')).stdout).not.toContain('does not answer');
  });

  test('kill -9 of the keeper, as the message advises, brings another one and loses no app', async () => {
    const home = await sandbox();
    const app = await serve(home, 'http-echo', { instances: 2 });
    const { keeperPid } = await home.daemon();
    process.kill(keeperPid, 'SIGSTOP');
    expect(await home.nclust('reload', app.name, { timeoutMs: LIMIT_MS })).toMatchObject({ exitStatus: 3 });
    process.kill(keeperPid, 'SIGKILL');
    await home.waitFor('another keeper', async () => (await home.daemon()).keeperPid !== keeperPid);
    expect(await home.nclust('reload', app.name)).toMatchObject({ exitStatus: 0 });
  });
});

describe('kill ends the apps and the manager', () => {
  test.each([
    ['the keeper hangs', ({ keeperPid }) => process.kill(keeperPid, 'SIGSTOP')],
    ['control hangs', ({ controlPid }) => process.kill(controlPid, 'SIGSTOP')],
    [
      'both hang',
      ({ keeperPid, controlPid }) => [keeperPid, controlPid].forEach((pid) => process.kill(pid, 'SIGSTOP')),
    ],
    [
      'the keeper hangs, and control is dead',
      ({ keeperPid, controlPid }) => {
        process.kill(keeperPid, 'SIGSTOP');
        process.kill(controlPid, 'SIGKILL');
      },
    ],
  ])('kill ends the apps and the manager if %s', async (_, hang) => {
    const home = await sandbox();
    await serve(home, 'http-echo', { instances: 2 });
    hang(await home.daemon());
    expect(await home.nclust('kill', { timeoutMs: LIMIT_MS })).toMatchObject({ exitStatus: 0 });
    expect(home.processes()).toEqual([]);
  });

  test('kill ends the apps and the manager if control hangs while it waits for them', async () => {
    const home = await sandbox();
    await home.app('ignores-sigterm', { flags: ['--kill-timeout', '2000'] });
    const { controlPid } = await home.daemon();
    const { done } = home.follow('kill', { timeoutMs: LIMIT_MS });
    await home.waitFor('the end to begin', () => home.logTail().includes('"event":"ending"'));
    process.kill(controlPid, 'SIGSTOP');
    expect(await done).toMatchObject({ exitStatus: 0 });
    expect(home.processes()).toEqual([]);
  });
});

test('a command names the keeper that hangs if control is dead', async () => {
  const home = await sandbox();
  await serve(home, 'http-echo', { instances: 2 });
  const { keeperPid, controlPid } = await home.daemon();
  process.kill(keeperPid, 'SIGSTOP');
  process.kill(controlPid, 'SIGKILL');
  for (const words of [['list'], ['restart', 'all']])
    expect(await home.nclust(...words, { timeoutMs: LIMIT_MS })).toMatchObject({
      exitStatus: 3,
      stderr: expect.stringContaining(`its keeper does not answer (keeper ${keeperPid})`),
    });
});

describe('Node.js and the package of the manager were removed, as by nvm uninstall:', () => {
  /**
   * @param {(o: {
   *   home: Sandbox,
   *   remove: () => void,
   *   nclust: (...words: string[]) => Promise<any>,
   * }) => Promise<void>} act
   */
  async function withOldNode(act) {
    const home = await sandbox();
    const { root } = install(home, '0.0.1');
    const node = join(root, 'node');
    cpSync(nodeUnderTest(), node);
    const run = (/** @type {string[]} */ ...words) =>
      runProgram(node, ['--', join(root, 'bin/nclust.js'), ...words], { cwd: home.work, env: home.env }).done;
    const started = await run('start', home.place('keeps-alive'), '--name', 'api', '-i', '2');
    expect(started, started.stderr).toMatchObject({ exitStatus: 0 });
    await act({
      home,
      remove: () => renameSync(root, `${root}-gone`),
      nclust: (...words) => home.nclust(...words, { timeoutMs: LIMIT_MS }),
    });
  }

  test('the next command starts control again with its own', () =>
    withOldNode(async ({ home, remove, nclust }) => {
      const { controlPid } = await home.daemon();
      const before = (await home.list()).map(({ pid }) => pid);
      remove();
      process.kill(controlPid, 'SIGKILL');
      expect((await nclust('jlist')).json().map(({ pid }) => pid)).toEqual(before);
      expect(await nclust('reload', 'api')).toMatchObject({ exitStatus: 0 });
      expect(await nclust('update')).toMatchObject({ exitStatus: 0 });
    }));

  test('commands without a keeper report that it cannot be started, and update brings one', () =>
    withOldNode(async ({ home, remove, nclust }) => {
      const { keeperPid } = await home.daemon();
      remove();
      process.kill(keeperPid, 'SIGKILL');
      await home.waitFor('the notice', async () => {
        const { stdout, stderr } = await nclust('list');
        return /another one cannot be started .*ENOENT/.test(stdout + stderr);
      });
      await nclust('update');
      await home.waitFor('the keeper', async () => (await home.daemon()).keeperPid !== keeperPid);
      expect(await nclust('reload', 'api')).toMatchObject({ exitStatus: 0 });
      expect((await nclust('list')).stdout).not.toContain('cannot be started');
    }));
});
