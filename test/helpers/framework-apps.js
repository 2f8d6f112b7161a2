import { cpSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'vitest';
import { ledgerTable } from './ledger-table.js';
import { lost } from './ledger.js';
import { takePort } from './ports.js';
import { otherNode } from './reloads.js';
import { openSession, UPGRADED } from './traffic/socket-io.js';
import { addressOf } from './traffic/target.js';
import { startTraffic } from './traffic/traffic.js';

/** @import { Ledger } from './ledger.js' */
/** @import { Sandbox } from './sandbox.js' */

const FRAMEWORKS = fileURLToPath(new URL('../frameworks', import.meta.url));

/**
 * @typedef {object} FrameworkApp
 * @property {string} name
 * @property {string} file
 * @property {Parameters<typeof startTraffic>[1]} clients
 * @property {Record<string, string>} [env]
 * @property {string[]} [flags]
 * @property {string} [instances]  Default: two.
 */

/** @typedef {{ pids: Set<number>, transports: Set<string>, troubles: string[] }} Conversation */

const WEB = { 'one-shot': 1, 'keep-alive': 1, slow: 1 };

/** @returns {FrameworkApp[]} */
export function frameworkApps() {
  // A Node.js that runs TypeScript without a flag.
  const stripsTypes = otherNode(24);
  return [
    { name: 'express-5', file: 'express.js', clients: WEB },
    { name: 'express-4', file: 'express.js', clients: WEB, env: { EXPRESS: 'express4' } },
    { name: 'fastify', file: 'fastify.mjs', clients: WEB },
    { name: 'koa', file: 'koa.js', clients: WEB },
    { name: 'hono', file: 'hono.mjs', clients: WEB },
    { name: 'http2', file: 'http2.js', clients: { http2: 1 } },
    { name: 'ws', file: 'ws.js', clients: { websocket: 2, 'one-shot': 1 } },
    {
      name: 'socket-io',
      file: 'socket-io.js',
      clients: { 'socket.io': 3, 'one-shot': 1 },
      flags: ['--scheduling', 'sticky'],
    },
    ...(stripsTypes
      ? [{ name: 'typescript', file: 'express-typescript.mts', clients: WEB, flags: ['--interpreter', stripsTypes] }]
      : []),
  ];
}

/**
 * @param {Sandbox} home
 * @param {{ apps: FrameworkApp[], times: number }} o
 * @returns {Promise<Record<string, number>>}  Lost requests by app.
 */
export async function reloadFrameworks(home, { apps, times }) {
  const started = await startFrameworks(home, apps);
  const traffics = apps.map(({ clients }, i) => startTraffic(started[i], clients, { pauseMs: 10 }));
  try {
    for (const [i, { clients }] of apps.entries())
      if (clients['socket.io']) await untilUpgraded(home, clients['socket.io'], traffics[i].ledger);
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
 * @param {Sandbox} home
 * @param {FrameworkApp[]} apps
 */
export async function startFrameworks(home, apps) {
  symlinkSync(join(FRAMEWORKS, 'node_modules'), join(home.work, 'node_modules'));
  const started = await Promise.all(apps.map((app) => startApp(home, app)));
  for (const { result } of started) expect(result, `${result.stdout}${result.stderr}`).toMatchObject({ exitStatus: 0 });
  // Waits, because an app that boots longer than min_uptime on a busy machine counts as up before
  // it listens.
  await home.waitFor('all to listen', async () => (await home.list()).every((slot) => slot.addresses.length > 0), {
    deadlineMs: 30_000,
  });
  return started;
}

/**
 * Waits until every session has upgraded. Expects no other note before that: no worker has been
 * replaced yet, so no session needs a repair.
 * @param {Sandbox} home
 * @param {number} clients
 * @param {Ledger} ledger
 */
async function untilUpgraded(home, clients, ledger) {
  const upgraded = `socket.io: ${UPGRADED}`;
  await home.waitFor('the upgrade of every session', () => {
    expect([...ledger.notes.keys()].filter((note) => note.startsWith('socket.io: '))).toEqual([upgraded]);
    return ledger.notes.get(upgraded) === clients;
  });
}

/**
 * Sends each message after the answer to the previous message. Stops at the first error.
 * @param {string} url
 * @param {{ messages: number, transports?: ('polling' | 'websocket')[] }} o
 */
export async function converse(url, { messages, transports }) {
  /** @type {Conversation} */
  const conversation = { pids: new Set(), transports: new Set(), troubles: [] };
  const session = openSession(addressOf({ url }), {
    timeoutMs: 5_000,
    transports,
    onTrouble: (trouble) => void conversation.troubles.push(trouble),
  });
  for (let message = 1; message <= messages && conversation.troubles.length === 0; message += 1) {
    const answer = await session.say(message);
    if (answer instanceof Error) conversation.troubles.push(answer.message);
    else {
      conversation.pids.add(answer.pid);
      conversation.transports.add(answer.transport);
    }
  }
  session.close();
  return conversation;
}

/**
 * @param {Sandbox} home
 * @param {FrameworkApp} app
 */
async function startApp(home, { name, file, instances = '2', env = {}, flags = [] }) {
  cpSync(join(FRAMEWORKS, file), join(home.work, file));
  const port = await takePort();
  const result = await home.nclust('start', join(home.work, file), '--name', name, '-i', instances, ...flags, {
    env: { PORT: String(port), ...env },
  });
  return { url: `http://127.0.0.1:${port}/`, result };
}
