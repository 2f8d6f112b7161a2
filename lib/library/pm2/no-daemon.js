import { spawn } from 'node:child_process';
import { constants } from 'node:os';
import { fileURLToPath } from 'node:url';

/** @typedef {import('../nclust.js').Nclust} Nclust */

const BIN = fileURLToPath(new URL('../../../bin/nclust.js', import.meta.url));

/**
 * connect(true) of PM2's API: this program lives on, and the apps end with it. The manager is a process of its own all the same.
 * @param {Nclust} nclust  One that was started for this program.
 */
export function endWithProgram(nclust) {
  const { home } = nclust;
  process.once('exit', () => {
    spawn(process.execPath, [BIN, 'kill'], { detached: true, stdio: 'ignore', env: { ...process.env, NCLUST_HOME: home } }).unref();
  });
  for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP'])) process.once(signal, () => process.exit(128 + constants.signals[signal]));
  void stay(nclust);
}

/** @param {Nclust} nclust */
async function stay(nclust) {
  const nothing = nclust.events({ types: ['nclust:nothing'] });
  await nothing.next().catch(() => {}); // Until disconnect(), or the end of the manager.
}
