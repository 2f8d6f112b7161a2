import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, test } from 'vitest';
import { waitForEnd } from '../../../../lib/client/end-manager.js';

test('returns when the last process has exited', async () => {
  const child = spawn('sleep', ['1000']);
  const waiting = waitForEnd([Number(child.pid)], 5_000);
  child.kill();
  await once(child, 'exit');
  expect(await waiting).toBe(true);
});

test('fails at the deadline', async () => {
  expect(await waitForEnd([process.pid], 0)).toBe(false);
});

test('returns at once without processes', async () => {
  expect(await waitForEnd([], 0)).toBe(true);
});
