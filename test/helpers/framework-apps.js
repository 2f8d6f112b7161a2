import { cpSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'vitest';
import { ledgerTable } from './ledger-table.js';
import { lost } from './ledger.js';
import { takePort } from './ports.js';
import { otherNode } from './reloads.js';
import { startTraffic } from './traffic/traffic.js';

const FRAMEWORKS = fileURLToPath(new URL('../frameworks', import.meta.url));

/**
 * One app of test/frameworks and what its clients do.
 * @typedef {object} FrameworkApp
 * @property {string} name
 * @property {string} file
 * @property {Parameters<typeof startTraffic>[1]} clients
 * @property {Record<string, string>} [env]
 * @property {string[]} [flags]
 */

const WEB = { 'one-shot': 1, 'keep-alive': 1, slow: 1 };

/** @returns {FrameworkApp[]} */
export function frameworkApps() {
  // A Node that runs TypeScript without being asked to.
  const stripsTypes = otherNode(24);
  return [
    { name: 'express-5', file: 'express.js', clients: WEB },
    { name: 'express-4', file: 'express.js', clients: WEB, env: { EXPRESS: 'express4' } },
    { name: 'fastify', file: 'fastify.mjs', clients: WEB },
    { name: 'koa', file: 'koa.js', clients: WEB },
    { name: 'hono', file: 'hono.mjs', clients: WEB },
    { name: 'http2', file: 'http2.js', clients: { http2: 1 } },
    { name: 'ws', file: 'ws.js', clients: { websocket: 2, 'one-shot': 1 } },
    { name: 'socket-io', file: 'socket-io.js', clients: { 'socket.io': 3, 'one-shot': 1 }, flags: ['--scheduling', 'sticky'] },
    ...(stripsTypes ? [{ name: 'typescript', file: 'express-typescript.mts', clients: WEB, flags: ['--interpreter', stripsTypes] }] : []),
  ];
}

/**
 * Starts the apps on two workers each, and reloads all of them under traffic.
 * @param {import('./sandbox.js').Sandbox} home
 * @param {object} o
 * @param {FrameworkApp[]} o.apps
 * @param {number} o.times
 * @returns {Promise<Record<string, number>>}  How many requests each has lost.
 */
export async function reloadFrameworks(home, { apps, times }) {
  symlinkSync(join(FRAMEWORKS, 'node_modules'), join(home.work, 'node_modules'));
  const started = await Promise.all(apps.map((app) => startApp(home, app)));
  for (const { result } of started) expect(result, `${result.stdout}${result.stderr}`).toMatchObject({ exitStatus: 0 });
  // On a busy machine an app may need more than min_uptime to boot, and counts as one that does not listen until it does.
  await home.waitFor('all to listen', async () => (await home.list()).every((slot) => slot.addresses.length > 0), { deadlineMs: 30_000 });
  const traffics = apps.map(({ clients }, i) => startTraffic(started[i], clients, { pauseMs: 10 }));
  try {
    for (let reload = 0; reload < times; reload += 1) {
      const result = await home.nclust('reload', 'all');
      expect(result, `${result.stdout}${result.stderr}${home.logTail()}`).toMatchObject({ exitStatus: 0 });
    }
  } finally {
    await Promise.all(traffics.map((traffic) => traffic.stop()));
  }
  apps.forEach(({ name }, i) => console.log(`${name}\n${ledgerTable(traffics[i].ledger)}`));
  for (const { ledger } of traffics) expect(ledger.ok).toBeGreaterThan(0);
  return Object.fromEntries(apps.map(({ name }, i) => [name, lost(traffics[i].ledger)]));
}

/**
 * @param {import('./sandbox.js').Sandbox} home
 * @param {FrameworkApp} app
 */
async function startApp(home, { name, file, env = {}, flags = [] }) {
  cpSync(join(FRAMEWORKS, file), join(home.work, file));
  const port = await takePort();
  const result = await home.nclust('start', join(home.work, file), '--name', name, '-i', '2', ...flags, { env: { PORT: String(port), ...env } });
  return { url: `http://127.0.0.1:${port}/`, result };
}
