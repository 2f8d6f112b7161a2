// Makes pipes without mkfifo(1), for images that contain only Node.js. Needs /proc.
import { spawn } from 'node:child_process';
import { closeSync, constants, openSync, symlinkSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';

const HELPER = fileURLToPath(new URL('./pipe-maker.js', import.meta.url));

/** The keeper's descriptor of each pipe, which keeps the pipe alive. @type {Map<string, number>} */
const held = new Map();

/**
 * Each path becomes a link to the keeper's descriptor, so control can open the pipe by its path.
 * @param {string[]} paths
 * @param {NodeJS.ProcessEnv} env
 * @returns {Promise<void>}
 */
export async function makeUnnamedPipes(paths, env) {
  const helper = spawn(process.execPath, [HELPER, String(paths.length)], { env });
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
