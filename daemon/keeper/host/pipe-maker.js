// A process of its own, which unnamed-pipes.js starts. Node.js cannot call pipe(2), but libuv makes
// a pipe for the signals of each thread. If this process opens that pipe again, the pipe outlives
// its thread.
import { constants, openSync, readdirSync, readlinkSync } from 'node:fs';
import { Worker } from 'node:worker_threads';

const made = [];
for (let left = Number(process.argv[2]); left > 0; left--) made.push(await makePipe());
process.stdout.write(JSON.stringify(made));
process.stdin.resume(); // Waits until the keeper has opened the pipes.

async function makePipe() {
  const before = list();
  const thread = new Worker('setInterval(() => {}, 1000)', { eval: true });
  await new Promise((resolve) => thread.once('online', () => resolve(undefined)));
  const fd = list().find((one) => !before.includes(one));
  if (fd === undefined) throw new Error('this version of Node.js has no pipe for signals');
  const copy = openSync(`/proc/self/fd/${fd}`, constants.O_RDWR);
  await thread.terminate();
  return copy;
}

function list() {
  return readdirSync('/proc/self/fd').filter(isPipe);
}

/** @param {string} fd */
function isPipe(fd) {
  try {
    return readlinkSync(`/proc/self/fd/${fd}`).startsWith('pipe:');
  } catch {
    return false; // The descriptor of readdir(3) is closed again.
  }
}
