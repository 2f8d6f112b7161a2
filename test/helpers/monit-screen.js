import { expect } from 'vitest';

/** @import { Sandbox } from './sandbox.js' */

export const SAYS =
  'let n = 0; setInterval(() => console.log("word", ++n, "of", process.pid), 200); console.error("an error ' +
  'line"); require("node:http").createServer((_, res) => res.end("ok")).listen(0);';

/**
 * @param {Sandbox} home
 * @param {string} name
 * @param {string} code
 * @param {...string} flags
 */
export async function startCode(home, name, code, ...flags) {
  const result = await home.nclust(
    'start',
    home.place('runs-code', `${name.length}-${flags.length}`),
    '--name',
    name,
    ...flags,
    { env: { CODE: code } },
  );
  expect(result.stderr + result.stdout).toContain('tarted');
}

/**
 * Expects the restored terminal modes, and only the output of the shell on the screen.
 * @param {ReturnType<typeof import('./tmux.js').openMonit>} screen
 * @param {number} status
 */
export async function expectCleanEnd(screen, status) {
  await screen.see(new RegExp(`^before\\nended with ${status}\\nicanon\\necho$`));
  expect(screen.modes()).toBe('0 1 1');
}
