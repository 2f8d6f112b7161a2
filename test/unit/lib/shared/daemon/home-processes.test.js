import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { expect, onTestFinished, test } from 'vitest';
import { readStat as ofKeeper } from '../../../../../daemon/keeper/host/processes.js';
import { waitForEnd } from '../../../../../lib/client/end-manager.js';
import { readStat } from '../../../../../lib/shared/daemon/home-processes.js';
import { waitFor } from '../../../../helpers/wait-for.js';

/** The first thread exits. The other one ends the process when it has read a byte or the end. */
const THREADS = `
import ctypes, os, threading
def last():
    os.read(0, 1)
    os._exit(0)
threading.Thread(target=last).start()
ctypes.CDLL(None).pthread_exit(None)
`;

// SIGKILL shows this state for a moment, and then a dead manager still accepts a connection.
test.runIf(process.platform === 'linux')('a process has not exited until its last thread has', async () => {
  const child = spawn('python3', ['-c', THREADS], { stdio: ['pipe', 'inherit', 'inherit'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  await once(child, 'spawn');
  const pid = Number(child.pid);
  await waitFor('the first thread to exit', () => / Z \d+ /.test(readFileSync(`/proc/${pid}/stat`, 'utf8')));
  expect([readStat(pid)?.hasExited, ofKeeper(pid)?.hasExited]).toEqual([false, false]);
  expect(await waitForEnd([pid], 0)).toBe(false);
  child.stdin.end();
  expect(await waitForEnd([pid], 30_000)).toBe(true);
});
