import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, onTestFinished, test, vi } from 'vitest';
import { Child } from '../../daemon/keeper/child.js';
import { retire } from '../../daemon/keeper/retire.js';

const PARAMS = {
  instanceId: 'one',
  killTimeoutMs: 100,
  signal: null,
  drain: 'finish',
  tree: true,
};

/** @param {() => boolean} send */
async function sleeper(send) {
  const started = spawn('sleep', ['100']);
  onTestFinished(() => void started.kill('SIGKILL'));
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
  child.attach({ instanceId: 'one', send });
  return { started, child };
}

test('a process is killed at its deadline even if an earlier step throws', async () => {
  const { started, child } = await sleeper(() => {
    throw new Error('broken');
  });
  const log = vi.fn();
  await retire(child, PARAMS, { processTable: async () => [], log });
  expect([started.signalCode, log.mock.calls]).toEqual([
    'SIGKILL',
    [['retire-failed', expect.objectContaining({ message: 'broken' })]],
  ]);
});

test('a process is killed at its deadline even if an earlier step never ends', async () => {
  const { started, child } = await sleeper(() => true);
  let looks = 0;
  // The first read of the process table, before the signal, never returns.
  const processTable = () => ((looks += 1) === 1 ? new Promise(() => {}) : Promise.resolve([]));
  await retire(child, PARAMS, { processTable, log: vi.fn() });
  expect([started.signalCode, looks]).toEqual(['SIGKILL', 2]);
});

test('a signal that the system forbids is logged', async () => {
  const { child } = await sleeper(() => true);
  const log = vi.fn();
  const kill = vi.spyOn(process, 'kill').mockImplementation(() => {
    throw Object.assign(new Error('kill EPERM'), { code: 'EPERM' });
  });
  onTestFinished(() => kill.mockRestore());
  const isRetired = retire(child, { ...PARAMS, tree: false }, { processTable: async () => [], log });
  await vi.waitFor(() =>
    expect(log).toHaveBeenCalledWith('signal-forbidden', expect.objectContaining({ signal: 'SIGKILL' })),
  );
  kill.mockRestore();
  child.ended({ code: null, signal: 'SIGKILL', atMs: 0 });
  await isRetired;
});
