import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { takePort } from '../../helpers/ports.js';
import { openSandbox, sandbox } from '../../helpers/sandbox.js';

/** @import { Sandbox } from '../../helpers/sandbox.js' */

const BIN = fileURLToPath(new URL('../../../bin/nclust.js', import.meta.url));

describe('an app of one home that uses another home', () => {
  /**
   * Starts an app in `outer` that runs a command for `inner`.
   * @param {Sandbox} outer
   * @param {Sandbox} inner
   * @param {string[]} words
   */
  async function startRunner(outer, inner, words) {
    const script = join(outer.work, 'runner.js');
    writeFileSync(
      script,
      `const { spawn } = require('node:child_process');
      const env = { ...process.env, NCLUST_HOME: ${JSON.stringify(inner.home)}, PORT: process.env.INNER_PORT };
      spawn(process.execPath, [${JSON.stringify(BIN)}, ...${JSON.stringify(words)}], { env, stdio: 'inherit' });
      setInterval(() => {}, 1000);`,
    );
    const port = await takePort();
    const env = { INNER_PORT: String(port) };
    expect(await outer.nclust('start', script, '--name', 'runner', { env })).toMatchObject({ exitStatus: 0 });
    return { port };
  }

  /** @param {(outer: Sandbox, inner: Sandbox) => Promise<void>} act */
  async function withTwo(act) {
    const outer = await sandbox();
    const inner = openSandbox();
    try {
      await act(outer, inner);
    } finally {
      await inner.close();
    }
  }

  const runnerPid = async (/** @type {Sandbox} */ outer) => (await outer.list())[0].pid;

  test('an app may start the manager of another home, which outlives the app', () =>
    withTwo(async (outer, inner) => {
      await startRunner(outer, inner, ['start', inner.place('http-echo'), '--name', 'inner']);
      const pid = await runnerPid(outer);
      const [{ pid: innerPid }] = await inner.waitFor('the inner app', async () => {
        const slots = await inner.list();
        return slots[0]?.status === 'online' && slots;
      });
      const manager = await inner.daemon();
      expect(await runnerPid(outer)).toBe(pid);
      expect(await outer.nclust('stop', 'runner')).toMatchObject({ exitStatus: 0 });
      expect(await inner.daemon()).toEqual(manager);
      expect((await inner.list())[0]).toMatchObject({ pid: innerPid, status: 'online' });
    }));

  test.each([[['logs']], [['monit', '--json']]])('an app may run %j in a home whose manager dies', (words) =>
    withTwo(async (outer, inner) => {
      await inner.app('keeps-alive', { name: 'inner' });
      await startRunner(outer, inner, words);
      const pid = await runnerPid(outer);
      const before = await inner.daemon();
      for (const half of ['keeperPid', 'controlPid']) {
        const { [half]: old } = await inner.daemon();
        process.kill(old, 'SIGKILL');
        await inner.waitFor('the next one', async () => (await inner.daemon())[half] !== old);
      }
      expect(await runnerPid(outer)).toBe(pid);
      expect(await outer.nclust('stop', 'runner')).toMatchObject({ exitStatus: 0 });
      await inner.waitFor('the inner app', async () => (await inner.list())[0]?.status === 'online');
      expect((await inner.daemon()).keeperPid).not.toBe(before.keeperPid);
    }),
  );
});

test('every path of a home leads to one manager, and its next manager takes over the workers', async () => {
  const home = await sandbox();
  const real = join(home.work, 'real');
  mkdirSync(real);
  symlinkSync(real, join(home.work, 'link'));
  const at = (/** @type {string} */ path) => ({ env: { NCLUST_HOME: path } });
  const link = at(join(home.work, 'link/h'));
  const paths = [`${real}/h`, `${real}/h/`, `${real}//h`, `${real}/../real/h`, 'real/h', './link/h'].map(at);
  try {
    await home.nclust('start', home.place('keeps-alive'), '-i', '2', link);
    for (const path of paths) expect((await home.nclust('jlist', path)).json()).toHaveLength(2);
    const before = (await home.nclust('jlist', link)).json().map((one) => one.pid);
    const { keeperPid, controlPid } = (await home.nclust('ping', '--json', link)).json();
    process.kill(controlPid, 'SIGSTOP');
    for (const pid of [keeperPid, controlPid]) process.kill(pid, 'SIGKILL');

    await home.nclust('resurrect', paths[0]);
    await home.waitFor('the end of the old workers', async () => {
      const now = (await home.nclust('jlist', paths[0])).json();
      return now.length === 2 && before.every((pid) => !isAlive(pid));
    });
  } finally {
    expect(await home.nclust('kill', paths[0])).toMatchObject({ exitStatus: 0 });
  }
});

/** @param {number} pid */
function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
