import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { waitFor } from '../helpers/wait-for.js';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
/** As wide as "root", the user of containers, so that tables keep their width. */
const USER = 'ada ';

/** Pages with blocks of commands. */
export const SESSIONS = ['README.md', 'docs/getting-started.md'];

/**
 * Prepares a home folder with a clone of nclust and a global npm prefix, so that the commands of a
 * page leave the machine unchanged.
 * @param {{ port: number }} o  Takes the place of port 3000 in the page.
 */
export async function createPageHome({ port }) {
  const home = mkdtempSync(join(tmpdir(), 'nclust-page-'));
  const bin = join(home, '.npm-global/bin');
  mkdirSync(join(home, '.npm-global/lib'), { recursive: true });
  const clone = join(home, 'nclust');
  for (const name of ['bin', 'lib', 'daemon', 'package.json', 'package-lock.json'])
    cpSync(join(ROOT, name), join(clone, name), { recursive: true });
  const env = {
    ...process.env,
    HOME: home,
    NCLUST_HOME: join(home, '.nclust'),
    PATH: `${bin}:${process.env.PATH}`,
    npm_config_userconfig: process.env.npm_config_userconfig ?? join(homedir(), '.npmrc'),
    npm_config_prefix: join(home, '.npm-global'),
    npm_config_update_notifier: 'false',
    LANG: 'C.UTF-8',
  };
  await promisify(execFile)('npm', ['install', '--silent', '--omit=dev'], { cwd: clone, env });
  await promisify(execFile)('npm', ['install', '--global', '--silent', '.'], { cwd: clone, env });
  return {
    cwd: home,
    env,
    adapt: (/** @type {string} */ text) => text.replaceAll('3000', String(port)),
    restore: (/** @type {string} */ text) =>
      text.replaceAll(String(port), '3000').replaceAll(home, '/home/ada').replaceAll('root', USER),
    // A user types slowly enough that a worker is up again before the next command.
    settle: () =>
      waitFor('every process to be up', async () => {
        const { stdout } = await promisify(execFile)(join(bin, 'nclust'), ['jlist'], { env });
        return JSON.parse(stdout).every(({ pm2_env: { status } }) => ['online', 'stopped', 'errored'].includes(status));
      }),
    async close() {
      await promisify(execFile)(join(bin, 'nclust'), ['kill'], { env });
      rmSync(home, { recursive: true, force: true });
    },
  };
}
