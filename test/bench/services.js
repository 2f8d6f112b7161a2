import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { takePort } from '../helpers/ports.js';
import { fetchOnce } from '../helpers/sandbox-app.js';
import { addressOf, openSocket, tlsEnv } from '../helpers/traffic/target.js';
import { waitFor } from '../helpers/wait-for.js';
import { processesWith } from './measure.js';
import { openRival } from './rivals.js';

/** @typedef {'nclust' | 'PM2' | 'cluster'} ServiceName */

/**
 * @typedef {object} Service
 * @property {ServiceName} name
 * @property {string} url
 * @property {() => Promise<void>} reload
 * @property {() => number[]} pids  The manager's processes and the workers.
 * @property {() => Promise<void>} close
 */

/** An app without a signal handler. */
export const PLAIN_APP = fileURLToPath(new URL('../fixtures/serves-all.js', import.meta.url));

/**
 * @param {string} [o.script]
 * @param {'http' | 'https' | 'h2'} [o.protocol]
 * @param {Record<string, string>} [o.env]  openService() adds PORT.
 * @param {string[]} [o.flags]  Options of `nclust start`.
 * @returns {Promise<Service>}  Resolves when the service answers. The caller closes it.
 */
export async function openService(name, { workers, script = PLAIN_APP, protocol = 'http', env = {}, flags = [] }) {
  const port = await takePort();
  const url = protocol === 'http' ? `http://127.0.0.1:${port}/` : `https://127.0.0.1:${port}/`;
  const given = { ...env, ...(protocol === 'http' ? {} : { ...tlsEnv, PROTOCOL: protocol }), PORT: String(port) };
  const service =
    name === 'cluster'
      ? await openBare({ script, workers, env: given })
      : await openManaged(name, { script, workers, env: given, flags });
  await waitFor(`${name} to answer`, () => (protocol === 'http' ? fetchOnce(url) : connects(url)));
  return { name, url, ...service };
}

async function connects(url) {
  const socket = openSocket(addressOf({ url }));
  await once(socket, 'secureConnect');
  socket.destroy();
  return true;
}

async function openManaged(name, { script, workers, env, flags }) {
  const rival = openRival(name);
  try {
    await rival.run(
      ['start', script, '--name', 'service', '-i', String(workers), ...(name === 'nclust' ? flags : [])],
      { env },
    );
  } catch (error) {
    await rival.close();
    throw error;
  }
  return {
    reload: async () => void (await rival.run(['reload', 'service'])),
    pids: () => [...rival.managerPids(), ...processesWith('PORT', env.PORT).map(({ pid }) => pid)],
    close: rival.close,
  };
}

async function openBare({ script, workers, env }) {
  const primary = spawn(process.execPath, [fileURLToPath(new URL('./bare-cluster.js', import.meta.url))], {
    env: { PATH: process.env.PATH, ...env, SCRIPT: script, WORKERS: String(workers) },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  let output = '';
  primary.stdout.setEncoding('utf8').on('data', (text) => (output += text));
  const reloads = () => output.split('reloaded\n').length - 1;
  await waitFor('the bare cluster to listen', () => output.includes('listening\n'));
  return {
    async reload() {
      const before = reloads();
      primary.kill('SIGUSR2');
      await waitFor('the bare cluster to have reloaded', () => reloads() > before, { deadlineMs: 120_000 });
    },
    // Also finds the primary, because it has the environment of the app.
    pids: () => processesWith('PORT', env.PORT).map(({ pid }) => pid),
    async close() {
      primary.kill('SIGKILL');
      await once(primary, 'exit');
      await waitFor('its workers to have ended', () => processesWith('PORT', env.PORT).length === 0);
    },
  };
}
