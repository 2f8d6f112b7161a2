import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { expect, onTestFinished, test } from 'vitest';
import { isRunning, readRealUid, readStat, uidOf } from '../../../../../lib/shared/daemon/home-processes.js';
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
  expect([readStat(pid)?.hasExited, isRunning(pid)]).toEqual([false, true]);
  child.stdin.end();
  await waitFor('the process to exit', () => !isRunning(pid));
});

test.runIf(process.platform === 'linux')('a process has the user of its owner, and its parent', () => {
  const uid = process.getuid();
  expect([uidOf(process.pid), readRealUid(process.pid), readStat(process.pid)?.ppid]).toEqual([uid, uid, process.ppid]);
  expect([uidOf(2 ** 30), readRealUid(2 ** 30), readStat(2 ** 30), isRunning(2 ** 30)]).toEqual([
    null,
    null,
    null,
    false,
  ]);
});
