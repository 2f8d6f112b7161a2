import { expect, test, vi } from 'vitest';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { Child } from '../../../daemon/keeper/child.js';
import { retire } from '../../../daemon/keeper/retire.js';

test('whatever throws before, a process is killed at its deadline', async () => {
  const started = spawn('sleep', ['100']);
  await once(started, 'spawn');
  const child = new Child({
    instanceId: 'one',
    app: 'app',
    label: null,
    mode: 'fork',
    pid: started.pid ?? 0,
    startedAtMs: 0,
    outPipe: null,
    errPipe: null,
    pipes: null,
    process: null,
  });
  started.once('exit', (code, signal) => child.ended({ code, signal, atMs: 0 }));
  child.attach({
    instanceId: 'one',
    send() {
      throw new Error('broken');
    },
  });
  const log = vi.fn();
  const params = {
    instanceId: 'one',
    killTimeoutMs: 100,
    signal: null,
    drain: /** @type {const} */ ('finish'),
    tree: false,
  };
  await retire(child, params, { processTable: async () => [], log });
  expect([started.signalCode, log.mock.calls]).toEqual([
    'SIGKILL',
    [['retire-failed', expect.objectContaining({ message: 'broken' })]],
  ]);
});
