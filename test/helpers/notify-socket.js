import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { fixturePath } from './fixtures.js';
import { runProgram } from './run-program.js';
import { waitFor } from './wait-for.js';

/** @param {string} folder */
export async function notifySocket(folder) {
  const path = join(folder, 'notify');
  const running = runProgram('python3', [fixturePath('notify-socket.py'), path], {
    cwd: folder,
    env: { PATH: process.env.PATH, HOME: process.env.HOME },
    timeoutMs: 120_000,
  });
  running.done.catch(() => {});
  onTestFinished(async () => {
    running.child.kill('SIGKILL');
    await running.done;
  });
  await waitFor('the socket of systemd', () => running.stdout().startsWith('listening'));
  /** The messages, oldest first. Each message is a list of its fields. */
  const received = () =>
    running
      .stdout()
      .trimEnd()
      .split('\n')
      .slice(1)
      .map((line) => line.split('\t'));
  return {
    path,
    received,
    /** The pids of the senders, which the kernel reports. */
    senders: () => running.stderr().trimEnd().split('\n').map(Number),
    count: (/** @type {string} */ field) =>
      received()
        .flat()
        .filter((one) => one === field).length,
  };
}
