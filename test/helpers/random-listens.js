import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { isFree, takePort } from './ports.js';
import { createRandom, pickOne } from './random.js';
import { pause } from './wait-for.js';

/** @import { Sandbox } from './sandbox.js' */

const PAUSE_MAX_MS = 500;
const OPERATIONS = 5;
const VERBS = /** @type {const} */ (['start', 'stop', 'restart', 'reload', 'crash', 'delete', 'stop', 'delete']);

/**
 * Runs commands on apps, mostly before or while the apps start to listen.
 * @param {Sandbox} home
 * @param {{ seed: number, sequences: number, atOnce: number }} o
 * @returns {Promise<string[]>}  The name, config and operations of each app whose address is still
 *   in use after its processes have exited. Then the sockets that the keeper holds at the end.
 */
export async function leakedAddresses(home, { seed, sequences, atOnce }) {
  const random = createRandom(seed);
  const script = home.place('listens-at-any-time');
  const client = await home.connect();
  const leaked = [];
  for (let from = 0; from < sequences; from += atOnce) {
    const apps = [];
    for (let number = from; number < Math.min(sequences, from + atOnce); number += 1)
      apps.push(await planOne(home, number, random, script));
    await Promise.all(apps.map((app) => runOne(client, app)));
    for (const app of apps) leaked.push(...(await heldBy(home, client, app)));
    await client.delete('all').catch(whenThereIsNone);
  }
  const { keeperPid, controlPid } = await home.daemon();
  await home.waitFor(
    'keeper and control to close every socket',
    () => boundOnly(keeperPid).length + boundOnly(controlPid).length === 0,
  );
  leaked.push(...(await client.request('sockets')).sockets);
  return leaked;
}

/**
 * @typedef {object} Plan
 * @property {string} name
 * @property {object} config
 * @property {number} port
 * @property {string | null} path
 * @property {{ verb: typeof VERBS[number], pauseMs: number }[]} operations
 */

/**
 * @param {Sandbox} home
 * @param {number} number
 * @param {() => number} random
 * @param {string} script
 * @returns {Promise<Plan>}
 */
async function planOne(home, number, random, script) {
  const name = `app-${number}`;
  const port = await takePort();
  const path = random() < 0.2 ? join(home.work, `${name}.sock`) : null;
  const isCluster = random() < 0.6;
  const env = {
    LATE_MS: String(Math.floor(random() * PAUSE_MAX_MS)),
    ...(path ? { SOCKET: path } : { PORT: String(port) }),
    ...(random() < 0.2 ? { CRASH_MS: String(Math.floor(random() * 2 * PAUSE_MAX_MS)) } : {}),
  };
  const instances = isCluster ? 1 + Math.floor(random() * 2) : 1;
  const operations = Array.from({ length: OPERATIONS }, () => ({
    verb: pickOne(random, VERBS),
    pauseMs: Math.floor(random() * PAUSE_MAX_MS),
  }));
  const config = { name, script, env, instances, execMode: isCluster ? 'cluster' : 'fork', killTimeout: 1_000 };
  return { name, config, port, path, operations };
}

/**
 * @param {any} client
 * @param {Plan} plan
 */
async function runOne(client, { name, config, operations }) {
  await client.start(config, { wait: false });
  for (const { verb, pauseMs } of operations) {
    await pause(pauseMs);
    await DO[verb](client, name, config).catch(whenThereIsNone);
  }
  await client.stop(name).catch(whenThereIsNone);
}

/** @type {Record<typeof VERBS[number], (client: any, name: string, config: object) => Promise<unknown>>} */
const DO = {
  start: (client, name, config) =>
    client.start(name, { wait: false }).catch(() => client.start(config, { wait: false })),
  stop: (client, name) => client.stop(name, { wait: false }),
  restart: (client, name) => client.restart(name, { wait: false }),
  reload: (client, name) => client.reload(name, { wait: false }),
  delete: (client, name) => client.delete(name, { wait: false }),
  async crash(client, name) {
    for (const { pid } of await client.list(name)) if (pid > 0) process.kill(pid, 'SIGKILL');
  },
};

/**
 * Ignores the error of a deleted app and of an exited process. Throws every other error.
 * @param {{ code?: string }} error
 */
function whenThereIsNone(error) {
  if (error.code !== 'ERR_NCLUST_APP_NOT_FOUND' && error.code !== 'ESRCH') throw error;
}

/**
 * @param {Sandbox} home
 * @param {any} client
 * @param {Plan} plan
 */
async function heldBy(home, client, { name, config, port, path, operations }) {
  const isLeft = async () => (await client.list()).some((/** @type {any} */ one) => one.name === name && one.pid > 0);
  await home.waitFor(`the processes of ${name} to end`, async () => !(await isLeft()));
  const { sockets } = await client.request('sockets');
  const held = sockets.some((/** @type {{ app: string }} */ { app }) => app === name);
  const isTaken = path ? await isListenedOn(path) : isListenedOnPort(port) || !(await isFree(port));
  return held || isTaken ? [`${name} ${JSON.stringify(config)} ${JSON.stringify(operations)}`] : [];
}

/** @param {number} port */
function isListenedOnPort(port) {
  const end = `:${port.toString(16).toUpperCase().padStart(4, '0')} `;
  return ['tcp', 'tcp6'].some((table) =>
    readFileSync(`/proc/net/${table}`, 'utf8')
      .split('\n')
      .some((line) => line.includes(end) && / 0A /.test(line) && line.trim().split(/\s+/)[1].endsWith(end.trim())),
  );
}

/**
 * @param {string} path
 * @returns {Promise<boolean>}
 */
function isListenedOn(path) {
  return new Promise((resolve) => {
    const socket = connect(path, () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}

const TABLES = ['tcp', 'tcp6', 'udp', 'udp6', 'unix', 'netlink'];

/**
 * @param {number} pid
 * @returns {string[]}  The inodes of sockets that no table of the kernel contains, because these
 *   sockets are bound but do not listen.
 */
function boundOnly(pid) {
  const listed = TABLES.map((table) => readFileSync(`/proc/${pid}/net/${table}`, 'utf8')).join('\n');
  const words = new Set(listed.split(/\s+/));
  return readdirSync(`/proc/${pid}/fd`)
    .map((fd) => /^socket:\[(\d+)\]$/.exec(linkOf(`/proc/${pid}/fd/${fd}`))?.[1] ?? '')
    .filter((inode) => inode !== '' && !words.has(inode));
}

/** @param {string} path */
function linkOf(path) {
  try {
    return readlinkSync(path);
  } catch {
    return ''; // Closed since.
  }
}
