// Makes pipes without mkfifo(1), for images that contain only Node.js. Needs /proc.
import { spawn } from 'node:child_process';
import { closeSync, constants, openSync, symlinkSync } from 'node:fs';
import { text } from 'node:stream/consumers';

/** The keeper's descriptor of each pipe, which keeps the pipe alive. @type {Map<string, number>} */
const held = new Map();

/**
 * Each path becomes a link to the keeper's descriptor, so control can open the pipe by its path.
 * @param {string[]} paths
 * @param {NodeJS.ProcessEnv} env
 * @returns {Promise<void>}
 */
export async function makeUnnamedPipes(paths, env) {
  const helper = spawn(process.execPath, ['-e', `(${openPipes})(${paths.length})`], { env });
  const errorText = text(helper.stderr);
  try {
    const fds = await new Promise((resolve, reject) => {
      helper.once('error', reject);
      helper.stdout.once('data', (json) => resolve(JSON.parse(json)));
      helper.once('close', async () => reject(new Error(/Error: .*/.exec(await errorText)?.[0] ?? 'it exited')));
    });
    for (const [at, path] of paths.entries()) hold(path, `/proc/${helper.pid}/fd/${fds[at]}`);
  } finally {
    helper.stdin.destroy(); // Ends the helper.
  }
}

/**
 * @param {string} path
 * @param {string} source
 */
function hold(path, source) {
  const fd = openSync(source, constants.O_RDWR);
  held.set(path, fd);
  symlinkSync(`/proc/${process.pid}/fd/${fd}`, path);
}

/**
 * @param {string} path  Any pipe.
 */
export function releaseUnnamedPipe(path) {
  const fd = held.get(path);
  if (held.delete(path)) closeSync(/** @type {number} */ (fd));
}

/**
 * Runs in the helper. Node.js cannot call pipe(2), but libuv makes a pipe for the signals of each
 * thread. If the helper opens this pipe again, the pipe outlives its thread.
 * @param {number} count
 */
async function openPipes(count) {
  const fs = require('node:fs');
  const { Worker } = require('node:worker_threads');
  const isPipe = (/** @type {string} */ fd) => {
    try {
      return fs.readlinkSync(`/proc/self/fd/${fd}`).startsWith('pipe:');
    } catch {
      return false; // The descriptor of readdir(3) is closed again.
    }
  };
  const list = () => fs.readdirSync('/proc/self/fd').filter(isPipe);
  const made = [];
  while (made.length < count) {
    const before = list();
    const thread = new Worker('setInterval(() => {}, 1000)', { eval: true });
    await new Promise((resolve) => thread.once('online', resolve));
    const fd = list().find((one) => !before.includes(one));
    if (fd === undefined) throw new Error('this version of Node.js has no pipe for signals');
    made.push(fs.openSync(`/proc/self/fd/${fd}`, fs.constants.O_RDWR));
    await thread.terminate();
  }
  process.stdout.write(JSON.stringify(made));
  process.stdin.resume(); // Waits until the keeper has opened the pipes.
}
