import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, onTestFinished } from 'vitest';
import { nodeUnderTest } from './sandbox.js';
import { waitFor } from './wait-for.js';

/** @import { Sandbox } from './sandbox.js' */

/**
 * Runs a program without nclust. Returns the time from SIGTERM to its exit, in ms.
 * @param {Sandbox} home
 * @param {string[]} args
 * @param {Record<string, string>} env
 */
export async function endsAlone(home, args, env) {
  const child = spawn(nodeUnderTest(), args, { cwd: home.work, env: { PATH: process.env.PATH, ...env } });
  onTestFinished(() => void child.kill('SIGKILL'));
  await waitFor('it to listen', () =>
    fetch(`http://127.0.0.1:${env.PORT}`, { headers: { connection: 'close' } }).then(
      () => true,
      () => false,
    ),
  );
  const startedMono = performance.now();
  child.kill('SIGTERM');
  await once(child, 'exit');
  return performance.now() - startedMono;
}

/**
 * Expects that the stop takes at most one second longer than the program needs without nclust.
 * @param {Sandbox} home
 * @param {string} app
 * @param {number} aloneMs
 */
export async function expectStopped(home, app, aloneMs) {
  const { durationMs } = await home.nclust('list');
  const stopped = await home.nclust('stop', app);
  expect(stopped, stopped.stderr).toMatchObject({ exitStatus: 0 });
  expect(stopped.durationMs - durationMs).toBeLessThan(aloneMs + 1_000);
}
