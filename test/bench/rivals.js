import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { fileURLToPath } from 'node:url';
import { processesWith } from './measure.js';
import { runProgram } from '../helpers/run-program.js';
/** @import { Result } from '../helpers/run-program.js' */

/**
 * @typedef {object} Rival
 * @property {'nclust' | 'PM2'} name
 * @property {string} folder  The folder in which commands run.
 * @property {(words: string[], o?: { env?: Record<string, string> }) => Promise<Result>} run
 *   Throws if the command fails.
 * @property {(words: string[], o?: { env?: Record<string, string>, cwd?: string }) => Promise<Result>}
 *   tryRun
 * @property {() => Promise<{ name: string, pid: number }[]>} list
 * @property {() => number[]} managerPids  Without the apps.
 * @property {() => Promise<void>} clear
 * @property {() => Promise<void>} close
 */

const BINS = {
  nclust: fileURLToPath(new URL('../../bin/nclust.js', import.meta.url)),
  PM2: fileURLToPath(new URL('./node_modules/pm2/bin/pm2', import.meta.url)),
};

/** @returns {Rival}  The caller closes it. */
export function openRival(name) {
  const folder = mkdtempSync(join(tmpdir(), `bench-${name.toLowerCase()}-`));
  const home = join(folder, 'home');
  const variable = name === 'nclust' ? 'NCLUST_HOME' : 'PM2_HOME';
  const base = { PATH: process.env.PATH, HOME: folder, LANG: 'C.UTF-8', [variable]: home };

  const tryRun = (words, { env = {}, cwd = folder } = {}) =>
    runProgram(process.execPath, [BINS[name], ...words], { env: { ...base, ...env }, cwd, timeoutMs: 300_000 }).done;

  async function run(words, o) {
    const result = await tryRun(words, o);
    if (result.exitStatus !== 0)
      throw new Error(
        `${name} ${words.join(' ')} exited with ${result.exitStatus}\n${result.stdout}\n${result.stderr}`,
      );
    return result;
  }

  return {
    name,
    folder,
    run,
    tryRun,
    async list() {
      const { stdout } = await run(['jlist']);
      // Skips the text before the JSON, because PM2's first command prints a banner.
      return JSON.parse(stdout.slice(stdout.indexOf('[{') === -1 ? stdout.lastIndexOf('[]') : stdout.indexOf('[{')));
    },
    managerPids() {
      const isManager = name === 'nclust' ? /^nclust (keeper|control) / : /PM2 v[\d.]+: God Daemon/;
      return processesWith(variable, home)
        .filter(({ command }) => isManager.test(command))
        .map(({ pid }) => pid);
    },
    async clear() {
      await run(['delete', 'all']);
    },
    async close() {
      await run(['kill']);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** @returns {Promise<number>}  Duration in ms. */
export async function timed(action) {
  const started = performance.now();
  await action();
  return performance.now() - started;
}
